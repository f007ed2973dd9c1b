package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/warn"
)

// summaryPriority and summaryScore place a summary below the turns it precedes.
const (
	summaryPriority = 6
	summaryScore    = 0.5
)

// CompactFunc makes a function a [Compactor] that condenses the turns that leave now
// and drops the summary so far.
type CompactFunc func(ctx context.Context, turns []core.Turn) (string, error)

// Compact calls f.
func (f CompactFunc) Compact(ctx context.Context, turns []core.Turn, _ string) (string, error) {
	return f(ctx, turns)
}

// ProgressiveCompactFunc makes a function a [Compactor] that works the turns that
// leave now into the summary so far.
type ProgressiveCompactFunc func(ctx context.Context, turns []core.Turn, previous string) (string, error)

// Compact calls f.
func (f ProgressiveCompactFunc) Compact(ctx context.Context, turns []core.Turn, previous string) (string, error) {
	return f(ctx, turns, previous)
}

// digest is a Digest whose text is counted.
type digest struct {
	Digest
	tokens int
}

// Summary returns the text that stands for the turns that have left; empty when
// there are none or no compactor.
func (s *SlidingWindow) Summary() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.digest.Text
}

// condense returns the digest before with the evicted turns in it.
func (s *SlidingWindow) condense(ctx context.Context, before digest, kept, evicted []core.Turn) (digest, error) {
	d := before.Digest
	newest := &evicted[len(evicted)-1]
	if newest.Sequence > d.Through {
		d.Through, d.Time = newest.Sequence, newest.CreatedAt
	}
	d.Kept = nil
	for i := range kept {
		if kept[i].Sequence > d.Through {
			break
		}
		d.Kept = append(d.Kept, kept[i].Sequence)
	}
	if s.cfg.Compactor == nil {
		return digest{d, before.tokens}, nil
	}
	text, listed, err := s.compact(ctx, before, evicted)
	if err != nil {
		return before, err
	}
	d.Text, d.Listed = text+listed, len(listed)
	d.Count++
	return s.countDigest(ctx, d)
}

// compact calls the compactor and returns the summary. When it fails, the summary so far
// stays, and what it has not condensed is listed behind it.
func (s *SlidingWindow) compact(ctx context.Context, before digest, evicted []core.Turn) (text, listed string, err error) {
	text, err = s.callCompactor(ctx, core.CloneTurns(evicted), before.Text)
	if ended := ctx.Err(); ended != nil {
		return "", "", fmt.Errorf("conversation: compact %d turns: %w", len(evicted), ended)
	}
	if err != nil {
		warn.Log(ctx, s.cfg.Logger, "compactor failed, turns listed instead", err, slog.Int("turns", len(evicted)))
		text, listed, err = s.list(ctx, &before.Digest, evicted)
	}
	return strings.ToValidUTF8(text, "\uFFFD"), strings.ToValidUTF8(listed, "\uFFFD"), err
}

// callCompactor calls the compactor in a goroutine of its own, and leaves it behind when
// its time is up: the writers of the conversation wait.
func (s *SlidingWindow) callCompactor(ctx context.Context, turns []core.Turn, previous string) (string, error) {
	if s.cfg.CompactTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.cfg.CompactTimeout)
		defer cancel()
	}
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{err: errCompactorExited}
		defer func() { done <- a }()
		a.err = core.Guard(func() (err error) {
			a.text, err = s.cfg.Compactor.Compact(ctx, turns, previous)
			return err
		})
	}()
	select {
	case a := <-done:
		return a.text, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

var errCompactorExited = errors.New("compactor called runtime.Goexit")

// listTokens is what a list of turns may take beside a summary that fills the room, and in
// a conversation that is smaller.
const listTokens = 256

// list returns the summary so far and, with the line break before it, the list of what no
// compactor has condensed. Only the list grows shorter: the summary stands for far more.
func (s *SlidingWindow) list(ctx context.Context, d *Digest, evicted []core.Turn) (text, listed string, err error) {
	split := len(d.Text) - min(max(0, d.Listed), len(d.Text))
	text, listed = d.Text[:split], strings.TrimPrefix(d.Text[split:], "\n")
	counts, err := core.CountTexts(ctx, s.cfg.Tokenizer, []string{text})
	if err != nil {
		return "", "", fmt.Errorf("conversation: summary: %w", err)
	}
	room := max(s.cfg.MaxTokens-counts[0]-1, listTokens)
	if listed, err = s.newestLines(ctx, listTurns(listed, evicted), room); text != "" {
		listed = "\n" + listed
	}
	return text, listed, err
}

// newestLines returns the lines at the end of a list of turns that take no more tokens than
// room, and of a single line that takes more, its beginning: without a compactor's help the
// list would grow for ever.
func (s *SlidingWindow) newestLines(ctx context.Context, text string, room int) (string, error) {
	lines := strings.Split(text, "\n")
	counts, err := core.CountTexts(ctx, s.cfg.Tokenizer, lines)
	if err != nil {
		return "", fmt.Errorf("conversation: summary: %w", err)
	}
	first := len(lines)
	for first > 0 && counts[first-1] < room { // one more for the line break
		first--
		room -= counts[first] + 1
	}
	if first < len(lines) {
		return strings.Join(lines[first:], "\n"), nil
	}
	err = core.Guard(func() (err error) {
		text, err = s.cfg.Tokenizer.Truncate(ctx, lines[len(lines)-1], room)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("conversation: cut summary: %w", err)
	}
	return wholeCharacters(text), nil
}

func (s *SlidingWindow) countDigest(ctx context.Context, d Digest) (digest, error) {
	if d.Text == "" {
		return digest{Digest: d}, nil
	}
	counts, err := core.CountTexts(ctx, s.cfg.Tokenizer, []string{d.Text})
	if err != nil {
		return digest{}, fmt.Errorf("conversation: summary: %w", err)
	}
	return digest{d, counts[0]}, nil
}

// listTurns is the summary without a compactor's help.
func listTurns(previous string, turns []core.Turn) string {
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

// item returns the summary as an item. Its time and number place it before the turns
// that are left. The metadata listed marks one that ends with turns as they were.
func (d *digest) item(turns []core.Turn) pipeline.Item {
	at, sequence := d.Time, d.Through
	if len(turns) > 0 {
		sequence = min(sequence, turns[0].Sequence-1)
		if first := turns[0].CreatedAt; first.Before(at) {
			at = first
		}
	}
	metadata := map[string]any{"role": string(pipeline.RoleSystem), "summary": true}
	if d.Listed > 0 {
		metadata["listed"] = true
	}
	return pipeline.Item{
		ID:         fmt.Sprintf("summary-%d", d.Count),
		Content:    d.Text,
		Source:     pipeline.SourceConversation,
		Score:      summaryScore,
		Priority:   summaryPriority,
		TokenCount: d.tokens,
		Metadata:   metadata,
		CreatedAt:  at,
		Sequence:   sequence,
	}
}
