package memory_test

import (
	"context"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
)

// lateReader is a store as one process sees it that is slow: after it has read, and
// before it writes, others do what they do.
type lateReader struct {
	store.Store
	others func()
}

func (s *lateReader) Read(ctx context.Context, key store.Key, after int64, limit int) ([]store.Record, error) {
	recs, err := s.Store.Read(ctx, key, after, limit)
	if others := s.others; others != nil {
		s.others = nil
		others()
	}
	return recs, err
}

// A fact that another process adds while this one looks whether it is there is found, and
// an id that another one takes is taken.
func TestAddWhileAnotherProcessAdds(t *testing.T) {
	for _, tc := range []struct {
		name          string
		theirs, ours  memory.Entry
		added, failed bool
		facts         int
	}{
		{"same fact", memory.Entry{ID: "a", Content: "x"}, memory.Entry{ID: "b", Content: "x"}, false, false, 1},
		{"another fact", memory.Entry{ID: "a", Content: "x"}, memory.Entry{ID: "b", Content: "y"}, true, false, 2},
		{"same id", memory.Entry{ID: "a", Content: "x"}, memory.Entry{ID: "a", Content: "y"}, false, true, 1},
	} {
		shared := store.NewMemory()
		late := &lateReader{Store: shared}
		theirs, ours := managerOf(t, shared), managerOf(t, late)
		late.others = func() {
			if _, added, err := theirs.Add(t.Context(), tc.theirs); err != nil || !added {
				t.Fatalf("%s: theirs: %t, %v", tc.name, added, err)
			}
		}
		_, added, err := ours.Add(t.Context(), tc.ours)
		if added != tc.added || (err != nil) != tc.failed {
			t.Errorf("%s: added %t, %v", tc.name, added, err)
		}
		if list, err := ours.List(t.Context(), memory.Filter{}); err != nil || len(list) != tc.facts {
			t.Errorf("%s: %d facts, %v, want %d", tc.name, len(list), err, tc.facts)
		}
	}
}

func managerOf(t *testing.T, s store.Store) *memory.Manager {
	t.Helper()
	m, err := memory.New(memory.Config{Facts: memory.NewStoreFacts(s, "t")})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
