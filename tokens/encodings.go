package tokens

import (
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/tokens/internal/bpe"
)

// ErrUnknownEncoding means that no encoding has that name.
var ErrUnknownEncoding = errors.New("unknown encoding")

// encodings holds the only instance of each encoding, because the vocabularies are large.
// Package bpe counts the two that current models use; tiktoken-go counts the older two.
var encodings = map[string]*Encoding{
	"cl100k_base": newEncoding("cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7", exact),
	"o200k_base":  newEncoding("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d", exact),
	"p50k_base":   newEncoding("p50k_base", "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069", library),
	"r50k_base":   newEncoding("r50k_base", "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930", library),
}

// Names lists the encodings that [Get] knows.
func Names() []string {
	return []string{"cl100k_base", "o200k_base", "p50k_base", "r50k_base"}
}

// Get returns the shared encoding of that name. It loads nothing; the error
// wraps [ErrUnknownEncoding].
func Get(name string) (*Encoding, error) {
	if e, ok := encodings[name]; ok {
		return e, nil
	}
	return nil, fmt.Errorf("encoding %q: %w (want one of %v)", name, ErrUnknownEncoding, Names())
}

func exact(name string) (counter, error) { return bpe.Get(name) }
