package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"
)

// Items returns the summary, if there is one, and the turns, oldest first, as items
// of source conversation. Formatters order items by time: no turn is given an
// earlier time than the turns before it, so that a clock that was set back does not
// change their order. The error is always nil.
func (s *SlidingWindow) Items(context.Context, *Query) ([]Item, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	items := make([]Item, 0, len(s.turns)+1)
	var latest time.Time
	if s.digest.Text != "" {
		it := s.digest.item(s.turns)
		latest = it.CreatedAt
		items = append(items, it)
	}
	for i := s.begin(); i < len(s.turns); i++ {
		it := s.item(i)
		if it.CreatedAt.Before(latest) {
			it.CreatedAt = latest
		}
		latest = it.CreatedAt
		items = append(items, it)
	}
	return items, nil
}

// begin returns the index of the first turn that is offered.
func (s *SlidingWindow) begin() int {
	if !s.cfg.BeginWithUser {
		return 0
	}
	for i := range s.turns {
		if s.turns[i].Role == RoleUser {
			return i
		}
	}
	return len(s.turns)
}

// item returns turn i as an item.
func (s *SlidingWindow) item(i int) Item {
	t := &s.turns[i]
	metadata := make(map[string]any, len(t.Metadata)+1)
	maps.Copy(metadata, cloneMap(t.Metadata))
	metadata["role"] = string(t.Role) // whatever the metadata of a caller's request say
	return Item{
		ID:         "turn-" + strconv.FormatInt(t.Sequence, 10),
		Content:    t.Content,
		Source:     SourceConversation,
		Score:      boundedScore(s.cfg.Recency(i, len(s.turns))),
		Priority:   s.cfg.Priority,
		TokenCount: t.TokenCount,
		Metadata:   metadata,
		CreatedAt:  t.CreatedAt,
		Sequence:   t.Sequence,
		spoken:     spokenBy(t),
	}
}

// boundedScore makes what a scorer says a score; NaN is 0.
func boundedScore(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return round4(min(1, x))
}

// Messages returns the summary, if there is one, as a user message, and the turns,
// oldest first, as messages of their own roles, tool and system included. This is
// the list for a [ProviderChain]; the metadata name, tool_call_id and tool_calls of a
// turn become the fields of those names. The error is that of tool_calls that JSON
// cannot hold.
//
// A summary never speaks as the system: it is made of what others said, perhaps by a
// plugin.
func (s *SlidingWindow) Messages() ([]Message, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	messages := make([]Message, 0, len(s.turns)+1)
	if s.digest.Text != "" {
		messages = append(messages, Message{Role: RoleUser, Content: s.digest.Text})
	}
	for i := s.begin(); i < len(s.turns); i++ {
		m, err := s.turns[i].message()
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

func (t *Turn) message() (Message, error) {
	m := Message{Role: t.Role, Content: t.Content}
	m.Name, _ = t.Metadata["name"].(string)
	m.ToolCallID, _ = t.Metadata["tool_call_id"].(string)
	if calls := t.Metadata["tool_calls"]; calls != nil {
		data, err := json.Marshal(calls)
		if err != nil {
			return m, fmt.Errorf("turn %d: tool_calls: %w", t.Sequence, err)
		}
		m.ToolCalls = data
	}
	return m, nil
}
