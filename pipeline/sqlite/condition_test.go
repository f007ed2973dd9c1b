package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

// both returns one store of each kind.
func both(t *testing.T) map[string]store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.Options{Sync: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return map[string]store.Store{"sqlite": s, "memory": store.NewMemory()}
}

// A change under a condition is made only as long as nobody else has written.
func TestIfNewest(t *testing.T) {
	for name, s := range both(t) {
		t.Run(name, func(t *testing.T) {
			ctx, key := t.Context(), store.Key{Tenant: "t", Kind: "k"}
			for _, tt := range []struct {
				newest int64
				want   error
			}{{1, store.ErrConflict}, {0, nil}, {0, store.ErrConflict}, {2, store.ErrConflict}, {1, nil}, {1, store.ErrConflict}, {-1, store.ErrConflict}} {
				err := s.Apply(ctx, store.Change{Key: key, Put: []store.Record{{Data: []byte("1")}}, IfNewest: &tt.newest})
				if !errors.Is(err, tt.want) {
					t.Errorf("newest %d: %v, want %v", tt.newest, err, tt.want)
				}
			}
			recs, err := s.Read(ctx, key, 0, 0)
			if err != nil || len(recs) != 2 {
				t.Errorf("%d records, %v", len(recs), err)
			}
			if _, err := s.Clear(ctx, key); err != nil {
				t.Fatal(err)
			}
			none := int64(0)
			if err := s.Apply(ctx, store.Change{Key: key, Put: []store.Record{{Data: []byte("1")}}, IfNewest: &none}); err != nil {
				t.Errorf("after all were deleted: %v", err)
			}
		})
	}
}

// A number that was raised is never given, also where the key has no record.
func TestLastSeq(t *testing.T) {
	for name, s := range both(t) {
		t.Run(name, func(t *testing.T) {
			ctx, key := t.Context(), store.Key{Tenant: "t", Kind: "k", Stream: "s"}
			for _, last := range []int64{7, 3} {
				if err := s.Apply(ctx, store.Change{Key: key, LastSeq: last}); err != nil {
					t.Fatal(err)
				}
			}
			got, err := s.(store.Counter).LastSeqs(ctx, "t")
			if err != nil || len(got) != 1 || got[key] != 7 {
				t.Errorf("numbers %v, %v", got, err)
			}
			if seq, err := s.Append(ctx, key, store.Record{Data: []byte("1")}); seq != 8 || err != nil {
				t.Errorf("appended as %d, %v, want 8", seq, err)
			}
			if err := s.Apply(ctx, store.Change{Key: key, LastSeq: store.MaxSeq + 1}); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("beyond the limit: %v", err)
			}
			if got, err := s.(store.Counter).LastSeqs(ctx, "other"); err != nil || len(got) != 0 {
				t.Errorf("of another tenant: %v, %v", got, err)
			}
		})
	}
}

// What was deleted is in no file after a checkpoint.
func TestCheckpointForgets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	key, secret := store.Key{Tenant: "t", Kind: "k"}, []byte("the secret of the well")
	if _, err := s.Append(t.Context(), key, store.Record{ID: "a", Data: []byte(`"` + string(secret) + `"`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete(t.Context(), key, "a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(file)
		if err != nil || bytes.Contains(data, secret) {
			t.Errorf("%s: %v, or it has what was deleted", file, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
}

// A change under the condition that records are as they were read is made only then.
func TestIfRecordsAreTheSame(t *testing.T) {
	for name, s := range both(t) {
		t.Run(name, func(t *testing.T) {
			ctx, key := t.Context(), store.Key{Tenant: "t", Kind: "k"}
			apply := func(want error, same ...store.Record) {
				t.Helper()
				err := s.Apply(ctx, store.Change{Key: key, Put: []store.Record{{ID: "a", Data: []byte("2")}}, If: same})
				if !errors.Is(err, want) {
					t.Errorf("%v: %v, want %v", same, err, want)
				}
			}
			apply(store.ErrConflict, store.Record{ID: "a"}) // a key without records
			if _, err := s.Append(ctx, key, store.Record{ID: "a", Data: []byte("1")}, store.Record{Data: []byte("1")}); err != nil {
				t.Fatal(err)
			}
			apply(store.ErrConflict, store.Record{ID: "a", Data: []byte("3")})
			apply(store.ErrConflict, store.Record{ID: "a", Data: []byte("1")}, store.Record{ID: "b"})
			apply(store.ErrConflict, store.Record{ID: store.AutoID(3)})
			apply(store.ErrInvalid, store.Record{})
			if r, err := s.Get(ctx, key, "a"); err != nil || string(r.Data) != "1" {
				t.Errorf("after changes that were refused: %s, %v", r.Data, err)
			}
			apply(nil, store.Record{ID: "a", Data: []byte("1")}, store.Record{ID: store.AutoID(2)})
			apply(store.ErrConflict, store.Record{ID: "a", Data: []byte("1")})
			if err := s.Apply(ctx, store.Change{Key: key, If: []store.Record{{ID: "b"}}}); !errors.Is(err, store.ErrConflict) {
				t.Errorf("a change that is only a condition: %v", err)
			}
		})
	}
}
