package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Units divides a message list into units that a model takes only as a whole:
// a message with tool calls together with the results that answer them, wherever they
// stand; every other message is a unit of its own. It returns, for each message, the
// index of the first message of its unit.
//
// A result belongs to the newest call before it that has its id. One without an id, or
// after calls whose ids cannot be read, belongs to the calls it follows. A message with
// results of several messages makes one unit of them.
func Units(messages []pipeline.Message) []int {
	units := make([]int, len(messages))
	calls := make(map[string]int) // the message that makes the call
	follows := -1                 // the message whose calls a result without id answers
	readable := true              // the ids of that message
	for i := range messages {
		m := &messages[i]
		units[i] = i
		switch m.Role {
		case pipeline.RoleAssistant:
			follows = -1
			ids := callIDs(m.Calls())
			if len(ids) == 0 {
				break
			}
			follows, readable = i, true
			for _, id := range ids {
				readable = readable && id != ""
				calls[id] = i
			}
		case pipeline.RoleTool:
			if at, ok := calls[m.ToolCallID]; ok && m.ToolCallID != "" {
				units[i] = at
			} else if follows >= 0 && (m.ToolCallID == "" || !readable) {
				units[i] = follows
			}
		case pipeline.RoleUser:
			follows = -1
			for _, id := range m.ResultIDs() {
				if at, ok := calls[id]; ok && id != "" {
					join(units, i, at)
				}
			}
		}
	}
	for i := range units {
		units[i] = units[units[i]] // that of a smaller index is known
	}
	return units
}

// join makes one unit of those of two messages. An entry of units is the message itself, or
// an earlier one of its unit.
func join(units []int, i, j int) {
	i, j = first(units, i), first(units, j)
	units[max(i, j)] = min(i, j)
}

// first returns the first message of the unit of message i, and shortens the way to it.
func first(units []int, i int) int {
	for units[i] != i {
		units[i] = units[units[i]]
		i = units[i]
	}
	return i
}

// callIDs returns the ids of tool calls; one that cannot be read is empty.
func callIDs(raw json.RawMessage) []string {
	var calls []struct{ ID string }
	if len(raw) == 0 {
		return nil
	}
	if json.Unmarshal(raw, &calls) != nil {
		return []string{""}
	}
	ids := make([]string, len(calls))
	for i := range calls {
		ids[i] = calls[i].ID
	}
	return ids
}

// toolIDs are the ids of the calls that a message makes, and of those that it answers.
type toolIDs struct{ calls, results []string }

// knownCalls holds the ids of tools of messages that were found valid, by the JSON that
// holds them, so that a run reads each once.
type knownCalls map[knownKey]toolIDs

// knownKey is what decides whether a message is valid, and which ids it has.
type knownKey struct {
	role                        pipeline.Role
	calls, parts, rest, answers string
}

func keyOf(m *pipeline.Message) knownKey {
	return knownKey{m.Role, string(m.ToolCalls), string(m.Parts), string(m.Rest), m.ToolCallID}
}

// textOnly reports whether there is nothing to be read in a message but its text.
func textOnly(m *pipeline.Message) bool {
	return len(m.ToolCalls) == 0 && len(m.Parts) == 0 && len(m.Rest) == 0 && m.ToolCallID == ""
}

// validate is [pipeline.Message.Validate] for a list.
func (k knownCalls) validate(messages []pipeline.Message) error {
	for i := range messages {
		m := &messages[i]
		if textOnly(m) {
			if err := m.Validate(); err != nil {
				return fmt.Errorf("messages[%d]: %w", i, err)
			}
			continue
		}
		key := keyOf(m)
		if _, ok := k[key]; ok {
			continue
		}
		if err := m.Validate(); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
		ids := toolIDs{results: m.ResultIDs()}
		if m.Role == pipeline.RoleAssistant {
			ids.calls = callIDs(m.Calls())
		}
		k[key] = ids
	}
	return nil
}

// of returns the ids of a message that was found valid.
func (k knownCalls) of(m *pipeline.Message) toolIDs {
	if textOnly(m) {
		return toolIDs{}
	}
	return k[keyOf(m)]
}

// The halves of a tool call.
const (
	hasCall = 1 << iota
	hasResult
	hasBoth = hasCall | hasResult
)

// halves says for each call id which halves of the call a list holds.
func (k knownCalls) halves(messages []pipeline.Message) map[string]int {
	halves := make(map[string]int)
	for i := range messages {
		ids := k.of(&messages[i])
		for _, id := range ids.calls {
			halves[id] |= hasCall
		}
		for _, id := range ids.results {
			halves[id] |= hasResult
		}
	}
	delete(halves, "")
	return halves
}

// checkPairs refuses a list that holds one half of a call of which the list before held
// both. Both lists are validated.
func (k knownCalls) checkPairs(before, after []pipeline.Message) error {
	if containsInOrder(after, before) {
		return nil
	}
	had, has := k.halves(before), k.halves(after)
	for i := range after {
		ids := k.of(&after[i])
		for _, id := range ids.results {
			if had[id] == hasBoth && has[id] == hasResult {
				return fmt.Errorf("messages[%d]: result %.100q without its tool call: %w", i, id, pipeline.ErrInvalid)
			}
		}
		for _, id := range ids.calls {
			if had[id] == hasBoth && has[id] == hasCall {
				return fmt.Errorf("messages[%d]: tool call %.100q without its result: %w", i, id, pipeline.ErrInvalid)
			}
		}
	}
	return nil
}

// containsInOrder reports whether list holds all of part in the same order.
func containsInOrder(list, part []pipeline.Message) bool {
	at := 0
	for i := 0; i < len(list) && at < len(part); i++ {
		if list[i].Equal(&part[at]) {
			at++
		}
	}
	return at == len(part)
}

// cutResults returns the ids of tool calls whose results are shorter in one list than in
// the list before it, once for each result; that of one without an id is noID. A result
// that is found as it was is not cut, whatever others have its id.
func cutResults(before, after []pipeline.Message) (ids []string) {
	whole := make(map[core.ToolResult]int)
	for i := range before {
		for _, r := range before[i].Results() {
			whole[r]++
		}
	}
	var changed []core.ToolResult
	for i := range after {
		for _, r := range after[i].Results() {
			if whole[r] == 0 {
				changed = append(changed, r)
			} else if whole[r]--; whole[r] == 0 {
				delete(whole, r)
			}
		}
	}
	lengths := make(map[string][]int) // of the results that are missing, ascending
	for r, n := range whole {
		lengths[r.ID] = append(lengths[r.ID], slices.Repeat([]int{len(r.Text)}, n)...)
	}
	for _, list := range lengths {
		slices.Sort(list)
	}
	for _, r := range changed {
		if list := lengths[r.ID]; len(list) > 0 && list[len(list)-1] > len(r.Text) {
			lengths[r.ID] = list[:len(list)-1]
			ids = append(ids, cmp.Or(r.ID, noID))
		}
	}
	return ids
}

// noID stands for the id of a result that has none.
const noID = "(no id)"
