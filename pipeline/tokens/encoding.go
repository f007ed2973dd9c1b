package tokens

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// ErrUnknownEncoding marks a name that no encoding has.
var ErrUnknownEncoding = errors.New("unknown encoding")

// The split patterns of the encodings.
const (
	patternGPT2  = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	patternCL100 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternO200  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

const (
	// longText is the length in bytes from which a count runs in its own
	// goroutine, so that the caller can give it up. The worst text below it
	// takes some 4 ms.
	longText = 4 << 10
	// maxLongCounts bounds the long counts that run at the same time, given up
	// or not: hostile text may keep this many processors busy, not all.
	maxLongCounts = 2
)

// encodings holds the only instance of each encoding: vocabularies take 20 to
// 40 MiB once loaded.
var encodings = map[string]*Encoding{
	"cl100k_base": newEncoding("cl100k_base", patternCL100),
	"o200k_base":  newEncoding("o200k_base", patternO200),
	"p50k_base":   newEncoding("p50k_base", patternGPT2),
	"r50k_base":   newEncoding("r50k_base", patternGPT2),
}

// longCounts holds a token per long count that is running.
var longCounts = make(chan struct{}, maxLongCounts)

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
	name    string
	pattern string
	load    func() (*tiktoken.Tiktoken, error)
	cache   *countCache
}

func newEncoding(name, pattern string) *Encoding {
	return &Encoding{
		name:    name,
		pattern: pattern,
		load:    sync.OnceValues(func() (*tiktoken.Tiktoken, error) { return loadVocabulary(name, pattern) }),
		cache:   newCountCache(cacheEntries),
	}
}

// loadVocabulary builds the encoder without touching the loader that
// tiktoken-go keeps in a global, which belongs to the program.
func loadVocabulary(name, pattern string) (*tiktoken.Tiktoken, error) {
	ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
	if err != nil {
		return nil, fmt.Errorf("encoding %q: read embedded vocabulary: %w", name, err)
	}
	bpe, err := tiktoken.NewCoreBPE(ranks, nil, pattern)
	if err != nil {
		return nil, fmt.Errorf("encoding %q: build encoder: %w", name, err)
	}
	return tiktoken.NewTiktoken(bpe, nil, nil), nil
}

// Name returns the name, such as "cl100k_base".
func (e *Encoding) Name() string { return e.name }

// Count returns the number of tokens of each text. The first call loads the
// vocabulary (50 to 250 ms). It returns early with the error of ctx.
func (e *Encoding) Count(ctx context.Context, texts ...string) ([]int, error) {
	counts := make([]int, len(texts))
	misses := e.cache.lookup(texts, counts)
	for _, i := range misses {
		ids, err := e.encode(ctx, texts[i])
		if err != nil {
			return nil, err
		}
		counts[i] = len(ids)
	}
	e.cache.store(texts, counts, misses)
	return counts, ctx.Err()
}

// Truncate returns text if it has at most limit tokens. Otherwise it cuts the
// text after a token, on a character boundary, so that what remains has at most
// limit tokens when it is counted again. Invalid bytes come back as U+FFFD.
func (e *Encoding) Truncate(ctx context.Context, text string, limit int) (string, error) {
	if limit <= 0 {
		return "", ctx.Err()
	}
	ids, err := e.encode(ctx, text)
	if err != nil || len(ids) <= limit {
		return text, err
	}
	enc, err := e.load()
	if err != nil {
		return "", err
	}
	// Counting the cut text again may group its end differently, and then a
	// token less is tried.
	for n := limit; n > 0; n-- {
		cut := trimPartialRune(enc.Decode(ids[:n]))
		again, err := e.encode(ctx, cut)
		if err != nil {
			return "", err
		}
		if len(again) <= limit {
			return cut, nil
		}
	}
	return "", nil
}

// encode returns the token ids of text, or the error of ctx.
func (e *Encoding) encode(ctx context.Context, text string) ([]int, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	enc, err := e.load()
	if err != nil {
		return nil, err
	}
	if len(text) < longText || ctx.Done() == nil {
		return encodeOrdinary(enc, text)
	}
	return encodeLong(ctx, enc, text)
}

// encodeLong encodes in a goroutine that outlives ctx if it must.
func encodeLong(ctx context.Context, enc *tiktoken.Tiktoken, text string) ([]int, error) {
	select {
	case longCounts <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	type outcome struct {
		ids []int
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() { <-longCounts }()
		ids, err := encodeOrdinary(enc, text)
		done <- outcome{ids, err}
	}()
	select {
	case out := <-done:
		return out.ids, out.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// encodeOrdinary keeps a panic of the library from reaching the caller: the
// text may come from anywhere.
func encodeOrdinary(enc *tiktoken.Tiktoken, text string) (ids []int, err error) {
	defer func() {
		if r := recover(); r != nil {
			ids, err = nil, fmt.Errorf("tokenizer: encode %d bytes: panic: %v", len(text), r)
		}
	}()
	return enc.EncodeOrdinary(text), nil
}

// trimPartialRune drops the bytes of a character that a cut between two tokens
// left incomplete.
func trimPartialRune(s string) string {
	for len(s) > 0 {
		if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size > 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}
