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
	"github.com/anchor-host/anchor-host/store"
)

// waiting is an index that writes the first batch after the second one was embedded, or fails then.
type waiting struct {
	retrieve.Index
	*testing.T
	second chan struct{}
	err    error
	writes atomic.Int32
}

func (x *waiting) Upsert(ctx context.Context, c retrieve.Collection, d ...retrieve.Document) error {
	if x.writes.Add(1) == 1 {
		select {
		case <-x.second:
		case <-time.After(time.Minute):
			x.Error("the second batch is not embedded while the first one is written")
		}
		if x.err != nil {
			return x.err
		}
	}
	return x.Index.Upsert(ctx, c, d...)
}

// A batch is embedded while the one before it is written, and is not written without it.
func TestEmbeddingWhileWriting(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"a", "b", "c"} { // a batch each
		f.write(name+".txt", strings.Repeat(name+" "+strings.Repeat("word ", 100)+"\n\n", 4500))
	}
	source := []ingest.Source{{Path: f.dir}}
	for _, want := range []error{store.ErrBusy, nil} {
		x := &waiting{Index: f.index, T: t, second: make(chan struct{}), err: want}
		told := false
		f.o.Embedder = &fake{id: "m", make: func(texts []string) ([][]float32, error) {
			if !told && strings.HasPrefix(texts[0], "b") {
				told = true
				close(x.second)
			}
			return nil, nil
		}}
		_, err := ingest.Run(t.Context(), x, source, f.o)
		if writes := x.writes.Load(); !errors.Is(err, want) || want != nil && writes != 1 || want == nil && writes != 3 {
			t.Errorf("error %v, %d writes", err, writes)
		}
	}
	if f.names() != "a.txt b.txt c.txt" {
		t.Errorf("documents: %s", f.names())
	}
}
