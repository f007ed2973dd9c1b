package ingest_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

// waiting is an index that writes the first batch after something else was done, or fails then.
type waiting struct {
	retrieve.Index
	*testing.T
	done   chan struct{}
	err    error
	writes atomic.Int32
}

func (x *waiting) wait(what string) {
	select {
	case <-x.done:
	case <-time.After(time.Minute):
		x.Error("nothing is done while a batch is", what)
	}
}

// write waits before the first write.
func (x *waiting) write() error {
	if x.writes.Add(1) > 1 {
		return nil
	}
	x.wait("written")
	return x.err
}

func (x *waiting) Upsert(ctx context.Context, c retrieve.Collection, d ...retrieve.Document) error {
	if err := x.write(); err != nil {
		return err
	}
	return x.Index.Upsert(ctx, c, d...)
}

// preparing is one that prepares the second batch after something else was done.
type preparing struct{ *waiting }

func (x preparing) Prepare(ctx context.Context, c retrieve.Collection, d ...retrieve.Document) (func(context.Context) error, error) {
	if strings.HasSuffix(d[0].ID, "b.txt") {
		x.wait("prepared")
	}
	write, err := x.Index.(*sqlite.Index).Prepare(ctx, c, d...)
	return func(ctx context.Context) error {
		if err := x.write(); err != nil {
			return err
		}
		return write(ctx)
	}, err
}

// writeBatches writes files of a batch each.
func (f *fixture) writeBatches() {
	for _, name := range []string{"a", "b", "c"} {
		f.write(name+".txt", strings.Repeat(name+" "+strings.Repeat("word ", 100)+"\n\n", 4500))
	}
}

// A batch is embedded while the one before it is prepared and the one before that written, and is not written without them.
func TestWorkWhileWriting(t *testing.T) {
	for _, prepares := range []bool{false, true} {
		f := newFixture(t)
		f.writeBatches()
		for _, want := range []error{store.ErrBusy, nil} {
			x := &waiting{Index: f.index, T: t, done: make(chan struct{}), err: want}
			index, embedded, told := retrieve.Index(x), "b", false
			if prepares {
				index, embedded = preparing{x}, "c"
			}
			f.o.Embedder = &fake{id: "m", make: func(texts []string) ([][]float32, error) {
				if !told && strings.HasPrefix(texts[0], embedded) {
					told = true
					close(x.done)
				}
				return nil, nil
			}}
			_, err := ingest.Run(t.Context(), index, []ingest.Source{{Path: f.dir}}, f.o)
			if writes := x.writes.Load(); !errors.Is(err, want) || want != nil && writes != 1 || want == nil && writes != 3 {
				t.Errorf("prepares: %v, error %v, %d writes", prepares, err, writes)
			}
		}
		if f.names() != "a.txt b.txt c.txt" {
			t.Errorf("documents: %s", f.names())
		}
	}
}

// A run that ends while a batch is written writes it, because its vectors were paid for.
func TestEndWhileWriting(t *testing.T) {
	f := newFixture(t)
	f.writeBatches()
	ctx, cancel := context.WithCancel(t.Context())
	x := &waiting{Index: f.index, T: t, done: make(chan struct{})}
	f.o.Embedder = &fake{id: "m", make: func(texts []string) ([][]float32, error) {
		if strings.HasPrefix(texts[0], "b") && ctx.Err() == nil {
			cancel()
			close(x.done)
		}
		return nil, nil
	}}
	if _, err := ingest.Run(ctx, x, []ingest.Source{{Path: f.dir}}, f.o); !errors.Is(err, context.Canceled) || !strings.HasPrefix(f.names(), "a.txt") {
		t.Errorf("error %v, documents: %s", err, f.names())
	}
}

// contexting gives contexts that were paid for.
type contexting func(d *retrieve.Document) error

func (f contexting) Name() string { return "paid" }

func (f contexting) Contexts(_ context.Context, d *retrieve.Document, c []*retrieve.Chunk) ([]string, error) {
	return make([]string, len(c)), f(d)
}

// So are contexts.
func TestEndWhileWritingContexts(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		f.write(name+".txt", "text")
	}
	ctx, cancel := context.WithCancel(t.Context())
	x := &waiting{Index: f.index, T: t, done: make(chan struct{})}
	f.o.Contexts = contexting(func(d *retrieve.Document) error {
		if !strings.HasSuffix(d.ID, "d.txt") {
			return nil
		}
		cancel()
		close(x.done)
		return ctx.Err()
	})
	if _, err := ingest.Run(ctx, preparing{x}, []ingest.Source{{Path: f.dir}}, f.o); !errors.Is(err, context.Canceled) || f.names() != "a.txt b.txt c.txt" {
		t.Errorf("error %v, documents: %s", err, f.names())
	}
}

// freeing is an index that needs no documents once they are prepared.
type freeing struct {
	*sqlite.Index
	t *testing.T
}

func (x freeing) Prepare(ctx context.Context, c retrieve.Collection, d ...retrieve.Document) (func(context.Context) error, error) {
	first := weak.Make(&d[0])
	write, err := x.Index.Prepare(ctx, c, d...)
	return func(ctx context.Context) error {
		for range 100 {
			if runtime.GC(); first.Value() == nil {
				return write(ctx)
			}
			time.Sleep(time.Millisecond)
		}
		x.t.Error("documents that were prepared are kept until they are written")
		return write(ctx)
	}, err
}

// A batch that was prepared does not take memory twice while it is written.
func TestPreparedIsFreed(t *testing.T) {
	f := newFixture(t)
	f.write("a.txt", "text")
	f.o.Embedder = &fake{id: "m"}
	report, err := ingest.Run(t.Context(), freeing{f.index.(*sqlite.Index), t}, []ingest.Source{{Path: f.dir}}, f.o)
	if err != nil || report.Documents != 1 || report.Chunks != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

// A run that ends because of one batch tells that another was not written either.
func TestBothErrorsAreTold(t *testing.T) {
	f := newFixture(t)
	f.writeBatches()
	x := &waiting{Index: f.index, T: t, done: make(chan struct{}), err: store.ErrBusy}
	f.o.Embedder = &fake{id: "m", make: func(texts []string) ([][]float32, error) {
		if strings.HasPrefix(texts[0], "b") {
			close(x.done)
			return nil, retrieve.ErrUnavailable
		}
		return nil, nil
	}}
	if _, err := ingest.Run(t.Context(), x, []ingest.Source{{Path: f.dir}}, f.o); !errors.Is(err, retrieve.ErrUnavailable) || !errors.Is(err, store.ErrBusy) {
		t.Errorf("error %v", err)
	}
}
