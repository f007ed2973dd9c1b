package agent

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Units divides a message list into units that a model takes only as a whole. A message with
// tool calls and the results of these calls, wherever they are, form one unit. So do the
// items that a model of the Responses API returns at once: calls side by side, and reasoning
// with the items after it. In the form of Anthropic a message of the system within the list
// belongs to the message before it, see [message.Message.Follows]. Every other message is a unit of its own. Units returns, for each
// message, the index of the first message of its unit.
//
// A result belongs to the newest call before it with the same id. A result without an id
// belongs to the first call before it that has no id, the same tool and no result yet. If
// there is none, or if the ids of the nearest calls are not known, it belongs to the nearest calls. A
// message with results for several messages joins their units.
func Units(messages []pipeline.Message) []int {
	u := unitFinder{units: make([]int, len(messages)), calls: make(map[string]int), links: make(map[string]int), follows: none}
	for i := range messages {
		u.units[i] = i
		u.link(i, &messages[i])
		switch m := &messages[i]; {
		case m.Role == pipeline.RoleAssistant:
			directly := i > 0 && messages[i-1].Role == pipeline.RoleAssistant
			if directly && u.sameTurn(&messages[i-1], m) {
				join(u.units, i, i-1)
			}
			u.thinks = directly && u.thinks || thinks(m)
			u.asks(i, m, directly)
		case m.Follows() && i > 0:
			join(u.units, i, i-1)
		case hasResults(m):
			u.answers(i, m)
		case m.Role == pipeline.RoleUser:
			u.follows, u.open = none, nil
		}
	}
	for i := range u.units {
		u.units[i] = u.units[u.units[i]] // the entry of the smaller index is final
	}
	return u.units
}

// none is the index of no message.
const none = -1

// unitFinder finds the units of a list from its first message to its last.
type unitFinder struct {
	units    []int
	calls    map[string]int // by id: the message that makes the call
	links    map[string]int // by id: the first message that names it as a link
	thinks   bool           // there is reasoning of the Responses API in the messages of the assistant so far
	open     []openCall     // the nearest calls without an id that have no result yet
	follows  int            // the message with the nearest calls, none after other messages
	readable bool           // whether the ids of all calls side by side with that message are known
}

// openCall is a call without an id.
type openCall struct {
	tool string
	at   int // the message that makes it
}

// asks notes the calls of an assistant's message. directly is true if the message before it is
// also one of the assistant.
func (u *unitFinder) asks(i int, m *pipeline.Message, directly bool) {
	if !directly {
		u.open, u.readable = nil, true
	}
	calling := m.Refers()
	u.readable = u.readable && !calling
	for j := range m.Parts {
		p := &m.Parts[j]
		if p.Kind != message.ToolCall {
			continue
		}
		calling = true
		if p.ID == "" {
			u.readable = false
			u.open = append(u.open, openCall{p.Name, i})
		} else {
			u.calls[p.ID] = i
		}
	}
	switch {
	case calling:
		u.follows = i
	case !onlyThinks(m):
		u.follows = none
	}
}

// answers joins a message with the messages whose calls it answers.
func (u *unitFinder) answers(i int, m *pipeline.Message) {
	for j := range m.Parts {
		p := &m.Parts[j]
		if p.Kind != message.ToolResult {
			continue
		}
		at, ok := u.calls[p.ID]
		if p.ID == "" {
			at, ok = u.take(p.Name)
		}
		if !ok && u.follows != none && (p.ID == "" || !u.readable) {
			at, ok = u.follows, true
		}
		if ok {
			join(u.units, i, at)
		}
	}
	if m.Role == pipeline.RoleUser && !onlyAnswers(m) {
		u.follows = none
	}
}

// take returns the message with the first open call of a tool, and closes the call. An empty
// name stands for every tool.
func (u *unitFinder) take(tool string) (at int, ok bool) {
	j := slices.IndexFunc(u.open, func(c openCall) bool { return c.tool == tool || tool == "" })
	if j < 0 {
		return none, false
	}
	at = u.open[j].at
	u.open = slices.Delete(u.open, j, j+1)
	return at, true
}

// link joins a message with the messages that name the same id as a link.
func (u *unitFinder) link(i int, m *pipeline.Message) {
	for _, id := range m.Links() {
		if at, ok := u.links[id]; ok {
			join(u.units, i, at)
		} else {
			u.links[id] = i
		}
	}
}

// sameTurn reports whether two items of the Responses API, one after the other, belong to what
// a model has returned at once. The API refuses reasoning without the item after it, and an
// item whose reasoning is missing, even if another item stands between them.
func (u *unitFinder) sameTurn(before, m *pipeline.Message) bool {
	return u.thinks || before.Form() == message.FormResponses && m.Form() == message.FormResponses && hasCalls(before) && hasCalls(m)
}

// thinks reports whether a message is reasoning of the Responses API.
func thinks(m *pipeline.Message) bool { return m.Form() == message.FormResponses && onlyThinks(m) }

// onlyThinks reports whether a message has reasoning and nothing else.
func onlyThinks(m *pipeline.Message) bool {
	return len(m.Parts) > 0 && !slices.ContainsFunc(m.Parts, func(p message.Part) bool { return p.Kind != message.Thinking })
}

func hasCalls(m *pipeline.Message) bool { return hasKind(m, message.ToolCall) }

func hasResults(m *pipeline.Message) bool { return hasKind(m, message.ToolResult) }

func hasKind(m *pipeline.Message, kind message.Kind) bool {
	return slices.ContainsFunc(m.Parts, func(p message.Part) bool { return p.Kind == kind })
}

// onlyAnswers reports whether a message holds results of tools and no text of its sender.
func onlyAnswers(m *pipeline.Message) bool {
	return len(m.Parts) > 0 && !slices.ContainsFunc(m.Parts, func(p message.Part) bool { return p.Kind != message.ToolResult })
}

// join joins the units of two messages. An entry of units is the index of the message itself
// or of an earlier message of its unit.
func join(units []int, i, j int) {
	i, j = first(units, i), first(units, j)
	units[max(i, j)] = min(i, j)
}

// first returns the first message of the unit of message i. It shortens the path to it.
func first(units []int, i int) int {
	for units[i] != i {
		units[i] = units[units[i]]
		i = units[i]
	}
	return i
}

// validate checks the role of each message of a list.
func validate(messages []pipeline.Message) error {
	for i := range messages {
		if m := &messages[i]; !m.Role.Valid() {
			return fmt.Errorf("messages[%d]: role %.100q: %w (want user, assistant, system, developer or tool)", i, m.Role, pipeline.ErrInvalid)
		}
	}
	return nil
}

// The halves of a tool call.
const (
	hasCall = 1 << iota
	hasResult
	hasBoth = hasCall | hasResult
)

// eachHalf calls f with the id of each call and each result in a message.
func eachHalf(m *pipeline.Message, f func(id string, half int) error) error {
	for i := range m.Parts {
		half := 0
		switch p := &m.Parts[i]; p.Kind {
		case message.ToolCall:
			half = hasCall
		case message.ToolResult:
			half = hasResult
		default:
			continue
		}
		if err := f(m.Parts[i].ID, half); err != nil {
			return err
		}
	}
	return nil
}

// halves returns, for each call id, which halves of the call a list has.
func halves(messages []pipeline.Message) map[string]int {
	halves := make(map[string]int)
	for i := range messages {
		_ = eachHalf(&messages[i], func(id string, half int) error { // cannot fail
			halves[id] |= half
			return nil
		})
	}
	delete(halves, "")
	return halves
}

// checkPairs returns an error if a list has only one half of a call although the list before
// it had both.
func checkPairs(before, after []pipeline.Message) error {
	if containsInOrder(after, before) {
		return nil
	}
	had, has := halves(before), halves(after)
	for i := range after {
		err := eachHalf(&after[i], func(id string, half int) error {
			switch {
			case had[id] != hasBoth || has[id] == hasBoth:
				return nil
			case half == hasResult:
				return fmt.Errorf("messages[%d]: result %.100q without its tool call: %w", i, id, pipeline.ErrInvalid)
			}
			return fmt.Errorf("messages[%d]: tool call %.100q without its result: %w", i, id, pipeline.ErrInvalid)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// containsInOrder reports whether list contains all of part in the same order.
func containsInOrder(list, part []pipeline.Message) bool {
	at := 0
	for i := 0; i < len(list) && at < len(part); i++ {
		if list[i].Equal(&part[at]) {
			at++
		}
	}
	return at == len(part)
}

// toolResult is a result of a tool as cutResults compares it.
type toolResult struct{ id, text string }

// cutResults returns the ids of tool calls whose results became shorter, once for each
// result. For a result without an id it returns noID. A result that is unchanged is not cut,
// even if another result with the same id is.
func cutResults(before, after []pipeline.Message) (ids []string) {
	whole := make(map[toolResult]int)
	for i := range before {
		for _, r := range before[i].Results() {
			whole[toolResult{r.ID, message.TextOf(r.Parts)}]++
		}
	}
	var changed []toolResult
	for i := range after {
		for _, p := range after[i].Results() {
			r := toolResult{p.ID, message.TextOf(p.Parts)}
			if whole[r] == 0 {
				changed = append(changed, r)
			} else if whole[r]--; whole[r] == 0 {
				delete(whole, r)
			}
		}
	}
	lengths := make(map[string][]int) // by id: the lengths of the results that are missing, ascending
	for r, n := range whole {
		lengths[r.id] = append(lengths[r.id], slices.Repeat([]int{len(r.text)}, n)...)
	}
	for _, list := range lengths {
		slices.Sort(list)
	}
	for _, r := range changed {
		if list := lengths[r.id]; len(list) > 0 && list[len(list)-1] > len(r.text) {
			lengths[r.id] = list[:len(list)-1]
			ids = append(ids, cmp.Or(r.id, noID))
		}
	}
	return ids
}

// noID replaces the id of a result that has none.
const noID = "(no id)"
