// Package compact is what conversations and lists of agents share when their oldest part becomes a
// summary: how a compactor is called, and how a summary is cut. The rest differs. A conversation
// condenses in the background what has left its window, and keeps it in a store; an agent's list is
// condensed within the call that is too long, from messages that their owner may have changed.
package compact

import (
	"context"
	"errors"
	"sort"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/abandon"
)

// MaxTokenBytes is the length of a token in bytes that only unusual texts exceed. A longer text must
// not be counted as a whole.
const MaxTokenBytes = 64

// Call asks a compactor for a summary. A panic is an error, and a compactor that still runs when ctx
// ends is left behind.
func Call(ctx context.Context, c pipeline.Compactor, turns []pipeline.Turn, previous string) (string, error) {
	return abandon.Call(ctx, c, func() (text string, err error) {
		err = core.Guard(func() (err error) {
			text, err = c.Compact(ctx, turns, previous)
			return err
		})
		return text, err
	})
}

// Bound is the room of a summary.
type Bound struct {
	// Room is in tokens, as Count counts them.
	Room  int
	Count func(text string) (int, error)
	// Err is what Count failed with.
	Err error
}

// Fits reports whether a text takes at most the room.
func (b *Bound) Fits(text string) bool {
	if len(text) > b.Room*MaxTokenBytes {
		return false
	}
	n, err := b.Count(text)
	b.Err = errors.Join(b.Err, err)
	return n <= b.Room
}

// Newest returns how many of n lines must go, the oldest first, until what write makes of the others
// fits. The newest stays.
func (b *Bound) Newest(n int, write func(first int) string) int {
	return sort.Search(n-1, func(first int) bool { return b.Fits(write(first)) })
}

// Beginning returns the beginning of a line that fits, up to the end of a word if it has one.
func (b *Bound) Beginning(line string) string {
	line = strings.ToValidUTF8(line[:min(len(line), b.Room*MaxTokenBytes)], "")
	runes := []rune(line)
	n := sort.Search(len(runes), func(n int) bool { return !b.Fits(string(runes[:n+1])) })
	text := string(runes[:max(1, min(n, len(runes)))])
	if n < len(runes) && runes[n] != ' ' {
		if at := strings.LastIndexByte(text, ' '); at > 0 {
			text = text[:at]
		}
	}
	return strings.TrimRight(text, " ")
}
