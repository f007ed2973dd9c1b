package tokens

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"
)

// WordsName is the name of the [Words] tokenizer.
const WordsName = "words"

// Words counts words that are separated by white space; blank text counts 0. It is fast,
// needs no vocabulary and suits tests and rough budgets. The zero value is ready to use and
// safe for concurrent use.
type Words struct{}

// Name returns "words".
func (Words) Name() string { return WordsName }

// Count returns the number of words of each text. The only error is that of
// ctx.
func (Words) Count(ctx context.Context, texts ...string) ([]int, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	counts := make([]int, len(texts))
	for i, text := range texts {
		counts[i] = countWords(text)
	}
	return counts, nil
}

// Truncate returns text if it has at most limit words, and otherwise its first
// limit words joined by single spaces.
func (Words) Truncate(ctx context.Context, text string, limit int) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if limit <= 0 {
		return "", nil
	}
	words := strings.Fields(text)
	if len(words) <= limit {
		return text, nil
	}
	return strings.Join(words[:limit], " "), nil
}

// countWords returns len(strings.Fields(text)) without making the slice.
func countWords(text string) int {
	n, inWord := 0, false
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		space := unicode.IsSpace(r)
		if !space && !inWord {
			n++
		}
		inWord = !space
		i += size
	}
	return n
}
