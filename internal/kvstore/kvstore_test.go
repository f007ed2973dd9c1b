package kvstore

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

func inFile(t *testing.T, path string) *Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Sync: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return New(func(context.Context) (store.Store, error) { return s, nil })
}

// used fails unless an owner has so many keys and bytes.
func used(t *testing.T, s *Store, owner host.KVOwner, keys, bytes int64) {
	t.Helper()
	k, b, err := s.Usage(t.Context(), owner)
	if k != keys || b != bytes || err != nil {
		t.Errorf("%+v has %d keys and %d bytes, %v; want %d and %d", owner, k, b, err, keys, bytes)
	}
}

func TestValuesLast(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "s.db")
	ann, bob := host.KVOwner{Plugin: "p", Tenant: "ann"}, host.KVOwner{Plugin: "p", Tenant: "bob"}
	hard := "\x00\xff" + strings.Repeat("k", 4000) // any bytes, longer than an ID may be
	s := inFile(t, path)
	for _, v := range []struct {
		owner      host.KVOwner
		key, value string
	}{{ann, "a", "one"}, {ann, hard, "\x00\xfe"}, {ann, "a", "two!"}, {bob, "a", "his"}, {ann, "gone", "x"}} {
		if err := s.Set(ctx, v.owner, v.key, []byte(v.value)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second finds nothing
		if err := s.Delete(ctx, ann, "gone"); err != nil {
			t.Fatal(err)
		}
	}
	s = inFile(t, path) // another process
	for key, want := range map[string]string{"a": "two!", hard: "\x00\xfe", "gone": "", "never": ""} {
		if got, err := s.Get(ctx, ann, key); string(got) != want || err != nil {
			t.Errorf("%.10q: %q, %v, want %q", key, got, err, want)
		}
	}
	used(t, s, ann, 2, int64(1+4+len(hard)+2))
	if err := s.Forget(ctx, "ann"); err != nil {
		t.Fatal(err)
	}
	used(t, s, ann, 0, 0)
	used(t, s, bob, 1, 4)
	if err := s.Set(ctx, ann, "a", []byte("new")); err != nil {
		t.Fatal(err)
	}
	used(t, s, ann, 1, 4)
}

// Two processes change values of one owner at the same time, and the usage stays right.
func TestTwoProcesses(t *testing.T) {
	path, owner := filepath.Join(t.TempDir(), "s.db"), host.KVOwner{Plugin: "p", Tenant: "t"}
	var all sync.WaitGroup
	for p := range 2 {
		s := inFile(t, path)
		all.Go(func() {
			for i := range 40 {
				if err := s.Set(t.Context(), owner, fmt.Sprint(p, i%20), []byte("12345")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	s, sum := inFile(t, path), 0
	for p := range 2 {
		for i := range 20 {
			key := fmt.Sprint(p, i)
			v, err := s.Get(t.Context(), owner, key)
			if string(v) != "12345" || err != nil {
				t.Fatalf("%s: %q, %v", key, v, err)
			}
			sum += len(key) + len(v)
		}
	}
	used(t, s, owner, 40, int64(sum))
}

// A usage that an export has left out, because it is damaged, is computed from the values, and so is
// one that cannot be read.
func TestUsageIsComputedAnew(t *testing.T) {
	ctx, path, owner := t.Context(), filepath.Join(t.TempDir(), "s.db"), host.KVOwner{Plugin: "p", Tenant: "t"}
	s := inFile(t, path)
	for _, damage := range []func(in store.Store) error{
		func(in store.Store) error { _, err := in.Delete(ctx, keyOf(owner), usageID); return err },
		func(in store.Store) error {
			return in.Put(ctx, keyOf(owner), store.Record{ID: usageID, Data: []byte(`[]`)})
		},
	} {
		in, err := s.open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"a", "b"} {
			if err := s.Set(ctx, owner, key, []byte("four")); err != nil {
				t.Fatal(err)
			}
		}
		if err := damage(in); err != nil {
			t.Fatal(err)
		}
		used(t, s, owner, 2, 10)
		if err := s.Set(ctx, owner, "c", []byte("12345")); err != nil {
			t.Error(err)
		}
		used(t, s, owner, 3, 16)
		if err := damage(in); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(ctx, owner, "c"); err != nil {
			t.Error(err)
		}
		used(t, s, owner, 2, 10)
	}
}

// A record that is not what its ID says is refused.
func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		id, data string
		ok       bool
	}{
		{idOf("a"), `{"key":"YQ==","value":"eA=="}`, true}, {"usage", `{"keys":1,"bytes":2}`, true},
		{idOf("b"), `{"key":"YQ==","value":"eA=="}`, false}, {"usage", `{"keys":-1,"bytes":2}`, false}, {idOf("a"), `[]`, false}, {"usage", `[]`, false},
	} {
		if err := Check(store.Key{}, &store.Record{ID: tt.id, Data: []byte(tt.data)}); (err == nil) != tt.ok {
			t.Errorf("%s %s: %v", tt.id, tt.data, err)
		}
	}
}
