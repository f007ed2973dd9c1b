package providers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/anchor-host/anchor-host/pipeline"
)

const (
	// markerTokens is about the size of the line that says how much was cut, and
	// handleTokens that of the handle in it, with the ways to the whole text.
	markerTokens, handleTokens = 16, 36
	// headShare is the part of a cut text that its beginning takes, in thirds. The beginning
	// says what a result is; its end often has the error or the total.
	headShare = 2
	// cutRounds bounds how often results are cut again. This is needed because a cut text
	// may have more tokens than the same text had as part of the whole.
	cutRounds = 6
	// MaxKeptText is the largest text in bytes that gets a handle.
	MaxKeptText = 2 << 20
)

// Handle returns the handle of a text: "cut-" and the beginning of its SHA-256 digest.
func Handle(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "cut-" + hex.EncodeToString(sum[:10])
}

// cutter cuts texts. It remembers the originals until they are reported.
type cutter struct {
	keep func(handle, text string)
	done []string // originals
}

// report passes on the originals of the cut texts that a view keeps.
func (c *cutter) report(v *view) {
	if c.keep == nil || len(c.done) == 0 {
		return
	}
	var shown strings.Builder
	for unit, kept := range v.keeps {
		if kept {
			for _, text := range v.resultTexts(unit) {
				if strings.Contains(text, cutCommand) {
					shown.WriteString(text)
				}
			}
		}
	}
	slices.Sort(c.done)
	for _, text := range slices.Compact(c.done) {
		if handle := Handle(text); strings.Contains(shown.String(), handle) {
			c.keep(handle, text)
		}
	}
	c.done = nil
}

// cutCommand is the command that prints the original of a cut text.
const cutCommand = "anchor-host memory get "

// Ways says how an agent gets the original of a cut text: by the tool of MCP, over HTTP, or by the command. The handle
// stands there once, because each cut text of a prompt has this line.
func Ways(handle string) string {
	return "all of it: tool recall, GET /v1/cuts/HANDLE or " + cutCommand + handle
}

// text returns a text of n tokens cut to about longest tokens: its beginning, a line that says
// what is missing, and its end. It depends on the arguments alone.
func (c *cutter) text(ctx context.Context, t pipeline.Tokenizer, text string, n, longest int) (string, error) {
	handle, room := "", longest-markerTokens
	if c.keep != nil && len(text) <= MaxKeptText {
		handle, room = "; "+Ways(Handle(text)), room-handleTokens
		c.done = append(c.done, text)
	}
	marker := fmt.Sprintf("[about %d of %d tokens left out%s]", n-max(room, 0), n, handle)
	keep := int(float64(len(text)) * float64(max(room, 1)) / float64(n))
	for range cutRounds {
		short := JoinCut(text, marker, keep)
		counts, err := t.Count(ctx, short)
		if err != nil {
			return "", err
		}
		if counts[0] <= longest {
			return short, nil
		}
		keep = int(float64(keep) * 0.99 * float64(longest) / float64(counts[0]))
	}
	head, err := t.Truncate(ctx, text, max(1, room))
	return head + "\n" + marker, err
}

// JoinCut returns the beginning and the end of a text, together about keep bytes, around a
// marker.
func JoinCut(text, marker string, keep int) string {
	head := keep * headShare / 3
	tail := len(text) - (keep - head)
	before := strings.TrimRight(text[:cutAt(text, head, 0)], "\n")
	after := strings.TrimLeft(text[cutAt(text, max(head, tail), tail):], "\n")
	if isJSON(text) {
		after = strings.TrimLeft(after, ", \t\r\n")
	} else if i := nextHunk(after); i >= 0 {
		after = after[i:]
	}
	if before != "" {
		before += "\n"
	}
	if after != "" {
		after = "\n" + after
	}
	return before + marker + after
}

// isJSON reports whether a text looks like a document in JSON.
func isJSON(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text != "" && (text[0] == '{' || text[0] == '[')
}

// nextHunk returns where the first whole hunk or file of a diff begins in the first half of its
// end, and -1 if there is none. The lines of a hunk without its header cannot be placed.
func nextHunk(end string) int {
	first := -1
	for _, header := range []string{"\n@@ -", "\ndiff --git "} {
		if i := strings.Index(end[:len(end)/2], header); i >= 0 && (first < 0 || i < first) {
			first = i + 1
		}
	}
	return first
}

// cutAt returns a good place to cut near a place: the nearest one before it where a line
// begins, in a document without lines where an element of a list begins or a word, and else
// where a character begins. With least it looks for places after least instead.
func cutAt(text string, at, least int) int {
	if at >= len(text) {
		return len(text)
	}
	forward := least > 0
	if isJSON(text) {
		if place, ok := betweenElements(text, at, forward); ok {
			return place
		}
	}
	for _, ends := range []func(r rune) bool{
		func(r rune) bool { return r == '\n' },
		func(r rune) bool { return r == ',' || r == '}' || r == ']' },
		unicode.IsSpace,
	} {
		if forward {
			window := text[at:min(len(text), at+cutWindow)]
			if i := strings.IndexFunc(window, ends); i >= 0 {
				_, size := utf8.DecodeRuneInString(window[i:])
				return at + i + size
			}
			continue
		}
		from := max(0, at-cutWindow)
		if i := strings.LastIndexFunc(text[from:at], ends); i >= 0 {
			_, size := utf8.DecodeRuneInString(text[from+i:])
			return from + i + size
		}
	}
	return graphemeBefore(text, at)
}

// betweenElements returns the nearest place after a comma that stands between two objects or two
// lists of a document in JSON, within the window before or after a place.
func betweenElements(text string, at int, forward bool) (int, bool) {
	from, to := max(0, at-cutWindow), at
	if forward {
		from, to = at, min(len(text), at+cutWindow)
	}
	place := -1
	for i := from; i < to; i++ {
		if text[i] != '}' && text[i] != ']' {
			continue
		}
		next := i + 1 + strings.IndexFunc(text[i+1:min(len(text), i+1+cutWindow)], func(r rune) bool { return !unicode.IsSpace(r) })
		if next > i && next < to && text[next] == ',' {
			place = next + 1
			if forward {
				break
			}
		}
	}
	return place, place >= 0
}

// cutWindow is how many bytes away from a place a better place to cut may be.
const cutWindow = 400

// graphemeBefore returns the last place up to at where a character begins as people see it.
func graphemeBefore(text string, at int) int {
	from := max(0, at-cutWindow)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	last := from
	for it := graphemes.FromString(text[from:]); it.Next(); {
		if from+it.End() > at {
			return from + it.Start()
		}
		last = from + it.End()
	}
	return last
}
