package hf

import (
	"context"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/tokens/internal/lines"
)

const (
	// firstGuess is the number of bytes for each token with which the search for a prefix
	// begins.
	firstGuess = 8
	// leastChunk is the least number of bytes between the places where a text is divided.
	leastChunk = 256
	// closeLen is the largest length in bytes of the text after the last such place in which
	// every prefix is tried.
	closeLen = 4 << 10
)

// Truncate returns text if it has at most limit tokens. Otherwise it returns the longest prefix
// with at most limit tokens that ends at a character boundary. If the text cannot be divided
// near the end of that prefix, the result may lack a few characters. The errors are those of
// [Tokenizer.Count].
func (t *Tokenizer) Truncate(ctx context.Context, text string, limit int) (string, error) {
	if limit <= 0 {
		return "", ctx.Err()
	}
	c := &cutting{t: t, ctx: ctx, text: text, limit: limit}
	low, high := c.bracket()
	if low == len(text) || c.err != nil {
		return text[:low], c.err
	}
	c.advance(high)
	low = max(low, c.base)
	for low < high && c.err == nil {
		middle := boundary(text, low+(high-low+1)/2, low)
		if c.fits(middle) {
			low = middle
		} else {
			high = boundaryBefore(text, middle)
		}
	}
	if low-c.base <= closeLen {
		low = c.further(low)
	}
	if c.err != nil {
		return "", c.err
	}
	return text[:low], nil
}

// cutting is the state of a search for a prefix.
type cutting struct {
	t     *Tokenizer
	ctx   context.Context
	text  string
	limit int
	// base is a place where the text can be divided, used the tokens before it.
	base, used int
	err        error
}

// tokens returns the tokens of the text up to an end after base.
func (c *cutting) tokens(end int) int {
	if c.err != nil || end <= c.base {
		return c.used
	}
	var n int
	n, c.err = c.t.Count(c.ctx, c.text[c.base:end])
	return c.used + n
}

func (c *cutting) fits(end int) bool { return c.tokens(end) <= c.limit && c.err == nil }

// bracket returns a prefix that fits and one that does not. If the whole text fits, it returns
// its length.
func (c *cutting) bracket() (low, high int) {
	size := min(c.limit, len(c.text))*firstGuess + leastChunk
	for c.err == nil {
		end := len(c.text)
		if size < end {
			end = boundary(c.text, size, low)
		}
		n := c.tokens(end)
		switch {
		case n <= c.limit:
			low = end
		case end == len(c.text) || n > c.limit+closeLen:
			return low, end
		}
		if low == len(c.text) {
			break
		}
		size *= 4
	}
	return low, len(c.text)
}

// advance moves base to the last place before high where the text can be divided and up to which
// it fits.
func (c *cutting) advance(high int) {
	for c.err == nil {
		next := c.t.NextSplit(c.text, c.base+leastChunk)
		if next >= high {
			return
		}
		n := c.tokens(next)
		if n > c.limit {
			return
		}
		c.base, c.used = next, n
	}
}

// further tries the prefixes that are longer by at most the length of a token. A prefix that ends
// inside of a token may have more tokens than a longer one.
func (c *cutting) further(low int) int {
	most := min(len(c.text), low+min(c.t.longest, leastChunk))
	for end := low; end < most && c.err == nil; {
		_, width := utf8.DecodeRuneInString(c.text[end:])
		if end += width; c.fits(end) {
			low = end
		}
	}
	return low
}

// boundary returns the last character boundary up to i that is after least, or else the first one
// after least. Among bytes outside of valid UTF-8 every place is one.
func boundary(text string, i, least int) int {
	for k := i; k > least && k > i-utf8.UTFMax; k-- {
		if k == len(text) || utf8.RuneStart(text[k]) {
			return k
		}
	}
	if i-least >= utf8.UTFMax {
		return i
	}
	_, width := utf8.DecodeRuneInString(text[least:])
	return least + width
}

// boundaryBefore returns the last character boundary before i.
func boundaryBefore(text string, i int) int {
	_, width := utf8.DecodeLastRuneInString(text[:i])
	return i - width
}

// NextSplit returns the first position after from at which text can be divided so that the
// tokens of both parts add up to those of the whole, or len(text) when none is known.
func (t *Tokenizer) NextSplit(text string, from int) int {
	switch t.lines {
	case afterLine, endsPiece:
		return lines.After(text, from)
	case beforeLine:
		return lines.Before(text, from)
	}
	return len(text)
}
