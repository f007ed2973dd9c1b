package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/indextest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

func TestIndexContract(t *testing.T) {
	indextest.Run(t, func(t *testing.T) retrieve.Index {
		return mustOpen(t, filepath.Join(t.TempDir(), "store.db"), Options{Sync: Normal}).Index()
	})
}

// A cache that is too small for any collection changes nothing.
func TestIndexContractWithoutCache(t *testing.T) {
	indextest.Run(t, func(t *testing.T) retrieve.Index {
		return mustOpen(t, filepath.Join(t.TempDir(), "store.db"), Options{Sync: Normal, IndexCache: 1}).Index()
	})
}

// What was prepared for a collection is not written to what has taken its place.
func TestPreparedForAnother(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	x, col, no := s.Index(), retrieve.Collection{Tenant: "t", Name: "c"}, false
	create := func(settings retrieve.Settings) error { return x.Create(t.Context(), col, settings) }
	for name, c := range map[string]struct {
		change func() error
		want   error
	}{
		"nothing":           {func() error { return nil }, nil},
		"removed":           {func() error { return x.Remove(t.Context(), col) }, retrieve.ErrNotFound},
		"made anew":         {func() error { return errors.Join(x.Remove(t.Context(), col), create(retrieve.Settings{})) }, store.ErrConflict},
		"made otherwise":    {func() error { return errors.Join(x.Remove(t.Context(), col), create(retrieve.Settings{Stem: &no})) }, store.ErrConflict},
		"of another model":  {func() error { return x.SetModel(t.Context(), col, retrieve.Model{ID: "m", Dimension: 2}) }, store.ErrConflict},
		"written by others": {func() error { return x.Upsert(t.Context(), col, retrieve.Document{ID: "d"}) }, nil},
	} {
		if err := create(retrieve.Settings{}); err != nil {
			t.Fatal(err)
		}
		write, err := x.Prepare(t.Context(), col, retrieve.Document{ID: "d", Chunks: []retrieve.Chunk{{Text: "word"}}})
		if err := errors.Join(err, c.change()); err != nil {
			t.Fatal(err)
		}
		if err := write(t.Context()); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
		hits, err := x.Search(t.Context(), col, retrieve.Query{Text: "word", By: retrieve.ByWords})
		if c.want == nil != (len(hits) == 1) {
			t.Errorf("%s: %d hits, %v", name, len(hits), err)
		}
		if err := x.Remove(t.Context(), col); err != nil && !errors.Is(err, retrieve.ErrNotFound) {
			t.Fatal(err)
		}
	}
}
