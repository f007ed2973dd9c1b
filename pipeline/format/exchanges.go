package format

import (
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// exchanges returns, for each turn, how many turns from it on belong together: a turn with calls, and
// those up to and with the last result of these calls. It is 0 if a result is missing, and 1 for a
// message without calls. It looks at each turn once: a conversation may have many calls that wait.
func exchanges(turns []*core.Item) []int {
	p := pairResults(turns)
	lengths := make([]int, len(turns))
	ends := make(map[int]int) // the next turn at whose end so many calls wait
	wall := len(turns)        // the next turn that no exchange has in it
	var foreign []int         // later turns with results of earlier calls, the next one last
	for i := len(turns) - 1; i >= 0; i-- {
		for n := len(foreign); n > 0 && p.earliest[foreign[n-1]] >= i; n-- {
			foreign = foreign[:n-1]
		}
		m := turns[i].Turn()
		answers := m != nil && len(m.Results()) > 0
		end, ok := ends[p.waiting[i]]
		switch {
		case m == nil || answers:
		case p.waiting[i+1] == p.waiting[i] && !onlyThinking(m):
			lengths[i] = 1
		case ok && end < wall && (len(foreign) == 0 || end < foreign[len(foreign)-1]):
			lengths[i] = end - i + 1
		}
		if m != nil {
			ends[p.waiting[i+1]] = i
		}
		if !answers && speaker(turns[i], m) != core.RoleAssistant {
			wall = i
		}
		if p.earliest[i] < i {
			for n := len(foreign); n > 0 && p.earliest[foreign[n-1]] >= p.earliest[i]; n-- {
				foreign = foreign[:n-1]
			}
			foreign = append(foreign, i)
		}
	}
	return lengths
}

// speaker returns the role of a turn. m is its message, nil if it has none.
func speaker(it *core.Item, m *core.Message) core.Role {
	if m != nil {
		return m.Role
	}
	return roleOf(it)
}

// pairing says which results answer which calls.
type pairing struct {
	// waiting is, before each turn and after the last, how many more calls than results there were.
	waiting []int
	// earliest is, for each turn, the first of the turns that its results answer: -1 if a result has
	// no call, and the turn itself if there are no results of earlier turns.
	earliest []int
}

// pairResults pairs each result with the last call before it that has none yet.
func pairResults(turns []*core.Item) pairing {
	p := pairing{make([]int, len(turns)+1), make([]int, len(turns))}
	open := make(map[string][]int)
	for i, it := range turns {
		p.earliest[i], p.waiting[i+1] = i, p.waiting[i]
		m := it.Turn()
		if m == nil {
			continue
		}
		for j := range m.Parts {
			key := callKey(&m.Parts[j])
			switch m.Parts[j].Kind {
			case message.ToolCall:
				open[key] = append(open[key], i)
				p.waiting[i+1]++
			case message.ToolResult:
				call := -1
				if calls := open[key]; len(calls) > 0 {
					call, open[key] = calls[len(calls)-1], calls[:len(calls)-1]
				}
				p.earliest[i] = min(p.earliest[i], call)
				p.waiting[i+1]--
			}
		}
	}
	return p
}

func callKey(p *message.Part) string {
	if p.ID == "" {
		return "name " + p.Name
	}
	return "id " + p.ID
}

func onlyThinking(m *core.Message) bool {
	return !slices.ContainsFunc(m.Parts, func(p message.Part) bool { return p.Kind != message.Thinking })
}
