package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Units divides a message list into units that a model takes only as a whole. A message with
// tool calls and the results of these calls, wherever they are, form one unit. Every other
// message is a unit of its own. Units returns, for each message, the index of the first
// message of its unit.
//
// A result belongs to the newest call before it with the same id. A result belongs to the
// nearest calls before it if it has no id, or if the ids of these calls cannot be read. A
// message with results for several messages joins their units.
func Units(messages []pipeline.Message) []int {
	units := make([]int, len(messages))
	calls := make(map[string]int) // the message that makes the call
	follows := -1                 // the message whose calls a result without an id answers
	readable := true              // whether the ids of that message can be read
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
		units[i] = units[units[i]] // the entry of the smaller index is final
	}
	return units
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

// callIDs returns the ids of tool calls. The id of a call that cannot be read is empty.
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

// toolIDs are the ids of the calls that a message makes, and of the calls that it answers.
type toolIDs struct{ calls, results []string }

// knownCalls holds the tool ids of messages that were found valid, so that a run reads each
// message once. Their key is the JSON that contains the ids.
type knownCalls map[knownKey]toolIDs

// knownKey has the members on which the validity and the ids of a message depend.
type knownKey struct {
	role                        pipeline.Role
	calls, parts, rest, answers string
}

func keyOf(m *pipeline.Message) knownKey {
	return knownKey{m.Role, string(m.ToolCalls), string(m.Parts), string(m.Rest), m.ToolCallID}
}

// textOnly reports whether a message has only text and no ids.
func textOnly(m *pipeline.Message) bool {
	return len(m.ToolCalls) == 0 && len(m.Parts) == 0 && len(m.Rest) == 0 && m.ToolCallID == ""
}

// validate does the same as [pipeline.Message.Validate] for each message of a list.
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

// of returns the ids of a valid message.
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

// halves returns, for each call id, which halves of the call a list has.
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

// checkPairs returns an error if a list has only one half of a call although the list before
// it had both. Both lists must be valid.
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

// cutResults returns the ids of tool calls whose results became shorter, once for each
// result. For a result without an id it returns noID. A result that is unchanged is not cut,
// even if another result with the same id is.
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
	lengths := make(map[string][]int) // by id: the lengths of the results that are missing, ascending
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

// noID replaces the id of a result that has none.
const noID = "(no id)"
