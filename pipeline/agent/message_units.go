package agent

import (
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Units divides a message list into units that a model takes only as a whole:
// an assistant message with tool calls together with the results that answer them,
// wherever they stand; every other message is a unit of its own. It returns, for each
// message, the index of the first message of its unit.
//
// A result belongs to the newest call before it that has its id. One without an id, or
// after calls whose ids cannot be read, belongs to the calls it follows.
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
			if len(m.ToolCalls) == 0 {
				break
			}
			follows, readable = i, true
			for _, id := range callIDs(m.ToolCalls) {
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
		}
	}
	return units
}

// callIDs returns the ids of tool calls; one that cannot be read is empty.
func callIDs(raw json.RawMessage) []string {
	var calls []struct{ ID string }
	if json.Unmarshal(raw, &calls) != nil {
		return []string{""}
	}
	ids := make([]string, len(calls))
	for i := range calls {
		ids[i] = calls[i].ID
	}
	return ids
}

// knownCalls holds the ids of tool calls that were found valid, by their JSON, so that
// a run reads each once.
type knownCalls map[string][]string

// validate is [Message.Validate] for a list.
func (k knownCalls) validate(messages []pipeline.Message) error {
	for i := range messages {
		m := &messages[i]
		if _, ok := k[string(m.ToolCalls)]; ok && m.Role.Valid() {
			continue
		}
		if err := m.Validate(); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
		if len(m.ToolCalls) > 0 {
			k[string(m.ToolCalls)] = callIDs(m.ToolCalls)
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

// halves says for each call id which halves of the call a list holds.
func (k knownCalls) halves(messages []pipeline.Message) map[string]int {
	halves := make(map[string]int)
	for i := range messages {
		switch m := &messages[i]; m.Role {
		case pipeline.RoleAssistant:
			for _, id := range k[string(m.ToolCalls)] {
				halves[id] |= hasCall
			}
		case pipeline.RoleTool:
			halves[m.ToolCallID] |= hasResult
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
		m := &after[i]
		if m.Role == pipeline.RoleTool && had[m.ToolCallID] == hasBoth && has[m.ToolCallID] == hasResult {
			return fmt.Errorf("messages[%d]: result %.100q without its tool call: %w", i, m.ToolCallID, pipeline.ErrInvalid)
		}
		for _, id := range k[string(m.ToolCalls)] {
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
