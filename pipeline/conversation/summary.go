package conversation

import (
	"context"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/compact"
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

// Summary returns the text that replaces the turns that have left: the summary, and a list of
// those turns that no compactor has condensed. It is empty if no turn has left, or if there is
// no compactor.
func (s *SlidingWindow) Summary() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.past.shown.Text
}

// bounded returns the end of a text that has at most room tokens, from the beginning of a line.
// If the last line alone is longer, bounded returns its beginning.
func (s *SlidingWindow) bounded(ctx context.Context, text string, room int) (string, error) {
	// A text of any size must not be counted as a whole.
	if most := room * compact.MaxTokenBytes; len(text) > most {
		text = strings.ToValidUTF8(text[len(text)-most:], "")
		if _, rest, found := strings.Cut(text, "\n"); found {
			text = rest
		}
	}
	count, err := s.countText(ctx, text)
	if err != nil || count <= room {
		return text, err
	}
	return s.newestLines(ctx, strings.TrimRight(text, "\n"), room)
}

// countText counts a text of the summary.
func (s *SlidingWindow) countText(ctx context.Context, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	counts, err := core.CountTexts(ctx, s.cfg.Tokenizer, []string{text})
	if err != nil {
		return 0, fmt.Errorf("conversation: summary: %w", err)
	}
	return counts[0], nil
}

// listTokens is the least room for a list of turns, in tokens. The list has this room even
// if the summary takes all of SummaryTokens, or SummaryTokens is smaller.
const listTokens = 256

// list returns the summary so far and, after a line break, the list of the turns that no
// compactor has condensed. Only the list is shortened, because the summary replaces far
// more turns.
func (s *SlidingWindow) list(ctx context.Context, d *Digest, evicted []core.Turn) (text, listed string, err error) {
	split := len(d.Text) - min(max(0, d.Listed), len(d.Text))
	text, listed = d.Text[:split], strings.TrimPrefix(d.Text[split:], "\n")
	count, err := s.countText(ctx, text)
	if err != nil {
		return "", "", err
	}
	room := max(s.cfg.SummaryTokens-count-1, listTokens)
	if listed, err = s.newestLines(ctx, listTurns(listed, evicted), room); text != "" {
		listed = "\n" + listed
	}
	return text, listed, err
}

// newestLines returns the last lines of a list of turns, as many as take at most room tokens, or the
// beginning of the last one. Without this bound the list would grow for ever while the compactor fails.
func (s *SlidingWindow) newestLines(ctx context.Context, text string, room int) (string, error) {
	lines := strings.Split(text, "\n")
	b := compact.Bound{Room: room, Count: func(text string) (int, error) { return s.countText(ctx, text) }}
	first := b.Newest(len(lines), func(first int) string { return strings.Join(lines[first:], "\n") })
	text = strings.Join(lines[first:], "\n")
	if first == len(lines)-1 && !b.Fits(text) {
		text = b.Beginning(text)
	}
	return text, b.Err
}

func (s *SlidingWindow) countDigest(ctx context.Context, d Digest) (digest, error) {
	count, err := s.countText(ctx, d.Text)
	return digest{d, count}, err
}

// listTurns returns the list that stands for turns without a summary, one line per turn, after
// an earlier list.
func listTurns(previous string, turns []core.Turn) string {
	lines := make([]string, 0, len(turns)+1)
	if previous != "" {
		lines = append(lines, previous)
	}
	for i := range turns {
		lines = append(lines, string(turns[i].Role)+": "+turns[i].Content)
	}
	return strings.Join(lines, "\n")
}
