package tokens

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline/tokens/internal/bpe"
)

// ErrUnknownEncoding means that no encoding has that name.
var ErrUnknownEncoding = errors.New("unknown encoding")

// counter counts and cuts one text for an encoding.
type counter interface {
	Count(ctx context.Context, text string) (int, error)
	Truncate(ctx context.Context, text string, limit int) (string, error)
}

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

// Encoding is a byte-pair encoding with its vocabulary and a bounded memory of
// recent counts. It is safe for concurrent use.
type Encoding struct {
	name   string
	digest string // SHA-256 of the vocabulary file, in hex
	gpt2   bool   // splits text as GPT-2 does
	load   func() (counter, error)
	cache  *countCache
}

func newEncoding(name, digest string, load func(name string) (counter, error)) *Encoding {
	return &Encoding{
		name: name, digest: digest, gpt2: strings.HasSuffix(name, "50k_base"),
		load:  sync.OnceValues(func() (counter, error) { return load(name) }),
		cache: newCountCache(cacheEntries),
	}
}

func exact(name string) (counter, error) { return bpe.Get(name) }

// Name returns the name, such as "cl100k_base".
func (e *Encoding) Name() string { return e.name }

// Vocabulary returns the SHA-256 digest, in hex, of the vocabulary file.
func (e *Encoding) Vocabulary() string { return e.digest }

// Count returns the number of tokens of each text. The first call loads the vocabulary. When
// ctx ends, Count returns its error.
func (e *Encoding) Count(ctx context.Context, texts ...string) ([]int, error) {
	counts := make([]int, len(texts))
	misses := e.cache.lookup(texts, counts)
	for _, i := range misses {
		c, err := e.load()
		if err != nil {
			return nil, err
		}
		if counts[i], err = c.Count(ctx, texts[i]); err != nil {
			return nil, err
		}
	}
	e.cache.store(texts, counts, misses)
	return counts, ctx.Err()
}

// Truncate returns text if it has at most limit tokens. Otherwise it returns the longest
// prefix with at most limit tokens that ends at a character boundary.
func (e *Encoding) Truncate(ctx context.Context, text string, limit int) (string, error) {
	if limit <= 0 {
		return "", ctx.Err()
	}
	c, err := e.load()
	if err != nil {
		return "", err
	}
	return c.Truncate(ctx, text, limit)
}
