package tokens

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"

	"github.com/anchor-host/anchor-host/tokens/internal/bpe"
)

// patternGPT2 splits text for the encodings of the GPT-2 and GPT-3 families.
const patternGPT2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

const (
	// longText is the length in bytes from which a count runs in its own goroutine, so
	// that the caller can abandon it. A shorter text takes at most about 4 ms.
	longText = 4 << 10
	// maxLongCounts bounds the long counts that run at the same time, including
	// abandoned ones, so that hostile text cannot use all processors.
	maxLongCounts = 2
)

// longCounts holds one entry for each long count that is running.
var longCounts = make(chan struct{}, maxLongCounts)

// libraryCounter counts with tiktoken-go.
type libraryCounter struct{ enc *tiktoken.Tiktoken }

// library builds the encoder. It does not set the loader that tiktoken-go keeps in a global
// variable, because that belongs to the program.
func library(name string) (counter, error) {
	ranks, err := bpe.Ranks(name)
	if err != nil {
		return nil, err
	}
	core, err := tiktoken.NewCoreBPE(ranks, nil, patternGPT2)
	if err != nil {
		return nil, fmt.Errorf("encoding %q: build encoder: %w", name, err)
	}
	return libraryCounter{tiktoken.NewTiktoken(core, nil, nil)}, nil
}

// Count returns the number of tokens of text.
func (c libraryCounter) Count(ctx context.Context, text string) (int, error) {
	ids, err := c.encode(ctx, text)
	return len(ids), err
}

// Truncate cuts text after a token. Invalid bytes come back as U+FFFD.
func (c libraryCounter) Truncate(ctx context.Context, text string, limit int) (string, error) {
	ids, err := c.encode(ctx, text)
	if err != nil || len(ids) <= limit {
		return text, err
	}
	// The end of the cut text may split into other tokens when it is counted again. Then
	// the loop tries one token less.
	for n := limit; n > 0; n-- {
		cut := trimPartialRune(c.enc.Decode(ids[:n]))
		again, err := c.encode(ctx, cut)
		if err != nil {
			return "", err
		}
		if len(again) <= limit {
			return cut, nil
		}
	}
	return "", nil
}

// encode returns the token ids of text, or the error of ctx.
func (c libraryCounter) encode(ctx context.Context, text string) ([]int, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(text) < longText || ctx.Done() == nil {
		return encodeOrdinary(c.enc, text)
	}
	return encodeLong(ctx, c.enc, text)
}

// encodeLong encodes in a goroutine. If ctx ends first, it returns and the goroutine continues.
func encodeLong(ctx context.Context, enc *tiktoken.Tiktoken, text string) ([]int, error) {
	select {
	case longCounts <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	type outcome struct {
		ids []int
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() { <-longCounts }()
		ids, err := encodeOrdinary(enc, text)
		done <- outcome{ids, err}
	}()
	select {
	case out := <-done:
		return out.ids, out.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// encodeOrdinary turns a panic of the library into an error, because the text may come from
// anywhere.
func encodeOrdinary(enc *tiktoken.Tiktoken, text string) (ids []int, err error) {
	defer func() {
		if r := recover(); r != nil {
			ids, err = nil, fmt.Errorf("tokenizer: encode %d bytes: panic: %v", len(text), r)
		}
	}()
	return enc.EncodeOrdinary(text), nil
}

// trimPartialRune drops the bytes of an incomplete character at the end, which a cut between
// two tokens may leave.
func trimPartialRune(s string) string {
	for len(s) > 0 {
		if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size > 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}
