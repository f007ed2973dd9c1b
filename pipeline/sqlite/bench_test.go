package sqlite

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/store"
)

// turn is about as large as a turn of a conversation is.
var turn = store.Record{Data: json.RawMessage(`{"role":"user","text":"` + strings.Repeat("lorem ipsum ", 35) + `"}`)}

func conversation(n int) store.Key {
	return store.Key{Tenant: store.DefaultTenant, Kind: "turn", Stream: fmt.Sprintf("conversation-%d", n)}
}

// BenchmarkAppend asks what a synced append costs when 64 writers share the commits:
// all of one conversation, or each of its own.
func BenchmarkAppend(b *testing.B) {
	for _, streams := range []int{1, 64} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			s := mustOpen(b, filepath.Join(b.TempDir(), "store.db"), Options{})
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for w := range 64 {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := s.Append(b.Context(), conversation(w%streams), turn); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// BenchmarkAppendAlone asks what a lone writer pays for each sync.
func BenchmarkAppendAlone(b *testing.B) {
	for _, sync := range []Sync{Full, Normal} {
		b.Run(string(sync), func(b *testing.B) {
			s := mustOpen(b, filepath.Join(b.TempDir(), "store.db"), Options{Sync: sync})
			for b.Loop() {
				if _, err := s.Append(b.Context(), conversation(0), turn); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchRecords is how many records the benchmarks of a full store load: a million
// takes half a minute.
func benchRecords() int {
	if longTests {
		return 1_000_000
	}
	return 100_000
}

// loaded is a store of 100 conversations.
func loaded(b *testing.B) *Store {
	s := mustOpen(b, filepath.Join(b.TempDir(), "store.db"), Options{})
	const streams, batch = 100, 500
	recs := make([]store.Record, batch)
	for i := range recs {
		recs[i] = turn
	}
	var wg sync.WaitGroup
	for c := range streams {
		wg.Go(func() {
			for range benchRecords() / streams / batch {
				if _, err := s.Append(b.Context(), conversation(c), recs...); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return s
}

// BenchmarkLoaded asks what calls cost in a store that is full of records.
func BenchmarkLoaded(b *testing.B) {
	s := loaded(b)
	b.Run("last50", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if recs, err := s.Last(b.Context(), conversation(i%100), 50); err != nil || len(recs) != 50 {
				b.Fatalf("have %d records, %v", len(recs), err)
			}
		}
	})
	b.Run("get", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := s.Get(b.Context(), conversation(i%100), store.AutoID(int64(1+i%1000))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("keys", func(b *testing.B) {
		for b.Loop() {
			if keys, err := s.Keys(b.Context(), store.DefaultTenant, "turn"); err != nil || len(keys) != 100 {
				b.Fatalf("have %d keys, %v", len(keys), err)
			}
		}
	})
	b.Run("append", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := s.Append(b.Context(), conversation(i%100), turn); err != nil {
				b.Fatal(err)
			}
		}
	})
}
