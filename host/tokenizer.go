package host

import (
	"context"

	"github.com/anchor-host/anchor-host/host/internal/imports"
	"github.com/anchor-host/anchor-host/pipeline/tokens"
)

// A Tokenizer counts tokens. It must be safe for concurrent use. The tokenizers of package
// pipeline implement it.
type Tokenizer interface {
	// Name identifies the vocabulary: tokenizers of the same name count the same.
	Name() string
	// Count returns the number of tokens of each text, in order.
	Count(ctx context.Context, texts ...string) ([]int, error)
}

// Tokenizer returns the tokenizer that counts the tokens of what guests add. It loads the
// tokenizer if that has not been done.
func (h *Host) Tokenizer() (Tokenizer, error) { return h.tokens.Load(context.Background()) }

// readEncoding reads the encoding that a build counts with if none is configured.
func readEncoding() (imports.Vocabulary, error) {
	encoding, err := tokens.Get("cl100k_base")
	if err != nil {
		return nil, err
	}
	return encoding, nil
}
