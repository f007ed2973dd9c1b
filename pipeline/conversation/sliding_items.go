package conversation

import (
	"context"
	"maps"
	"strconv"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Items returns the summary, if there is one, and the turns, oldest first, as items of
// source conversation. Formatters order items by time. So no turn gets an earlier time than
// the turns before it, and a clock that was set back does not change their order. The error
// is always nil.
//
// A call is left out while it has no result, and a result whose call has left, because every API
// refuses one without the other. The rest of such a turn stays, and so does its number of tokens.
func (s *SlidingWindow) Items(ctx context.Context, _ *pipeline.Query) ([]pipeline.Item, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	items := make([]pipeline.Item, 0, len(s.turns)+1)
	var latest time.Time
	if s.past.shown.Text != "" {
		it := s.past.shown.item(s.turns)
		latest = it.CreatedAt
		items = append(items, it)
	}
	turns, indices := s.offered(ctx)
	for n := range turns {
		it := s.item(&turns[n], indices[n])
		if it.CreatedAt.Before(latest) {
			it.CreatedAt = latest
		}
		latest = it.CreatedAt
		items = append(items, it)
	}
	return items, nil
}

// offers reports whether turn i is offered. It sets begun from the first offered turn that
// is not a system turn on. System turns are rules, so they are always offered.
func (s *SlidingWindow) offers(i int, begun *bool) bool {
	*begun = *begun || !s.cfg.BeginWithUser || s.turns[i].Role == pipeline.RoleUser
	return *begun || s.turns[i].Role == pipeline.RoleSystem
}

// item returns a turn as an item. i is its index in the conversation.
func (s *SlidingWindow) item(t *pipeline.Turn, i int) pipeline.Item {
	metadata := make(map[string]any, len(t.Metadata)+1)
	maps.Copy(metadata, values.Clone(t.Metadata))
	metadata["role"] = string(t.Role) // instead of a role in the caller's metadata
	it := pipeline.Item{
		ID:         "turn-" + strconv.FormatInt(t.Sequence, 10),
		Content:    t.Content,
		Source:     pipeline.SourceConversation,
		Score:      boundedScore(s.cfg.Recency(i, len(s.turns))),
		Priority:   s.cfg.Priority,
		TokenCount: t.TokenCount,
		Metadata:   metadata,
		CreatedAt:  t.CreatedAt,
		Sequence:   t.Sequence,
	}
	it.SetTurn(t)
	return it
}

// boundedScore limits the result of a scorer to 0 to 1. NaN becomes 0.
func boundedScore(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return values.Round4(min(1, x))
}

// Messages returns the summary, if there is one, as a user message. The turns follow,
// oldest first, as messages of their own roles, tool and system included. This is the list
// for a chain of package agent. The metadata name, tool_call_id and tool_calls of a turn
// are used as [pipeline.Turn.Message] says. Calls and results are left out as Items says. The
// call fails if tool_calls are not a list of tool calls.
//
// A summary never has the role system, because it is made from the texts of others, perhaps
// by a plugin.
func (s *SlidingWindow) Messages() ([]pipeline.Message, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	messages := make([]pipeline.Message, 0, len(s.turns)+1)
	if s.past.shown.Text != "" {
		messages = append(messages, message.New(pipeline.RoleUser, s.past.shown.Text))
	}
	turns, _ := s.offered(context.Background())
	for i := range turns {
		m, err := turns[i].Message()
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}
