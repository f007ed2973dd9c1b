package conversation

import (
	"context"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
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
// If the last line alone is longer, bounded returns the beginning of that line up to a word's
// end.
func (s *SlidingWindow) bounded(ctx context.Context, text string, room int) (string, error) {
	// A text of any size must not be counted as a whole. No ordinary text has tokens this long.
	if most := room * maxTokenBytes; len(text) > most {
		text = strings.ToValidUTF8(text[len(text)-most:], "")
		if _, rest, found := strings.Cut(text, "\n"); found {
			text = rest
		}
	}
	counts, err := core.CountTexts(ctx, s.cfg.Tokenizer, []string{text})
	if err != nil {
		return "", fmt.Errorf("conversation: summary: %w", err)
	}
	if counts[0] <= room {
		return text, nil
	}
	return s.newestLines(ctx, strings.TrimRight(text, "\n"), room)
}

// maxTokenBytes is the length of a token in bytes that only unusual texts exceed.
const maxTokenBytes = 64

// listTokens is the least room for a list of turns, in tokens. The list has this room even
// if the summary takes all of SummaryTokens, or SummaryTokens is smaller.
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
	room := max(s.cfg.SummaryTokens-counts[0]-1, listTokens)
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
	text = wholeCharacters(text)
	if rest, cut := strings.CutPrefix(lines[len(lines)-1], text); cut && rest != "" && rest[0] != ' ' {
		if at := strings.LastIndexByte(text, ' '); at > 0 {
			text = text[:at]
		}
	}
	return strings.TrimRight(text, " "), nil
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
