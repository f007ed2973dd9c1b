package imports

import (
	"context"
	"fmt"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/pool"
)

const (
	// costTokenByte is the fuel for each byte of text to be tokenized.
	costTokenByte = 32
	// maxTokenText bounds a text whose tokens are counted, in bytes: several windows of the
	// largest models, and about 30 ms of work that nothing interrupts.
	maxTokenText = 1 << 20
)

// countTokens counts the tokens of a block with the host's tokenizer. It refuses texts so long
// that counting them would take too long; the guest can count them in parts.
func countTokens(c *guest.Call, s []uint64) {
	p := of(c)
	if !p.Counts {
		panic(denied("service count_tokens", asked("grants.services", c.Instance.Env.Foreign)))
	}
	text, _ := c.Instance.Kernel.Bytes(s[0])
	if len(text) > maxTokenText {
		panic(&guest.Fault{Reason: abi.ReasonInputTooLarge, Remedy: "count it in parts",
			Err: fmt.Errorf("anchor_count_tokens: text of %d bytes, allowed %d", len(text), maxTokenText)})
	}
	c.Spend(costTokenByte * int64(len(text)))
	ctx, cancel := c.Bounded()
	defer cancel()
	counts, err := p.Tokenizer.Count(ctx, string(text))
	if err != nil {
		c.Stop()
		panic(&guest.Fault{Reason: abi.ReasonTrap, Err: err})
	}
	s[0] = uint64(counts[0])
}

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
