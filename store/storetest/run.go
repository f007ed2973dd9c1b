package storetest

import (
	"testing"

	"github.com/anchor-host/anchor-host/store"
)

// Opener opens one store.
type Opener struct {
	// Open opens the store. If Durable is set, the store then has the content that it had
	// when it was closed.
	Open func(t *testing.T) store.Store
	// Durable means that content survives Close.
	Durable bool
}

// Run runs the contract tests. It calls fresh once for every test, to get an empty store.
func Run(t *testing.T, fresh func(t *testing.T) Opener) {
	tests := []struct {
		name string
		test func(t *testing.T, s store.Store)
	}{
		{"append gives numbers in order", appendNumbers},
		{"append takes data and time as they are", appendKeeps},
		{"append refuses a taken id, wholly", appendExists},
		{"read goes on after a number", readAfter},
		{"last is the newest, ascending", lastNewest},
		{"get finds by id", getByID},
		{"put replaces in place or comes last", putReplaces},
		{"delete counts what was there", deleteCounts},
		{"clear removes a key and nothing else", clearKey},
		{"numbers are never given twice", neverTwice},
		{"ids with # are the store's", autoIDs},
		{"tenants, kinds and streams are apart", apart},
		{"keys lists what holds records", keysLists},
		{"size counts what a tenant has", sizeOfTenant},
		{"tenants are listed", tenantsListed},
		{"apply does all or nothing", applyAtomic},
		{"apply keeps numbers for imports", applyKeepsSeq},
		{"numbers run out with an error", numbersRunOut},
		{"limits", limits},
		{"slices stay the caller's", slicesStay},
		{"a context that has ended stops every call", contextEnded},
		{"a closed store says so", closedStore},
		{"concurrent writers lose nothing", concurrentWriters},
		{"concurrent batches stay whole", concurrentBatches},
		{"readers see whole writes", readersSeeWhole},
		{"export and import copy exactly", exportImport},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := fresh(t).Open(t)
			tt.test(t, s)
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	t.Run("content outlives close", func(t *testing.T) {
		o := fresh(t)
		if !o.Durable {
			t.Skip("this store lives in memory")
		}
		outlives(t, o)
	})
}

func outlives(t *testing.T, o Opener) {
	s := o.Open(t)
	mustAppend(t, s, turns, rec("a", "1"), rec("", "2"), rec("z", "3"))
	_, err := s.Delete(t.Context(), turns, "z", "a")
	must(t, err)
	before, err := s.Get(t.Context(), turns, "#2")
	must(t, err)
	must(t, s.Close())
	must(t, s.Close())

	s = o.Open(t)
	after, err := s.Get(t.Context(), turns, "#2")
	must(t, err)
	if !sameRecord(before, after) {
		t.Errorf("a record changed: had %v, have %v", before, after)
	}
	want(t, s, turns, `2:#2="2"`)
	if first := mustAppend(t, s, turns, recs(1)...); first != 4 {
		t.Errorf("number after reopening: have %d, want 4", first)
	}
	_, err = s.Clear(t.Context(), turns)
	must(t, err)
	must(t, s.Close())

	s = o.Open(t)
	want(t, s, turns)
	if first := mustAppend(t, s, turns, recs(1)...); first != 5 {
		t.Errorf("number after clearing and reopening: have %d, want 5", first)
	}
	must(t, s.Close())
}
