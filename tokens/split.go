package tokens

import "github.com/anchor-host/anchor-host/tokens/internal/lines"

// NextSplit returns the first position after from at which text can be divided so that the
// tokens of both parts add up exactly to those of the whole, or len(text) when there is
// none. The position depends only on the characters next to it.
//
// In cl100k_base and o200k_base no token continues after a line end, except with more
// white space and, in o200k_base, slashes. In p50k_base and r50k_base no token continues
// from a visible character into a line end.
//
// For a [ReadFile] tokenizer the place depends on the file; it is len(text) if none is known.
func (e *Encoding) NextSplit(text string, from int) int { return e.divide(text, from) }

// NextSplit returns the position after the next line end that comes after from.
func (Words) NextSplit(text string, from int) int { return lines.After(text, from) }
