package kv

import (
	"errors"
	"fmt"
	"testing"
)

func newStores(limit int64) *memory { return &New(limit, nil).memory }

func TestKVQuota(t *testing.T) {
	s, key := newStores(1<<30), Owner{"p", "t"}
	fits := func(name string, n int, quota int64) bool {
		err := s.set(key, quota, name, make([]byte, n))
		if err != nil && !errors.Is(err, ErrQuota) {
			t.Errorf("%d bytes: %v", n, err)
		}
		return err == nil
	}
	if !fits("a", 100, 200) || fits("b", 100, 200) {
		t.Error("the quota of 200 bytes takes 100 and not 200")
	}
	if !fits("a", 135, 200) || fits("a", 136, 200) {
		t.Error("replacing a value counts the old one")
	}
	if v := s.get(key, "a"); len(v) != 135 {
		t.Error("a value that did not fit changed the old one")
	}
	if fits("a", 1, 10) || !fits("none", 0, 10) || !fits("a", 0, 10) {
		t.Error("a smaller quota does not hold, or hinders deletion")
	}
	if len(s.stores) != 0 || s.used != 0 {
		t.Errorf("%d stores, %d bytes are left of what was deleted", len(s.stores), s.used)
	}
}

// No two pairs of names are the same store, however they are spelled.
func TestKVKeysAreApart(t *testing.T) {
	s := newStores(1 << 30)
	keys := []Owner{{"p", "a"}, {"p", "b"}, {"q", "a"}, {"p/a", "b"}, {"p", "a/b"}, {"pa", "b"}, {"p", "ab"}, {"p", "a\x00b"}, {"", "pa"}, {"pa", ""}, {"p", "A"}}
	for i, key := range keys {
		if err := s.set(key, 1<<20, "k", []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for i, key := range keys {
		if v := s.get(key, "k"); len(v) != 1 || v[0] != byte(i) {
			t.Errorf("%q has the value %v", key, v)
		}
	}
}

// All stores together have a bound, for which those that are empty do not count.
func TestKVMemory(t *testing.T) {
	s := newStores(10_000)
	tenant := func(n int) Owner { return Owner{"p", fmt.Sprintf("tenant %02d", n)} }
	put := func(n, size int) error { return s.set(tenant(n), 1<<20, "k", make([]byte, size)) }
	full := 0
	for full < 100 && put(full, 1) == nil {
		full++
	}
	if full < 10 || full > 20 || s.used > s.limit || len(s.stores) != full {
		t.Fatalf("%d stores of one byte in %d, %d bytes in use of %d", full, len(s.stores), s.used, s.limit)
	}
	before := s.used
	for _, err := range []error{put(full, 1), put(0, 9000)} {
		if !errors.Is(err, ErrFull) || s.used != before || len(s.stores) != full {
			t.Errorf("error %v, %d stores, %d bytes in use, before %d", err, len(s.stores), s.used, before)
		}
	}
	s.forget(tenant(0).Tenant)
	if s.get(tenant(0), "k") != nil {
		t.Error("a tenant that is forgotten has its value")
	}
	if err := put(full, 1); err != nil || s.used != before {
		t.Errorf("in the place of the one that is forgotten: %v, %d bytes in use, before %d", err, s.used, before)
	}
	for n := range full + 1 {
		s.forget(tenant(n).Tenant)
	}
	if len(s.stores) != 0 || s.used != 0 {
		t.Errorf("%d stores, %d bytes are left", len(s.stores), s.used)
	}
}
