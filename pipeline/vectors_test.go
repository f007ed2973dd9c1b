package pipeline

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// counting is an embedder of dimension dim. It counts its calls and texts.
type counting struct {
	dim          int
	calls, texts atomic.Int32
	embed        func(ctx context.Context) error
}

func (e *counting) Model(context.Context) (retrieve.Model, error) {
	return retrieve.Model{ID: "counting", Dimension: e.dim}, nil
}

func (e *counting) Embed(ctx context.Context, _ retrieve.Side, texts []string) ([][]float32, error) {
	e.calls.Add(1)
	e.texts.Add(int32(len(texts)))
	if e.embed != nil {
		if err := e.embed(ctx); err != nil {
			return nil, err
		}
	}
	out := make([][]float32, len(texts))
	for i := range out {
		out[i] = make([]float32, e.dim)
		out[i][0] = float32(len(texts[i]))
	}
	return out, nil
}

func texts(of ...string) (items []*Item) {
	for _, text := range of {
		items = append(items, &Item{Content: text})
	}
	return items
}

// Many steps that ask at once cause one call, and each text is embedded once in a build.
func TestVectorsAreMadeOnce(t *testing.T) {
	e := &counting{dim: 2}
	ctx := withVectors(t.Context(), e)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			got, err := ItemVectors(ctx, texts("a", "bb", "a", ""))
			if err != nil || got[1][0] != 2 || got[2][0] != 1 || got[3] != nil {
				t.Errorf("%v, %v", got, err)
			}
			if v, err := QueryVector(ctx, &Query{Text: "bb"}); err != nil || v[0] != 2 {
				t.Errorf("%v, %v", v, err)
			}
		})
	}
	all.Wait()
	if calls, n := e.calls.Load(), e.texts.Load(); calls != 2 || n != 3 {
		t.Errorf("%d calls for %d texts, want 2 for 3", calls, n)
	}
}

// A step that waits for vectors ends with its context, and a panic or an error of the embedder
// blocks nobody.
func TestVectorsDoNotBlock(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	e := &counting{dim: 2, embed: func(context.Context) error { close(entered); <-leave; return errors.New("no server") }}
	ctx := withVectors(t.Context(), e)
	first := make(chan error)
	go func() { _, err := ItemVectors(ctx, texts("a")); first <- err }()
	<-entered
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if _, err := QueryVector(short, &Query{Text: "q"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a waiting step: %v", err)
	}
	close(leave)
	if err := <-first; err == nil || !strings.Contains(err.Error(), "vectors of items: no server") {
		t.Errorf("error %v", err)
	}
	e.embed = func(context.Context) error { panic("embedder") }
	func() {
		defer func() { _ = recover() }()
		_, _ = ItemVectors(ctx, texts("a"))
		t.Error("no panic")
	}()
	e.embed = nil
	if v, err := ItemVectors(ctx, texts("a")); err != nil || v[0][0] != 1 {
		t.Errorf("after a panic: %v, %v", v, err)
	}
}

// Vectors that would not fit are refused before the embedder is asked.
func TestVectorsAreBounded(t *testing.T) {
	e := &counting{dim: retrieve.MaxDimension}
	var many []string
	for i := range maxVectorBytes/(4*retrieve.MaxDimension) + 1 {
		many = append(many, strings.Repeat("a", i+1))
	}
	_, err := ItemVectors(withVectors(t.Context(), e), texts(many...))
	if !errors.Is(err, ErrInvalid) || e.calls.Load() != 0 {
		t.Errorf("%v after %d calls", err, e.calls.Load())
	}
}

// An embedder whose model or vectors are not sound is an error, not a vector.
func TestUnsoundVectors(t *testing.T) {
	if _, err := ItemVectors(withVectors(t.Context(), &counting{}), texts("a")); err == nil || !strings.Contains(err.Error(), "dimension 0") {
		t.Errorf("a model without dimensions: %v", err)
	}
	it := &Item{Content: "x"}
	it.SetVector("counting", []float32{1, 2, 3}) // the same name, another dimension
	got, err := ItemVectors(withVectors(t.Context(), &counting{dim: 2}), []*Item{it})
	if err != nil || len(got[0]) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	other := &Item{Content: "y"}
	other.SetVector("counting", []float32{1})
	if got, err := ItemVectors(t.Context(), []*Item{{}, it, other}); err != nil || got[0] != nil || len(got[1]) != 3 || got[2] != nil {
		t.Errorf("without an embedder: %v, %v", got, err)
	}
}

// The diagnostics of a build say what was embedded.
func TestVectorsAreReported(t *testing.T) {
	asking := StepFunc(func(ctx context.Context, q *Query, items []Item) ([]Item, error) {
		_, err := ItemVectors(ctx, texts("a", "bb"))
		if err == nil {
			_, err = ItemVectors(ctx, texts("a"))
		}
		return items, err
	})
	p, err := New(Config{Tokenizer: WordTokenizer(), Embedder: &counting{dim: 2}, Steps: []StepConfig{{Name: "s", Step: asking}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Build(t.Context(), Query{Text: "q"})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Diagnostics.Services; len(got) != 1 || got[0].Service != "embed" || got[0].Name != "counting" || got[0].Calls != 1 || got[0].Texts != 2 {
		t.Errorf("%+v", got)
	}
}
