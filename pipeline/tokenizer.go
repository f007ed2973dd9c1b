package pipeline

import "context"

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
