package postgres

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/pgtest"
	"github.com/anchor-host/anchor-host/store"
)

// durable starts a server that syncs each commit.
func durable(b *testing.B) *Store {
	pgtest.Skip(b)
	server, err := pgtest.Start(pgtest.Options{Fsync: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(server.Close)
	return mustOpen(b, server.Fresh(b), Options{})
}

// BenchmarkAppend asks how many turns of 400 bytes a second 64 writers append, each to its own
// conversation, and what the slowest of a hundred waits.
func BenchmarkAppend(b *testing.B) {
	const writers = 64
	s := durable(b)
	data := fmt.Appendf(nil, "%q", strings.Repeat("x", 400))
	var left atomic.Int64
	left.Store(int64(b.N))
	waits := make([][]time.Duration, writers)
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range writers {
		wg.Go(func() {
			key := store.Key{Tenant: fmt.Sprintf("t%d", w%8), Kind: "turn", Stream: fmt.Sprintf("c%d", w)}
			for left.Add(-1) >= 0 {
				began := time.Now()
				if _, err := s.Append(b.Context(), key, store.Record{Data: data}); err != nil {
					b.Error(err)
					return
				}
				waits[w] = append(waits[w], time.Since(began))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	all := slices.Concat(waits...)
	slices.Sort(all)
	b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "appends/s")
	if len(all) > 0 {
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
	}
}

// BenchmarkWindow asks what reading the last 50 frames of a run costs.
func BenchmarkWindow(b *testing.B) {
	s := durable(b)
	key := store.Key{Tenant: "t", Kind: "frame", Stream: "r"}
	recs := make([]store.Record, 1000)
	for i := range recs {
		recs[i].Data = fmt.Appendf(nil, "%q", strings.Repeat("x", 400))
	}
	if _, err := s.Append(b.Context(), key, recs...); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if list, err := s.Last(b.Context(), key, 50); err != nil || len(list) != 50 {
			b.Fatal(len(list), err)
		}
	}
}
