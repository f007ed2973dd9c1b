package memory_test

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/store/sqlite"
)

// Managers that know nothing of one another, as those of several processes, add one fact
// once.
func TestOneFactFromManyProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	const processes, facts = 4, 10
	var added atomic.Int32
	var running sync.WaitGroup
	var last *memory.Manager
	for range processes {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{Sync: sqlite.Normal})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		m, err := memory.New(memory.Config{Facts: memory.NewStoreFacts(s, "t")})
		if err != nil {
			t.Fatal(err)
		}
		last = m
		running.Go(func() {
			for i := range facts {
				_, isNew, err := m.Add(t.Context(), memory.Entry{Content: string(rune('a' + i))})
				if err != nil {
					t.Error(err)
				}
				if isNew {
					added.Add(1)
				}
			}
		})
	}
	running.Wait()
	if list, err := last.List(t.Context(), memory.Filter{}); err != nil || len(list) != facts || added.Load() != facts {
		t.Errorf("%d facts, %d said to be new, %v, want %d", len(list), added.Load(), err, facts)
	}
}
