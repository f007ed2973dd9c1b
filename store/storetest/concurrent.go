package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/store"
)

// The load of the concurrent tests: small enough for the race detector.
const (
	writers   = 16
	perWriter = 25
)

func concurrentWriters(t *testing.T, s store.Store) {
	var wg sync.WaitGroup
	acked := make([][]int64, writers)
	for w := range writers {
		wg.Go(func() {
			for i := range perWriter {
				seq, err := s.Append(t.Context(), turns, store.Record{ID: fmt.Sprintf("%d.%d", w, i), Data: data([]int{w, i})})
				if err != nil {
					t.Error(err)
					return
				}
				acked[w] = append(acked[w], seq)
			}
		})
	}
	wg.Wait()
	list, err := s.Read(t.Context(), turns, 0, 0)
	must(t, err)
	if len(list) != writers*perWriter {
		t.Fatalf("records: have %d, want %d", len(list), writers*perWriter)
	}
	for i, r := range list {
		if r.Seq != int64(i+1) {
			t.Fatalf("record %d has seq %d", i+1, r.Seq)
		}
	}
	for w, seqs := range acked {
		if !slices.IsSorted(seqs) {
			t.Errorf("writer %d: numbers went back: %v", w, seqs)
		}
		for i, seq := range seqs {
			if have := show(list[seq-1]); have != fmt.Sprintf("%d:%d.%d=[%d,%d]", seq, w, i, w, i) {
				t.Errorf("acknowledged %d of writer %d: have %s", i, w, have)
			}
		}
	}
}

func concurrentBatches(t *testing.T, s store.Store) {
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range perWriter / 5 {
				first, err := s.Append(t.Context(), turns, recs(3)...)
				if err != nil {
					t.Error(err)
					return
				}
				if w%2 == 0 {
					continue
				}
				if n, err := s.Delete(t.Context(), turns, store.AutoID(first), store.AutoID(first+1), store.AutoID(first+2)); err != nil || n != 3 {
					t.Errorf("delete of a batch: have %d, %v", n, err)
				}
			}
		})
	}
	wg.Wait()
	list, err := s.Read(t.Context(), turns, 0, 0)
	must(t, err)
	if want := writers / 2 * (perWriter / 5) * 3; len(list) != want {
		t.Fatalf("records: have %d, want %d", len(list), want)
	}
	for i, r := range list {
		if first := list[i-i%3].Seq; r.Seq != first+int64(i%3) || string(r.Data) != fmt.Sprint(i%3+1) {
			t.Fatalf("a batch is torn at %s", show(r))
		}
	}
}

func readersSeeWhole(t *testing.T, s store.Store) {
	var wg, readers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				list, err := s.Read(t.Context(), turns, 0, 0)
				if err != nil || len(list)%2 != 0 {
					t.Errorf("a reader saw half a write: %d records, %v", len(list), err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for range 4 {
		wg.Go(func() {
			for range perWriter {
				if _, err := s.Append(t.Context(), turns, recs(2)...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	close(done)
	readers.Wait()
}

func exportImport(t *testing.T, s store.Store) {
	facts := store.Key{Tenant: turns.Tenant, Kind: "fact"}
	mustAppend(t, s, turns, store.Record{ID: "a", Data: json.RawMessage("{ \"t\": \"<é>\" }")}, rec("", "2"), rec("c", "3"))
	mustAppend(t, s, facts, recs(250)...)
	mustAppend(t, s, store.Key{Tenant: "other", Kind: "fact"}, recs(1)...)
	_, err := s.Delete(t.Context(), turns, "#2")
	must(t, err)
	var first, second bytes.Buffer
	must(t, store.Export(t.Context(), s, &first, turns.Tenant))
	if n := strings.Count(first.String(), "\n"); n != 252 {
		t.Fatalf("lines: have %d, want 252", n)
	}
	if n, err := store.Import(t.Context(), s, strings.NewReader(first.String())); err != nil || n != 252 {
		t.Fatalf("import over itself: have %d, %v", n, err)
	}
	copied := store.NewMemory()
	for range 2 {
		n, err := store.Import(t.Context(), copied, strings.NewReader(first.String()))
		if err != nil || n != 252 {
			t.Fatalf("import: have %d, %v", n, err)
		}
	}
	must(t, store.Export(t.Context(), copied, &second, turns.Tenant))
	if first.String() != second.String() {
		t.Errorf("the copy differs:\n%.300s\n%.300s", first.String(), second.String())
	}
	want(t, s, turns, `1:a={"t":"<é>"}`, `3:c="3"`)
}
