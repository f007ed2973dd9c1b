package agent

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
	"github.com/anchor-host/anchor-host/pipeline/media"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// rememberedTexts bounds each of the two generations of counts. A generation then takes about
// 1 MiB.
const rememberedTexts = 8192

// CounterConfig describes a counter. The zero value is valid.
type CounterConfig struct {
	// Tokenizer is DefaultEncoding when nil.
	Tokenizer pipeline.Tokenizer
	// Model is the model whose provider's rules count images, documents and sounds. For an
	// empty or unknown name the bounds of all known rules apply.
	Model string
	// Overhead is the number of tokens of a message besides its texts. 0 means
	// DefaultMessageOverhead, -1 none.
	Overhead int
}

// Counter counts the tokens of messages: those of texts, names, tool calls with their ids and
// arguments, and members that nobody knows, those of images, documents and sounds by the rules
// of the model's provider ([media.OfMessage]), and a constant for the rest. A count is the upper
// end where the number is not known exactly. Reasoning, signatures and encrypted content are not counted, because
// their size says nothing about their tokens. A Counter remembers the counts of messages and
// of texts, in whatever message a text is, so that a growing list is counted only once. It is
// safe for concurrent use; providers and a chain may share one.
type Counter struct {
	tokenizer    pipeline.Tokenizer
	model        string
	overhead     int
	seedA, seedB maphash.Seed

	mu         sync.Mutex
	young, old map[textKey]span
}

// span is a number of tokens between two bounds.
type span struct{ low, high int }

func (s *span) add(o span) { s.low, s.high = values.Add(s.low, o.low), values.Add(s.high, o.high) }

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
		tokenizer: cfg.Tokenizer, model: cfg.Model, overhead: cfg.Overhead,
		seedA: maphash.MakeSeed(), seedB: maphash.MakeSeed(), young: make(map[textKey]span),
	}, nil
}

// Tokenizer returns the tokenizer that counts.
func (c *Counter) Tokenizer() pipeline.Tokenizer { return c.tokenizer }

// Total returns the tokens of a list.
func (c *Counter) Total(ctx context.Context, messages []pipeline.Message) (int, error) {
	_, high, err := c.Bounds(ctx, messages)
	return high, err
}

// Bounds returns the bounds of the tokens of a list. They are equal if the number is known.
func (c *Counter) Bounds(ctx context.Context, messages []pipeline.Message) (low, high int, err error) {
	counts, err := c.spans(ctx, messages)
	var sum span
	for _, n := range counts {
		sum.add(n)
	}
	return sum.low, sum.high, err
}

// Count returns the tokens of each message. The error is that of the tokenizer, or of ctx.
func (c *Counter) Count(ctx context.Context, messages []pipeline.Message) ([]int, error) {
	spans, err := c.spans(ctx, messages)
	if err != nil {
		return nil, err
	}
	counts := make([]int, len(spans))
	for i := range spans {
		counts[i] = spans[i].high
	}
	return counts, nil
}

func (c *Counter) spans(ctx context.Context, messages []pipeline.Message) ([]span, error) {
	counts := make([]span, len(messages))
	var texts uncounted
	var whole []wholeMessage
	for i := range messages { // before the lock, because the parts of a large message take time
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		counts[i] = span{c.overhead, c.overhead}
		if m := &messages[i]; m.Raw() != "" && !m.Changed() {
			w := wholeMessage{i, c.key(m.Raw())}
			w.key.n = ^w.key.n // the same text may also be that of a part
			if n, ok := c.known(w.key); ok {
				counts[i].add(n)
				continue
			}
			whole = append(whole, w)
		}
		read := costs{
			model: c.model, text: func(text string) { texts.add(c, i, text) },
			media: func(e media.Estimate) { counts[i].add(span{e.Low, e.High}) },
		}
		read.message(&messages[i])
	}
	unknown := c.look(&texts, counts)
	found, err := core.CountTexts(ctx, c.tokenizer, unknown.texts)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for j, n := range found {
		s := span{c.lowest(n), n}
		counts[unknown.places[j]].add(s)
		c.remember(unknown.keys[j], s)
	}
	for _, w := range whole {
		n := counts[w.at]
		c.remember(w.key, span{n.low - c.overhead, n.high - c.overhead})
	}
	return counts, nil
}

// lowest returns the lower end for a count of the tokenizer. A tokenizer that estimates counts
// the upper end.
func (c *Counter) lowest(n int) int {
	if e, ok := c.tokenizer.(interface{ Factors() (low, high float64) }); ok {
		if low, high := e.Factors(); high > low {
			return int(float64(max(0, n-1)) / high * low)
		}
	}
	return n
}

// Estimates says how the contents of messages that are not text were counted, in the order of the
// messages. It reads only the beginning of each content.
func (c *Counter) Estimates(messages []pipeline.Message) (all []Estimate) {
	for i := range messages {
		begin := len(all)
		c.estimate(messages[i].Parts, func(kind string, e media.Estimate) {
			for j := begin; j < len(all); j++ {
				if a := &all[j]; a.Kind == kind && a.Source == e.Source {
					a.Number, a.Low, a.High = a.Number+1, values.Add(a.Low, e.Low), values.Add(a.High, e.High)
					return
				}
			}
			all = append(all, Estimate{&i, kind, 1, e.Low, e.High, e.Source})
		})
	}
	return all
}

func (c *Counter) estimate(parts []message.Part, found func(kind string, e media.Estimate)) {
	for i := range parts {
		if e, ok := media.OfMessage(c.model, &parts[i]); ok {
			found(string(parts[i].Kind), e)
		}
		c.estimate(parts[i].Parts, found)
	}
}

// wholeMessage is a message without a known count that is as it was read, with the key of its
// JSON.
type wholeMessage struct {
	at  int
	key textKey
}

func (c *Counter) key(text string) textKey {
	return textKey{maphash.String(c.seedA, text), maphash.String(c.seedB, text), len(text)}
}

// known returns the count of a text or a message, if it is remembered.
func (c *Counter) known(key textKey) (n span, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok = c.young[key]; !ok {
		if n, ok = c.old[key]; ok {
			c.remember(key, n)
		}
	}
	return n, ok
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
		u.texts, u.keys, u.places = append(u.texts, text), append(u.keys, c.key(text)), append(u.places, i)
	}
}

// look adds the known counts of texts to those of their messages. It returns the texts
// without a known count, in the same memory.
func (c *Counter) look(u *uncounted, counts []span) (unknown uncounted) {
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
			counts[u.places[j]].add(n)
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
func (c *Counter) remember(key textKey, n span) {
	if len(c.young) >= rememberedTexts {
		c.young, c.old = make(map[textKey]span), c.young
	}
	c.young[key] = n
}
