package fill

import (
	"context"
	"maps"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
	"github.com/anchor-host/anchor-host/pipeline/media"
)

// cutTries bounds how often a cut is shortened. The remaining text may have more tokens on
// its own than it had as part of the whole.
const cutTries = 8

// text returns the longest beginning of a text that ends at an allowed place and has
// at most limit tokens, and its tokens. It returns an empty text when too little is left,
// and when the whole text fits.
func (t *Truncation) text(ctx context.Context, count core.Tokenizer, text string, limit int) (string, int, error) {
	for try, room := 0, limit; try < cutTries && room >= t.MinTokens && room > 0; try++ {
		head, err := longestPrefix(ctx, count, text, room)
		if err != nil {
			return "", 0, err
		}
		head = t.end(text, len(head))
		if head == "" || len(head) == len(text) {
			return "", 0, nil
		}
		counts, err := core.CountTexts(ctx, count, []string{head})
		switch {
		case err != nil:
			return "", 0, err
		case counts[0] < t.MinTokens:
			return "", 0, nil
		case counts[0] <= limit:
			return head, counts[0], nil
		}
		room -= counts[0] - limit
	}
	return "", 0, nil
}

// longestPrefix calls Tokenizer.Truncate. Some tokenizers change the text when they cut it;
// for these it searches for the longest prefix.
func longestPrefix(ctx context.Context, t core.Tokenizer, text string, limit int) (head string, err error) {
	err = core.Guard(func() (err error) {
		head, err = t.Truncate(ctx, text, limit)
		return err
	})
	if err != nil || strings.HasPrefix(text, head) {
		return head, err
	}
	n := sort.Search(len(text), func(n int) bool {
		if err != nil {
			return true
		}
		counts, e := core.CountTexts(ctx, t, []string{text[:n+1]})
		err = e
		return e != nil || counts[0] > limit
	})
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n], err
}

// end returns the longest prefix of text of at most n bytes that ends at an allowed
// place, without white space at its end.
func (t *Truncation) end(text string, n int) string {
	if t.At == CutSentence {
		n = lastSentence(text, n)
	} else {
		n = wholeCharacter(text, n)
	}
	return strings.TrimRightFunc(text[:n], unicode.IsSpace)
}

// lastSentence returns the end of the last sentence or line that ends within the first
// n bytes, or 0 when there is none.
func lastSentence(text string, n int) int {
	last, before, single := 0, rune(0), false // single: the word so far is a single letter
	for i := 0; i < n; {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == '\n':
			last = i - size
		case isFullStop(r):
			if end := closed(text, i); end <= n {
				last = end
			}
		case r == '!' || r == '?' || r == '…' || r == '.' && !single:
			if end := closed(text, i); end <= n && spaceFollows(text, end) {
				last = end
			}
		}
		single = unicode.IsLetter(r) && !unicode.IsLetter(before)
		before = r
	}
	if n == len(text) {
		return n
	}
	return last
}

// isFullStop reports whether r ends a sentence even if no space follows.
func isFullStop(r rune) bool { return strings.ContainsRune("。！？．｡।॥۔؟", r) }

// closed moves i behind the stops, quotation marks and brackets that follow, and returns it.
func closed(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !strings.ContainsRune(".!?…。！？\"')]}»”’」』）】", r) {
			break
		}
		i += size
	}
	return i
}

func spaceFollows(text string, i int) bool {
	if i == len(text) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	return unicode.IsSpace(r)
}

// longestCharacter bounds, in bytes, how far a cut moves back to the beginning of a
// character, because a character may have any number of combining marks.
const longestCharacter = 256

// wholeCharacter moves the cut n back to the beginning of a character as readers see it. It
// never cuts before an accent, inside a joined emoji or between the halves of a flag. n must
// be between two code points. A character ends at each line break, so the search begins after
// the last one.
func wholeCharacter(text string, n int) int {
	line := strings.LastIndexByte(text[:n], '\n') + 1
	characters := graphemes.FromString(text[line:])
	for characters.Next() {
		if end := line + characters.End(); end < n {
			continue
		} else if begin := line + characters.Start(); end > n && n-begin <= longestCharacter {
			return begin
		}
		break
	}
	return n
}

// cutItem shortens item i to at most limit tokens, and returns the tokens of the text that is
// left and whether it did. It first copies the list of items, because steps may still refer to
// it.
func (b *Filling) cutItem(ctx context.Context, i int32, limit int) (tokens int, ok bool, err error) {
	f := b.p
	if !f.cuts() || b.Items[i].Source == core.SourceSystem {
		return 0, false, nil
	}
	parts := media.OfParts(f.counter.options.Model, b.Items[i].Parts()).High // they stay whole
	if w, ok := f.formatter.(interface{ Beside(it *core.Item) string }); ok {
		if beside := w.Beside(&b.Items[i]); beside != "" {
			counts, err := core.CountTexts(ctx, f.tokenizer, []string{beside + "\n"})
			if err != nil {
				return 0, false, err
			}
			parts = values.Add(parts, counts[0])
		}
	}
	text, n, err := f.cut.text(ctx, b.p.tokenizer, b.Items[i].Content, limit-parts)
	if err != nil || text == "" {
		return 0, false, err
	}
	if b.whole == nil {
		b.whole, b.Items = b.Items, slices.Clone(b.Items)
	}
	it := &b.Items[i]
	it.Metadata = maps.Clone(b.whole[i].Metadata)
	if it.Metadata == nil {
		it.Metadata = make(map[string]any, 1)
	}
	it.Metadata["truncated"] = true
	it.Content, b.Counts[i] = text, values.Add(n, parts)
	return n, true, nil
}
