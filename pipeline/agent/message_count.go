package agent

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// countedTexts bounds each of the two generations of counts. A generation then takes about
// 1 MiB.
const countedTexts = 8192

// CounterConfig describes a counter. The zero value is valid.
type CounterConfig struct {
	// Tokenizer is DefaultEncoding when nil.
	Tokenizer pipeline.Tokenizer
	// Overhead is the number of tokens of a message besides its texts. 0 means
	// DefaultMessageOverhead, -1 none.
	Overhead int
}

// Counter counts the tokens of messages: those of the content or parts, the name, the tool
// calls, the tool call id and all other members, [core.MediaTokens] for an image or a
// document, and a constant for the rest. It remembers counts by text, in whatever message
// the text is, so that a growing list is counted only once. It is safe for concurrent use;
// providers and a chain may share one.
type Counter struct {
	tokenizer    pipeline.Tokenizer
	overhead     int
	seedA, seedB maphash.Seed

	mu         sync.Mutex
	young, old map[textKey]int
}

// textKey identifies a text by two seeded hashes and its length, so that the counter keeps
// no texts. The seeds differ from process to process, so nobody can prepare texts that
// collide.
type textKey struct {
	a, b uint64
	n    int
}

// NewCounter checks a configuration and returns a counter. The first count loads the
// vocabulary.
func NewCounter(cfg CounterConfig) (*Counter, error) {
	switch {
	case cfg.Overhead == 0:
		cfg.Overhead = core.DefaultMessageOverhead
	case cfg.Overhead == -1:
		cfg.Overhead = 0
	case cfg.Overhead < 0:
		return nil, fmt.Errorf("message counter: overhead %d: %w (want 0 or more, or -1 for none)", cfg.Overhead, pipeline.ErrInvalid)
	}
	if cfg.Tokenizer == nil {
		t, err := pipeline.EncodingTokenizer(pipeline.DefaultEncoding)
		if err != nil {
			return nil, err
		}
		cfg.Tokenizer = t
	}
	return &Counter{
		tokenizer: cfg.Tokenizer, overhead: cfg.Overhead,
		seedA: maphash.MakeSeed(), seedB: maphash.MakeSeed(), young: make(map[textKey]int),
	}, nil
}

// Tokenizer returns the tokenizer that counts.
func (c *Counter) Tokenizer() pipeline.Tokenizer { return c.tokenizer }

// Total returns the tokens of a list.
func (c *Counter) Total(ctx context.Context, messages []pipeline.Message) (int, error) {
	counts, err := c.Count(ctx, messages)
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum, err
}

// Count returns the tokens of each message. The error is that of the tokenizer, or of ctx.
func (c *Counter) Count(ctx context.Context, messages []pipeline.Message) ([]int, error) {
	counts := make([]int, len(messages))
	var texts uncounted
	for i := range messages { // before the lock, because the parts of a large message take time
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		counts[i] = c.overhead
		counts[i] += messages[i].CountedTexts(func(text string) { texts.add(c, i, text) })
	}
	unknown := c.look(&texts, counts)
	if len(unknown.texts) == 0 {
		return counts, nil
	}
	found, err := core.CountTexts(ctx, c.tokenizer, unknown.texts)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for j, n := range found {
		counts[unknown.places[j]] += n
		c.remember(unknown.keys[j], n)
	}
	return counts, nil
}

// uncounted has the texts without a known count, and the index of the message of each.
type uncounted struct {
	texts  []string
	keys   []textKey
	places []int
}

// add adds a text of message i.
func (u *uncounted) add(c *Counter, i int, text string) {
	if text != "" {
		key := textKey{maphash.String(c.seedA, text), maphash.String(c.seedB, text), len(text)}
		u.texts, u.keys, u.places = append(u.texts, text), append(u.keys, key), append(u.places, i)
	}
}

// look adds the known counts of texts to those of their messages. It returns the texts
// without a known count, in the same memory.
func (c *Counter) look(u *uncounted, counts []int) (unknown uncounted) {
	unknown = uncounted{u.texts[:0], u.keys[:0], u.places[:0]}
	c.mu.Lock()
	defer c.mu.Unlock()
	for j, key := range u.keys {
		n, ok := c.young[key]
		if !ok {
			if n, ok = c.old[key]; ok {
				c.remember(key, n)
			}
		}
		if ok {
			counts[u.places[j]] += n
			continue
		}
		unknown.texts = append(unknown.texts, u.texts[j])
		unknown.keys = append(unknown.keys, key)
		unknown.places = append(unknown.places, u.places[j])
	}
	return unknown
}

// remember keeps a count. When the young generation is full, it replaces the old one, which
// is dropped.
func (c *Counter) remember(key textKey, n int) {
	if len(c.young) >= countedTexts {
		c.young, c.old = make(map[textKey]int), c.young
	}
	c.young[key] = n
}
