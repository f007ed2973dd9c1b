package tokens

import (
	"context"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/tokens/internal/lines"
)

// counter counts and cuts one text for an encoding.
type counter interface {
	Count(ctx context.Context, text string) (int, error)
	Truncate(ctx context.Context, text string, limit int) (string, error)
}

// Encoding is a vocabulary with the rules for cutting text into its tokens, and a bounded memory
// of recent counts. It is safe for concurrent use.
type Encoding struct {
	name   string
	digest string // SHA-256 of the vocabulary file, in hex
	// divide finds places for NextSplit.
	divide func(text string, from int) int
	load   func() (counter, error)
	cache  *countCache
}

func newEncoding(name, digest string, load func(name string) (counter, error)) *Encoding {
	divide := lines.After
	if strings.HasSuffix(name, "50k_base") {
		divide = lines.Before
	}
	return &Encoding{
		name: name, digest: digest, divide: divide,
		load:  sync.OnceValues(func() (counter, error) { return load(name) }),
		cache: newCountCache(cacheEntries),
	}
}

// Name returns the name, such as "cl100k_base", or the name of the file.
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
