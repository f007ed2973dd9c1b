package pipeline

import (
	"context"
	"sync/atomic"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/tokens"
)

// DefaultEncoding is the tokenizer of a pipeline whose configuration names none.
const DefaultEncoding = "cl100k_base"

// TokenizerNames lists the names that [EncodingTokenizer] knows.
func TokenizerNames() []string {
	return append([]string{tokens.WordsName}, tokens.Names()...)
}

// WordTokenizer counts white-space separated words; blank text counts 0.
func WordTokenizer() Tokenizer { return tokens.Words{} }

// EncodingTokenizer returns the tokenizer of that name: "words", "cl100k_base",
// "o200k_base", "p50k_base" or "r50k_base". The vocabularies are part of the program; the
// first count loads them. The error wraps [tokens.ErrUnknownEncoding].
func EncodingTokenizer(name string) (Tokenizer, error) {
	if name == tokens.WordsName {
		return tokens.Words{}, nil
	}
	enc, err := tokens.Get(name)
	if err != nil {
		return nil, err
	}
	return enc, nil
}

// ModelTokenizer returns the tokenizer of a model, such as "gpt-4o" or
// "claude-sonnet-4-5"; see [tokens.LookupModel] for the names. For a model whose vocabulary
// is not public it returns a new [*tokens.Estimator]. This counts the upper end of its
// estimate, and becomes more precise with the usage figures passed to its calibration.
//
// For an unknown model it returns a wide estimate together with an error that wraps
// [tokens.ErrUnknownModel], which is a warning.
func ModelTokenizer(model string) (Tokenizer, error) {
	m, unknown := tokens.LookupModel(model)
	enc, err := tokens.Get(m.Encoding)
	if err != nil || m.Exact() {
		return enc, err
	}
	c, err := tokens.NewCalibration(m.Low, m.High)
	if err != nil {
		return nil, err
	}
	warning := ""
	if unknown != nil {
		warning = unknown.Error()
	}
	e := tokens.NewEstimator(m.Family, enc, c).WithOrigin(m.Source, warning)
	return e, unknown
}

// FileTokenizer returns the tokenizer that a tokenizer.json describes, in the format of Hugging
// Face; see [tokens.ReadFile]. Reading may take a second, so keep the tokenizer.
func FileTokenizer(path string) (Tokenizer, error) {
	enc, err := tokens.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return enc, nil
}

// FallbackTokenizer counts with a first tokenizer until that fails, and with a second one
// from then on. Counts of different tokenizers do not go together. So if the first
// tokenizer fails during a build, the build counts everything again, and notes that
// [TokenizerPart] was skipped. A FallbackTokenizer serves one build, or several that are to
// count with the same tokenizer. It is safe for concurrent use.
type FallbackTokenizer struct {
	first, second Tokenizer
	failure       atomic.Pointer[error]
}

// NewFallbackTokenizer returns a tokenizer of two, neither of which may be nil.
func NewFallbackTokenizer(first, second Tokenizer) *FallbackTokenizer {
	return &FallbackTokenizer{first: first, second: second}
}

// Failure returns the error with which the first tokenizer failed, nil while it counts.
func (t *FallbackTokenizer) Failure() error {
	if err := t.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Second returns the tokenizer that counts when the first has failed.
func (t *FallbackTokenizer) Second() Tokenizer { return t.second }

// failed reports whether the first tokenizer itself has failed. An error because the
// caller's context has ended is not its failure. failed keeps the first failure.
func (t *FallbackTokenizer) failed(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	t.failure.CompareAndSwap(nil, &err)
	return true
}

// Name returns the name of the tokenizer that counts now.
func (t *FallbackTokenizer) Name() string {
	if t.Failure() != nil {
		return t.second.Name()
	}
	return t.first.Name()
}

// Count implements [Tokenizer]. A first tokenizer that panics or that answers with something
// other than a count for each text has failed.
func (t *FallbackTokenizer) Count(ctx context.Context, texts ...string) ([]int, error) {
	if t.Failure() == nil {
		counts, err := core.CountTexts(ctx, t.first, texts)
		if !t.failed(ctx, err) {
			return counts, err
		}
	}
	return t.second.Count(ctx, texts...)
}

// Truncate implements [Tokenizer].
func (t *FallbackTokenizer) Truncate(ctx context.Context, text string, max int) (string, error) {
	if t.Failure() == nil {
		head, err := guarded(ctx, func(ctx context.Context) (string, error) { return t.first.Truncate(ctx, text, max) })
		if !t.failed(ctx, err) {
			return head, err
		}
	}
	return t.second.Truncate(ctx, text, max)
}
