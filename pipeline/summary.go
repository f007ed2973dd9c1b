package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// summaryPriority and summaryScore place a summary below the turns it precedes.
const (
	summaryPriority = 6
	summaryScore    = 0.5
)

// Summary returns the text that stands for the turns that have left; empty when
// there are none or no compactor.
func (s *SlidingWindow) Summary() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.digest.text
}

// condense returns the summary with the evicted turns in it.
func (s *SlidingWindow) condense(ctx context.Context, evicted []Turn) (summary, error) {
	s.mu.RLock()
	digest := s.digest
	s.mu.RUnlock()
	if len(evicted) == 0 || s.cfg.Compactor == nil {
		return digest, nil
	}
	var text string
	err := guard(func() (err error) {
		text, err = s.cfg.Compactor.Compact(ctx, cloneTurns(evicted), digest.text)
		return err
	})
	if ended := ctx.Err(); ended != nil {
		return digest, fmt.Errorf("conversation: compact %d turns: %w", len(evicted), ended)
	}
	if err != nil {
		warn(ctx, s.cfg.Logger, "compactor failed, turns listed instead", err, slog.Int("turns", len(evicted)))
		text = listTurns(digest.text, evicted)
	}
	counts, err := countTexts(ctx, s.cfg.Tokenizer, []string{text})
	if err != nil {
		return digest, fmt.Errorf("conversation: summary: %w", err)
	}
	return summary{text: text, tokens: counts[0], newest: evicted[len(evicted)-1], count: digest.count + 1}, nil
}

// listTurns is the summary without a compactor's help.
func listTurns(previous string, turns []Turn) string {
	lines := make([]string, len(turns))
	for i := range turns {
		lines[i] = string(turns[i].Role) + ": " + turns[i].Content
	}
	text := strings.Join(lines, "; ")
	if previous == "" {
		return text
	}
	return previous + "\n" + text
}

// item returns the summary as an item. It has the time and number of the newest turn
// in it, which places it before the turns that are left.
func (d *summary) item() Item {
	return Item{
		ID:         fmt.Sprintf("summary-%d", d.count),
		Content:    d.text,
		Source:     SourceConversation,
		Score:      summaryScore,
		Priority:   summaryPriority,
		TokenCount: d.tokens,
		Metadata:   map[string]any{"role": string(RoleSystem), "summary": true},
		CreatedAt:  d.newest.CreatedAt,
		Sequence:   d.newest.Sequence,
	}
}
