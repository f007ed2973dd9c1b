package bpe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"unicode/utf8"
)

// ErrUnknownEncoding is returned by [Get] for a name that is not in [Names].
var ErrUnknownEncoding = errors.New("unknown encoding")

// definition has the properties of one encoding.
type definition struct {
	name  string
	next  func(c *cursor, i int) int
	frame int       // of packed
	ranks int       // see unpack
	once  sync.Once // sets the fields below
	made  *Encoding
	err   error
}

// definitions is in the order of [Names]. It needs no code at start, so that a program without
// encodings does not contain their vocabularies.
var definitions = [...]definition{
	{name: "cl100k_base", next: nextCL100K, frame: frameCL100K},
	{name: "o200k_base", next: nextO200K, frame: frameO200K},
	{name: "p50k_base", next: nextGPT2, frame: frameP50K},
	{name: "r50k_base", next: nextGPT2, frame: frameP50K, ranks: r50kTokens},
}

func (d *definition) load() (*Encoding, error) {
	d.once.Do(func() { d.made, d.err = load(d) })
	return d.made, d.err
}

// Names returns the names [Get] knows, newest family first.
func Names() []string {
	names := make([]string, len(definitions))
	for i := range definitions {
		names[i] = definitions[i].name
	}
	return names
}

// Get returns the encoding of that name. The first call for a name reads its
// vocabulary (5 to 20 ms); later calls return the same Encoding at once.
func Get(name string) (*Encoding, error) {
	d, err := lookup(name)
	if err != nil {
		return nil, err
	}
	return d.load()
}

func lookup(name string) (*definition, error) {
	for i := range definitions {
		if d := &definitions[i]; d.name == name {
			return d, nil
		}
	}
	return nil, fmt.Errorf("encoding %q: %w (one of %s)", name, ErrUnknownEncoding, strings.Join(Names(), ", "))
}

func load(d *definition) (*Encoding, error) {
	lengths, text, err := unpack(packed, d.frame, d.ranks)
	if err != nil {
		return nil, fmt.Errorf("encoding %q: read vocabulary: %w", d.name, err)
	}
	v, err := parseVocab(lengths, text)
	if err != nil {
		return nil, fmt.Errorf("encoding %q: parse vocabulary: %w", d.name, err)
	}
	e := &Encoding{name: d.name, maxLen: v.maxLen}
	classes() // build the table now, so that the first count need not
	e.pool.New = func() any { return newCounter(v, d.next) }
	return e, nil
}

// Encoding counts the tokens of one encoding. It is immutable, shared by all
// callers and safe for concurrent use.
type Encoding struct {
	name   string
	maxLen int       // bytes of the longest token
	pool   sync.Pool // of *counter
}

// Name returns the name of the encoding, as passed to Get.
func (e *Encoding) Name() string { return e.name }

// Count returns the number of tokens of text. The only error is that of ctx.
func (e *Encoding) Count(ctx context.Context, text string) (int, error) {
	n, _, err := e.CountTo(ctx, text, math.MaxInt)
	return n, err
}

// CountTo counts the tokens of text up to limit. When text has at most limit tokens, n is
// their number and exceeded is false. Otherwise n is limit, exceeded is true, and CountTo
// does not read the text after the limit. A negative limit counts as 0. The only error is
// that of ctx.
func (e *Encoding) CountTo(ctx context.Context, text string, limit int) (n int, exceeded bool, err error) {
	limit = max(limit, 0)
	if len(text)/e.maxLen > limit && ctx.Err() == nil {
		return limit, true, nil // the text is too long even if each token has the largest length
	}
	c := e.counter(ctx, text)
	defer e.release(c)
	n, _, exceeded = c.walk(limit)
	if c.stopped {
		return 0, false, fmt.Errorf("count tokens: %w", ctx.Err())
	}
	return min(n, limit), exceeded, nil
}

// Truncate returns the longest prefix of text that has at most limit tokens and
// does not end inside a character. The only error is that of ctx.
//
// No longer prefix has limit tokens or less, not even one that ends inside a word. There is
// one exception: the prefix ends within a single piece of more than 128 bytes, and the
// pattern would cut this piece into several if the text ended there. Then the prefix may
// lack a few characters.
func (e *Encoding) Truncate(ctx context.Context, text string, limit int) (string, error) {
	if limit <= 0 {
		return "", nil
	}
	text = e.atMost(text, limit)
	c := e.counter(ctx, text)
	defer e.release(c)
	n := len(text)
	if _, end, exceeded := c.walk(limit); exceeded {
		n = c.original(c.cut(end, limit))
	}
	if c.stopped {
		return "", fmt.Errorf("truncate to %d tokens: %w", limit, ctx.Err())
	}
	return text[:n], nil
}

// atMost returns a prefix of text that ends between two characters and is at least as long
// as every prefix with limit tokens.
func (e *Encoding) atMost(text string, limit int) string {
	if len(text)/e.maxLen <= limit {
		return text
	}
	n := limit * e.maxLen
	for step := 0; step < utf8.UTFMax-1 && n < len(text) && isContinuation(text[n]); step++ {
		n++
	}
	return text[:n]
}

func (e *Encoding) counter(ctx context.Context, text string) *counter {
	c := e.pool.Get().(*counter)
	c.reset(ctx.Done(), text)
	return c
}

func (e *Encoding) release(c *counter) {
	c.reset(nil, "")
	c.shrink()
	e.pool.Put(c)
}
