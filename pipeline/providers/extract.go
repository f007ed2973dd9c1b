package providers

import (
	"context"
	"fmt"
	"sort"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Extract is a [agent.Distiller] without a model. An observation is one line of a message:
// its role and the beginning of its text. A reflection is the list of the observations that
// it replaces. The same input always gives the same notes. If the text is too long, Extract
// first shortens its lines, and then drops the oldest and gives their number.
type Extract struct {
	// Counter counts tokens. nil means a counter of the default encoding.
	Counter *agent.Counter
}

// extractWidths are the lengths of a line that Extract tries, in characters.
var extractWidths = []int{DefaultDigestLine, DefaultDigestLine / 2, DefaultDigestLine / 4}

// Observe returns one line for each message that has a text or calls tools.
func (e Extract) Observe(ctx context.Context, r agent.Observing) (*agent.Observed, error) {
	counter, err := counterOr(e.Counter)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, width := range extractWidths {
		if lines = messageLines(r.Messages, width); len(lines) == 0 {
			break
		}
		fits, err := e.fits(ctx, counter, r.MaxTokens, lines...)
		if err != nil || fits {
			return &agent.Observed{Add: lines}, err
		}
	}
	var failed error
	gone := sort.Search(len(lines), func(i int) bool {
		fits, err := e.fits(ctx, counter, r.MaxTokens, newestLines(lines, i)...)
		if err != nil {
			failed = err
		}
		return fits
	})
	return &agent.Observed{Add: newestLines(lines, gone)}, failed
}

// newestLines drops the oldest lines, and adds a line with their number.
func newestLines(lines []string, gone int) []string {
	if gone == 0 {
		return lines
	}
	return append([]string{fmt.Sprintf(goneFormat, gone)}, lines[gone:]...)
}

func messageLines(messages []pipeline.Message, width int) (lines []string) {
	for i := range messages {
		t := asTurn(&messages[i], 0)
		if shorten(t.Content, width) != "" {
			lines = append(lines, shorten(string(t.Role)+": "+t.Content, width))
		}
	}
	return lines
}

// Reflect returns the lines of the reflection so far and of the observations.
func (e Extract) Reflect(ctx context.Context, r agent.Reflecting) (string, error) {
	counter, err := counterOr(e.Counter)
	if err != nil {
		return "", err
	}
	before, gone := splitDigest(r.Reflection)
	for _, text := range r.Observations {
		lines, n := splitDigest(text)
		before, gone = append(before, lines...), gone+n
	}
	var lines []string
	for _, width := range extractWidths {
		lines = lines[:0]
		for _, text := range before {
			lines = append(lines, shorten(text, width))
		}
		fits, err := e.fits(ctx, counter, r.MaxTokens, joinDigest(lines, gone))
		if err != nil || fits {
			return joinDigest(lines, gone), err
		}
	}
	var failed error
	left := sort.Search(len(lines), func(i int) bool {
		fits, err := e.fits(ctx, counter, r.MaxTokens, joinDigest(lines[i:], gone+i))
		if err != nil {
			failed = err
		}
		return fits
	})
	return joinDigest(lines[left:], gone+left), failed
}

// fits reports whether texts take at most so many tokens, and bytes for these.
func (e Extract) fits(ctx context.Context, c *agent.Counter, room int, texts ...string) (bool, error) {
	if byteLen(texts) > noteBytes*room {
		return false, nil
	}
	counts, err := countTexts(ctx, c, texts)
	for _, n := range counts {
		room -= n
	}
	return room >= 0, err
}

// countTexts returns the tokens of each text as a message of its own.
func countTexts(ctx context.Context, c *agent.Counter, texts []string) ([]int, error) {
	messages := make([]pipeline.Message, len(texts))
	for i, text := range texts {
		messages[i] = message.New(pipeline.RoleSystem, text)
	}
	return c.Count(ctx, messages)
}

func byteLen(texts []string) (n int) {
	for _, text := range texts {
		n += len(text)
	}
	return n
}

// noteBytes is how many bytes an answer of a [agent.Distiller] may take for each token of its
// room. It bounds answers where one token may be any length, such as with the tokenizer "words".
const noteBytes = 16
