package storetest

import (
	"context"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/store"
)

func readAfter(t *testing.T, s store.Store) {
	mustAppend(t, s, turns, recs(5)...)
	_, err := s.Delete(t.Context(), turns, "#3")
	must(t, err)
	for _, tt := range []struct {
		after int64
		limit int
		want  []string
	}{
		{0, 0, []string{"1:#1=1", "2:#2=2", "4:#4=4", "5:#5=5"}},
		{0, 2, []string{"1:#1=1", "2:#2=2"}},
		{2, 1, []string{"4:#4=4"}},
		{3, 10, []string{"4:#4=4", "5:#5=5"}},
		{-5, 1, []string{"1:#1=1"}},
		{5, 0, nil},
		{1 << 62, 0, nil},
	} {
		list, err := s.Read(t.Context(), turns, tt.after, tt.limit)
		must(t, err)
		if have := shows(list); !slices.Equal(have, tt.want) {
			t.Errorf("read after %d, limit %d: have %v, want %v", tt.after, tt.limit, have, tt.want)
		}
	}
	if list, err := s.Read(t.Context(), store.Key{Tenant: "x", Kind: "y"}, 0, 0); err != nil || len(list) != 0 {
		t.Errorf("read of a key that is not there: have %v, %v", list, err)
	}
}

func lastNewest(t *testing.T, s store.Store) {
	other := turns
	other.Stream = "c2"
	mustAppend(t, s, turns, recs(4)...)
	mustAppend(t, s, other, recs(1)...)
	for _, tt := range []struct {
		n    int
		want []string
	}{
		{0, nil},
		{2, []string{"3:#3=3", "4:#4=4"}},
		{9, []string{"1:#1=1", "2:#2=2", "3:#3=3", "4:#4=4"}},
	} {
		list, err := s.Last(t.Context(), turns, tt.n)
		must(t, err)
		if have := shows(list); !slices.Equal(have, tt.want) {
			t.Errorf("last %d: have %v, want %v", tt.n, have, tt.want)
		}
	}
}

func getByID(t *testing.T, s store.Store) {
	mustAppend(t, s, turns, rec("a", "1"), rec("", "2"))
	for id, want := range map[string]string{"a": `1:a="1"`, "#2": `2:#2="2"`} {
		r, err := s.Get(t.Context(), turns, id)
		must(t, err)
		if show(r) != want {
			t.Errorf("get %q: have %s, want %s", id, show(r), want)
		}
	}
	for _, id := range []string{"", "b", "#1", "#3", "#02", "#", "#-1", "#99999999999999999999", "#4294967298", "A", "a\x00"} {
		_, err := s.Get(t.Context(), turns, id)
		wantErr(t, "get of "+id, err, store.ErrNotFound)
	}
	_, err := s.Get(t.Context(), store.Key{Tenant: "x", Kind: "y"}, "a")
	wantErr(t, "get from a key that is not there", err, store.ErrNotFound)
}

func apart(t *testing.T, s store.Store) {
	keys := []store.Key{
		{Tenant: "a", Kind: "k", Stream: "s"}, {Tenant: "b", Kind: "k", Stream: "s"},
		{Tenant: "a", Kind: "l", Stream: "s"}, {Tenant: "a", Kind: "k", Stream: "S"},
		{Tenant: "a", Kind: "k"}, {Tenant: "a/k", Kind: "s"},
	}
	for i, key := range keys {
		if first := mustAppend(t, s, key, store.Record{ID: "x", Data: data(i)}); first != 1 {
			t.Errorf("%s: first %d, want 1", key, first)
		}
	}
	_, err := s.Delete(t.Context(), keys[0], "x")
	must(t, err)
	_, err = s.Get(t.Context(), keys[0], "x")
	wantErr(t, "get of what was deleted", err, store.ErrNotFound)
	for i, key := range keys[1:] {
		r, err := s.Get(t.Context(), key, "x")
		must(t, err)
		if string(r.Data) != string(data(i+1)) {
			t.Errorf("%s: have %s, want %d", key, r.Data, i+1)
		}
	}
}

func keysLists(t *testing.T, s store.Store) {
	all := []store.Key{
		{Tenant: "t", Kind: "fact"}, {Tenant: "t", Kind: "turn", Stream: "B"},
		{Tenant: "t", Kind: "turn", Stream: "a"}, {Tenant: "t", Kind: "turn", Stream: "é"},
	}
	for i := range all {
		mustAppend(t, s, all[len(all)-1-i], recs(2)...)
	}
	gone := store.Key{Tenant: "t", Kind: "turn", Stream: "gone"}
	mustAppend(t, s, gone, recs(1)...)
	_, err := s.Clear(t.Context(), gone)
	must(t, err)
	mustAppend(t, s, store.Key{Tenant: "u", Kind: "turn"}, recs(1)...)
	for kind, want := range map[string][]store.Key{"": all, "fact": all[:1], "turn": all[1:], "none": nil} {
		have, err := s.Keys(t.Context(), "t", kind)
		must(t, err)
		if !slices.Equal(have, want) || !sortedKeys(have) {
			t.Errorf("keys of kind %q: have %v, want %v", kind, have, want)
		}
	}
	_, err = s.Keys(t.Context(), "", "turn")
	wantErr(t, "keys of no tenant", err, store.ErrInvalid)
}

// tenantsListed is about stores that are a [store.Lister].
func tenantsListed(t *testing.T, s store.Store) {
	lister, ok := s.(store.Lister)
	if !ok {
		return
	}
	list := func(names ...string) {
		t.Helper()
		got, err := lister.Tenants(t.Context())
		if must(t, err); !slices.Equal(got, names) {
			t.Errorf("tenants %q, want %q", got, names)
		}
	}
	list()
	for _, tenant := range []string{"z", "a", "ä", "a", "a'b"} {
		for _, stream := range []string{"one", "two"} {
			mustAppend(t, s, store.Key{Tenant: tenant, Kind: "turn", Stream: stream}, rec("", "x"))
		}
	}
	list("a", "a'b", "z", "ä")
	_, err := s.Clear(t.Context(), store.Key{Tenant: "z", Kind: "turn", Stream: "one"})
	must(t, err)
	list("a", "a'b", "z", "ä")
}

func slicesStay(t *testing.T, s store.Store) {
	d := data("abc")
	mustAppend(t, s, turns, store.Record{ID: "a", Data: d})
	copy(d, "-----")
	for range 2 {
		r, err := s.Get(t.Context(), turns, "a")
		must(t, err)
		if string(r.Data) != `"abc"` {
			t.Fatalf("data: have %s", r.Data)
		}
		copy(r.Data, "-----")
	}
}

// calls returns a function for each method of a store, which returns the error of the method.
func calls(s store.Store) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"append": func(ctx context.Context) error { _, err := s.Append(ctx, turns, rec("", "1")); return err },
		"read":   func(ctx context.Context) error { _, err := s.Read(ctx, turns, 0, 1); return err },
		"last":   func(ctx context.Context) error { _, err := s.Last(ctx, turns, 1); return err },
		"put":    func(ctx context.Context) error { return s.Put(ctx, turns, rec("a", "1")) },
		"get":    func(ctx context.Context) error { _, err := s.Get(ctx, turns, "a"); return err },
		"delete": func(ctx context.Context) error { _, err := s.Delete(ctx, turns, "a"); return err },
		"clear":  func(ctx context.Context) error { _, err := s.Clear(ctx, turns); return err },
		"apply": func(ctx context.Context) error {
			return s.Apply(ctx, store.Change{Key: turns, Put: []store.Record{rec("b", "1")}})
		},
		"keys": func(ctx context.Context) error { _, err := s.Keys(ctx, turns.Tenant, ""); return err },
	}
}

func contextEnded(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range calls(s) {
		wantErr(t, name, call(ctx), context.Canceled)
	}
	want(t, s, turns)
}

func closedStore(t *testing.T, s store.Store) {
	must(t, s.Close())
	for name, call := range calls(s) {
		wantErr(t, name, call(t.Context()), store.ErrClosed)
	}
}

func sizeOfTenant(t *testing.T, s store.Store) {
	sizer, ok := s.(store.Sizer)
	if !ok {
		t.Skip("this store does not say how much it keeps")
	}
	size := func(tenant string, wantRecords, wantBytes int64) {
		t.Helper()
		records, bytes, err := sizer.Size(t.Context(), tenant)
		must(t, err)
		if records != wantRecords || bytes != wantBytes {
			t.Errorf("%s: %d records of %d bytes, want %d of %d", tenant, records, bytes, wantRecords, wantBytes)
		}
	}
	size("a", 0, 0)
	one, other := store.Key{Tenant: "a", Kind: "turn", Stream: "s"}, store.Key{Tenant: "b", Kind: "turn", Stream: "s"}
	mustAppend(t, s, one, store.Record{ID: "x", Data: []byte(`"12345"`)}, store.Record{Data: []byte(`1`)})
	mustAppend(t, s, store.Key{Tenant: "a", Kind: "fact"}, store.Record{Data: []byte(`"é"`)})
	mustAppend(t, s, other, store.Record{Data: []byte(`123`)})
	size("a", 3, 7+1+4)
	size("b", 1, 3)
	records, _, err := sizer.Size(t.Context(), "a", "turn")
	must(t, err)
	if records != 1 {
		t.Errorf("without turns: %d records, want 1", records)
	}
	_, err = s.Delete(t.Context(), one, "x")
	must(t, err)
	size("a", 2, 1+4)
}
