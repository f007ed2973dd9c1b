package memory

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/store"
)

// A store has what facts and logs need of it.
var (
	_ RecordStore            = store.Store(nil)
	_ conversation.TurnStore = store.Store(nil)
)

// eachFacts runs a test with each form of Facts.
func eachFacts(t *testing.T, test func(t *testing.T, f Facts)) {
	t.Run("memory", func(t *testing.T) { test(t, NewFacts()) })
	t.Run("store", func(t *testing.T) { test(t, NewStoreFacts(store.NewMemory(), "ann")) })
}

// entry is a valid entry as it is stored.
func entry(id, content string) *Entry {
	e := Entry{ID: id, Content: content}
	e.complete(func() string { return "" }, epoch)
	return &e
}

func listed(t *testing.T, f Facts) (out []string) {
	t.Helper()
	entries, err := f.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.ID+"="+e.Content)
	}
	return out
}

func TestFactsKeepTheirPlaces(t *testing.T) {
	eachFacts(t, func(t *testing.T, f Facts) {
		for _, e := range []*Entry{entry("b", "1"), entry("a", "2"), entry("c", "3")} {
			if err := f.Put(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Put(t.Context(), entry("a", "new"), entry("d", "4"), entry("d", "5")); err != nil {
			t.Fatal(err)
		}
		if got := listed(t, f); !slices.Equal(got, []string{"b=1", "a=new", "c=3", "d=5"}) {
			t.Errorf("after Put: %q", got)
		}
		if n, err := f.Delete(t.Context(), "a", "nobody", "a", "d"); n != 2 || err != nil {
			t.Errorf("deleted %d, %v", n, err)
		}
		if err := f.Put(t.Context(), entry("a", "again")); err != nil {
			t.Fatal(err)
		}
		if got := listed(t, f); !slices.Equal(got, []string{"b=1", "c=3", "a=again"}) {
			t.Errorf("after Delete: %q", got)
		}
		if e, err := f.Get(t.Context(), "a"); err != nil || e.Content != "again" {
			t.Errorf("get: %+v, %v", e, err)
		}
		if _, err := f.Get(t.Context(), "d"); !errors.Is(err, ErrNotFound) || err.Error() != `fact "d": no such fact` {
			t.Errorf("get what is gone: %v", err)
		}
	})
}

func TestFactsRoundTrip(t *testing.T) {
	eachFacts(t, func(t *testing.T, f Facts) {
		want := fullEntry()
		if err := f.Put(t.Context(), &want); err != nil {
			t.Fatal(err)
		}
		got, err := f.Get(t.Context(), want.ID)
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("got %+v, %v\nwant %+v", got, err, want)
		}
	})
}

func TestListIsNotChangedByLaterCalls(t *testing.T) {
	eachFacts(t, func(t *testing.T, f Facts) {
		if err := f.Put(t.Context(), entry("a", "1"), entry("b", "2")); err != nil {
			t.Fatal(err)
		}
		before, err := f.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []*Entry{entry("a", "new"), entry("c", "3")} {
			if err := f.Put(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.Delete(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		if len(before) != 2 || before[0].Content != "1" || before[1].Content != "2" {
			t.Errorf("list of before is now %+v", before)
		}
	})
}

func TestFactsRefuse(t *testing.T) {
	eachFacts(t, func(t *testing.T, f Facts) {
		bad := entry("bad", "x")
		bad.Relevance = 2
		for _, e := range []*Entry{entry("", "x"), bad} {
			if err := f.Put(t.Context(), entry("good", "x"), e); !errors.Is(err, pipeline.ErrInvalid) {
				t.Errorf("put %+v: %v", e, err)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.Put(ended, entry("good", "x")); !errors.Is(err, context.Canceled) {
			t.Errorf("put: %v", err)
		}
		if _, err := f.Delete(ended, "good"); !errors.Is(err, context.Canceled) {
			t.Errorf("delete: %v", err)
		}
		if got := listed(t, f); len(got) != 0 {
			t.Errorf("stored %q", got)
		}
	})
}

func TestStoreFactsSeeWhatOthersWrite(t *testing.T) {
	s := store.NewMemory()
	mine, theirs := NewStoreFacts(s, "ann"), NewStoreFacts(s, "ann")
	if err := mine.Put(t.Context(), entry("a", "1"), entry("b", "2")); err != nil {
		t.Fatal(err)
	}
	listed(t, mine)
	if err := theirs.Put(t.Context(), entry("a", "new")); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.Delete(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if got := listed(t, mine); !slices.Equal(got, []string{"a=new"}) {
		t.Errorf("listed %q", got)
	}
	if got := listed(t, NewStoreFacts(s, "bob")); len(got) != 0 {
		t.Errorf("another tenant sees %q", got)
	}
}

func TestStoreFactsNameWhatIsCorrupt(t *testing.T) {
	s := store.NewMemory()
	f := NewStoreFacts(s, "ann")
	if err := s.Put(t.Context(), store.Key{Tenant: "ann", Kind: KindFact}, store.Record{ID: "x", Data: []byte(`{"content":"c","color":"red"}`)}); err != nil {
		t.Fatal(err)
	}
	_, err := f.List(t.Context())
	if !errors.Is(err, pipeline.ErrInvalid) || !strings.HasPrefix(err.Error(), `facts: record "x": fact: color: unknown key: invalid value (want one of id, `) {
		t.Errorf("list: %v", err)
	}
	if n, err := f.Delete(t.Context(), "x"); n != 1 || err != nil {
		t.Errorf("delete: %d, %v", n, err)
	}
}

func TestStoreFactsDeleteMoreThanOneBatch(t *testing.T) {
	f := NewStoreFacts(store.NewMemory(), "ann")
	ids := make([]string, store.MaxBatch+5)
	entries := make([]*Entry, len(ids))
	for i := range ids {
		ids[i] = fmt.Sprint(i)
		entries[i] = entry(ids[i], "x")
	}
	if err := f.Put(t.Context(), entries[:store.MaxBatch]...); err != nil {
		t.Fatal(err)
	}
	if err := f.Put(t.Context(), entries[store.MaxBatch:]...); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Delete(t.Context(), ids...); n != len(ids) || err != nil {
		t.Errorf("deleted %d of %d, %v", n, len(ids), err)
	}
}
