package tokens

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline/tokens/internal/bpe"
)

// ErrUnknownEncoding marks a name that no encoding has.
var ErrUnknownEncoding = errors.New("unknown encoding")

// counter is what an encoding does with one text.
type counter interface {
	Count(ctx context.Context, text string) (int, error)
	Truncate(ctx context.Context, text string, limit int) (string, error)
}

// encodings holds the only instance of each encoding, for their vocabularies
// are large. The two that current models use have a counter of their own, the
// older two are tiktoken-go's.
var encodings = map[string]*Encoding{
	"cl100k_base": newEncoding("cl100k_base", exact),
	"o200k_base":  newEncoding("o200k_base", exact),
	"p50k_base":   newEncoding("p50k_base", library),
	"r50k_base":   newEncoding("r50k_base", library),
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
	name  string
	load  func() (counter, error)
	cache *countCache
}

func newEncoding(name string, load func(name string) (counter, error)) *Encoding {
	return &Encoding{
		name:  name,
		load:  sync.OnceValues(func() (counter, error) { return load(name) }),
		cache: newCountCache(cacheEntries),
	}
}

func exact(name string) (counter, error) { return bpe.Get(name) }

// Name returns the name, such as "cl100k_base".
func (e *Encoding) Name() string { return e.name }

// Count returns the number of tokens of each text. The first call loads the
// vocabulary. It returns early with the error of ctx.
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

// Truncate returns text if it has at most limit tokens, and else its longest
// prefix, on a character boundary, that has.
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
