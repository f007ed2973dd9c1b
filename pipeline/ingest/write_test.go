package ingest_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// wait waits before a write.
func (x *waiting) wait() error {
	if x.writes.Add(1) > 1 {
		return nil
	}
	select {
	case <-x.done:
	case <-time.After(time.Minute):
		x.Error("nothing is done while the first batch is written")
	}
	return x.err
}

func (x *waiting) Upsert(ctx context.Context, c retrieve.Collection, d ...retrieve.Document) error {
	if err := x.wait(); err != nil {
		return err
	}
	return x.Index.Upsert(ctx, c, d...)
}

// preparing waits until the second batch is prepared.
type preparing struct{ *waiting }

func (x preparing) Prepare(ctx context.Context, c retrieve.Collection, d ...retrieve.Document) (func(context.Context) error, error) {
	write, err := x.Index.(*sqlite.Index).Prepare(ctx, c, d...)
	if strings.HasSuffix(d[0].ID, "b.txt") {
		close(x.done)
	}
	return func(ctx context.Context) error {
		if err := x.wait(); err != nil {
			return err
		}
		return write(ctx)
	}, err
}

// A batch is embedded and prepared while the one before it is written, and is not written without it.
func TestWorkWhileWriting(t *testing.T) {
	for _, prepares := range []bool{false, true} {
		f := newFixture(t)
		for _, name := range []string{"a", "b", "c"} { // a batch each
			f.write(name+".txt", strings.Repeat(name+" "+strings.Repeat("word ", 100)+"\n\n", 4500))
		}
		for _, want := range []error{store.ErrBusy, nil} {
			x := &waiting{Index: f.index, T: t, done: make(chan struct{}), err: want}
			index, told := retrieve.Index(x), prepares
			if prepares {
				index = preparing{x}
			}
			f.o.Embedder = &fake{id: "m", make: func(texts []string) ([][]float32, error) {
				if !told && strings.HasPrefix(texts[0], "b") {
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
