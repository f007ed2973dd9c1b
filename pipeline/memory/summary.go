package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/warn"
)

// CompactFunc makes a function a [Compactor]. The function condenses the turns that leave
// now; the summary so far is dropped.
type CompactFunc func(ctx context.Context, turns []core.Turn) (string, error)

// Compact calls f.
func (f CompactFunc) Compact(ctx context.Context, turns []core.Turn, _ string) (string, error) {
	return f(ctx, turns)
}

// ProgressiveCompactFunc makes a function a [Compactor]. The function returns a summary of
// the turns that leave now and of the summary so far.
type ProgressiveCompactFunc func(ctx context.Context, turns []core.Turn, previous string) (string, error)

// Compact calls f.
func (f ProgressiveCompactFunc) Compact(ctx context.Context, turns []core.Turn, previous string) (string, error) {
	return f(ctx, turns, previous)
}

// Summary returns the text that replaces the turns that have left. It is empty if no turn
// has left, or if there is no compactor.
func (s *SlidingWindow) Summary() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.digest.Text
}

// condense returns the digest with the evicted turns added to it.
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

// compact calls the compactor and returns the summary. If the compactor fails, the summary
// so far stays, followed by a list of the turns that were not condensed.
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

// callCompactor calls the compactor in a goroutine of its own, and abandons it when its
// time is up, because the writers of the conversation wait.
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

// listTokens is the least room for a list of turns, in tokens. The list has this room even
// if the summary is as large as the conversation, or the conversation is smaller.
const listTokens = 256

// list returns the summary so far and, after a line break, the list of the turns that no
// compactor has condensed. Only the list is shortened, because the summary replaces far
// more turns.
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

// newestLines returns the last lines of a list of turns, as many as take at most room
// tokens. If the last line alone takes more, newestLines returns the beginning of that
// line. Without this bound the list would grow for ever while the compactor fails.
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

// listTurns returns the list of turns that replaces a summary if the compactor fails.
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
