package host

import (
	"context"

	"github.com/anchor-host/anchor-host/host/internal/imports"
	"github.com/anchor-host/anchor-host/tokens"
)

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
