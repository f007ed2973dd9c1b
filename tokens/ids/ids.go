// Package ids lists the tokens of texts by their numbers in a tokenizer.json. It is apart from package
// tokens because that one contains the vocabularies of models.
package ids

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/anchor-host/anchor-host/tokens/internal/hf"
)

// Lister lists the tokens of texts by their numbers in a file. It is immutable and safe for
// concurrent use.
type Lister struct {
	tokenizer *hf.Tokenizer
	digest    string
}

// ReadFile returns the lister of a file as tokens.ReadFile takes it, with a BPE or WordPiece model.
func ReadFile(path string) (*Lister, error) {
	data, err := hf.Load(path)
	if err != nil {
		return nil, err
	}
	tokenizer, err := hf.ReadIDs(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	digest := sha256.Sum256(data)
	return &Lister{tokenizer, hex.EncodeToString(digest[:])}, nil
}

// Append appends the numbers of the tokens of a text to ids, without unknown tokens and without
// those that the library adds around a text. The error is that of ctx, or says that the normalizers
// of the file add too much to the text.
func (l *Lister) Append(ctx context.Context, ids []uint32, text string) ([]uint32, error) {
	return l.tokenizer.AppendIDs(ctx, ids, text)
}

// MaxID returns the greatest number that [Lister.Append] may append.
func (l *Lister) MaxID() uint32 { return l.tokenizer.MaxID() }

// Digest returns the SHA-256 digest, in hex, of the file.
func (l *Lister) Digest() string { return l.digest }
