package assemble

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/anchor-host/anchor-host/pipeline"
)

// errTokenizer is the error of counting before the tokenizer is loaded: a plugin counted
// tokens in its init, or the tokenizer plugin could not be loaded.
var errTokenizer = errors.New("tokenizer plugin is not loaded yet")

// lateTokenizer is a tokenizer that is set after the host was opened with it.
type lateTokenizer struct {
	current atomic.Pointer[pipeline.Tokenizer]
}

func (l *lateTokenizer) set(t pipeline.Tokenizer) { l.current.Store(&t) }

// Name names the tokenizer.
func (l *lateTokenizer) Name() string {
	if t := l.current.Load(); t != nil {
		return (*t).Name()
	}
	return "plugin"
}

// Count counts with the tokenizer.
func (l *lateTokenizer) Count(ctx context.Context, texts ...string) ([]int, error) {
	if t := l.current.Load(); t != nil {
		return (*t).Count(ctx, texts...)
	}
	return nil, errTokenizer
}

// Truncate truncates with the tokenizer.
func (l *lateTokenizer) Truncate(ctx context.Context, text string, max int) (string, error) {
	if t := l.current.Load(); t != nil {
		return (*t).Truncate(ctx, text, max)
	}
	return "", errTokenizer
}

// hostTokenizer counts the texts that plugins add. During a build it uses the tokenizer of the
// build. Outside of builds it uses that of the first [Pipeline] of the generation that was compiled.
type hostTokenizer struct {
	first atomic.Pointer[pipeline.Tokenizer]
}

// tokenizerKey is the key of the tokenizer of a build in its context.
type tokenizerKey struct{}

// counting returns a context in which the host counts with t.
func (h *hostTokenizer) counting(ctx context.Context, t pipeline.Tokenizer) context.Context {
	if first := h.first.Load(); first != nil && *first == t {
		return ctx
	}
	return context.WithValue(ctx, tokenizerKey{}, t)
}

// begin sets the tokenizer for use outside of builds, unless one is set. The returned function
// removes it again if the pipeline cannot be compiled.
func (h *hostTokenizer) begin(t pipeline.Tokenizer) (takeBack func()) {
	own := &t
	h.first.CompareAndSwap(nil, own)
	return func() { h.first.CompareAndSwap(own, nil) }
}

// outside returns the tokenizer for use outside of builds. If none is set, it returns one that
// fails as not loaded.
func (h *hostTokenizer) outside() pipeline.Tokenizer {
	if first := h.first.Load(); first != nil {
		return *first
	}
	return new(lateTokenizer)
}

// Name names the tokenizer outside of builds.
func (h *hostTokenizer) Name() string { return h.outside().Name() }

// Count counts with the tokenizer of the build.
func (h *hostTokenizer) Count(ctx context.Context, texts ...string) ([]int, error) {
	if t, ok := ctx.Value(tokenizerKey{}).(pipeline.Tokenizer); ok {
		return t.Count(ctx, texts...)
	}
	return h.outside().Count(ctx, texts...)
}
