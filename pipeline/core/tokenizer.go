package core

import (
	"context"
	"fmt"
)

// Tokenizer counts the tokens of a text as one model family does. It is safe
// for concurrent use.
type Tokenizer interface {
	// Name identifies the counting, such as "words" or "cl100k_base".
	Name() string
	// Count returns the number of tokens of each text, in the same order.
	Count(ctx context.Context, texts ...string) ([]int, error)
	// Truncate returns the longest prefix of text with at most max tokens.
	Truncate(ctx context.Context, text string, max int) (string, error)
}

// CountTexts counts texts with a tokenizer. It returns an error if the tokenizer panics, or if
// its answer has another length or a negative count.
func CountTexts(ctx context.Context, t Tokenizer, texts []string) (counts []int, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	err = Guard(func() (err error) {
		counts, err = t.Count(ctx, texts...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("tokenizer %q: count %d texts: %w", t.Name(), len(texts), err)
	}
	if len(counts) != len(texts) {
		return nil, fmt.Errorf("tokenizer %q: %d counts for %d texts: %w", t.Name(), len(counts), len(texts), ErrInvalid)
	}
	for i, n := range counts {
		if n < 0 {
			return nil, fmt.Errorf("tokenizer %q: text %d: count %d: %w", t.Name(), i, n, ErrInvalid)
		}
	}
	return counts, nil
}
