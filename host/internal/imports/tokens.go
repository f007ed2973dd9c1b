package imports

import (
	"context"
	"fmt"
	"sync"

	"github.com/anchor-host/anchor-host/host/internal/pool"
)

// Vocabulary counts the tokens of texts. It is safe for concurrent use.
type Vocabulary interface {
	// Name identifies the vocabulary: those of the same name count the same.
	Name() string
	// Count returns the number of tokens of each text, in order.
	Count(ctx context.Context, texts ...string) ([]int, error)
}

// Tokenizer counts tokens with a vocabulary, which it loads when it is first needed. It is
// safe for concurrent use.
type Tokenizer struct {
	given Vocabulary
	read  func() (Vocabulary, error)
	once  sync.Once
	// loaded is closed when given, or err, is there.
	loaded chan struct{}
	err    error
}

// NewTokenizer returns a tokenizer with the vocabulary given, or with the one that read
// returns if given is nil.
func NewTokenizer(given Vocabulary, read func() (Vocabulary, error)) *Tokenizer {
	return &Tokenizer{given: given, read: read}
}

// Load returns the vocabulary, and loads it when it is first needed. It returns when ctx ends,
// while the loading goes on. Errors are those of ctx and of the loading.
func (t *Tokenizer) Load(ctx context.Context) (Vocabulary, error) {
	t.once.Do(func() {
		t.loaded = make(chan struct{})
		if t.given != nil {
			close(t.loaded)
			return
		}
		go func() {
			defer close(t.loaded)
			t.given, t.err = t.read()
		}()
	})
	if err := pool.WaitFor(ctx, t.loaded); err != nil {
		return nil, err
	}
	return t.given, t.err
}

// Count returns the number of tokens of each text, in order. Errors are those of Load and of
// the vocabulary.
func (t *Tokenizer) Count(ctx context.Context, texts ...string) ([]int, error) {
	v, err := t.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load tokenizer: %w", err)
	}
	counts, err := v.Count(ctx, texts...)
	if err != nil {
		return nil, fmt.Errorf("count tokens: %w", err)
	}
	if len(counts) != len(texts) {
		return nil, fmt.Errorf("count tokens: tokenizer %q returned %d counts for %d texts", v.Name(), len(counts), len(texts))
	}
	return counts, nil
}
