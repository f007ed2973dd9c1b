package storetest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

// turns is the key that most tests use.
var turns = store.Key{Tenant: store.DefaultTenant, Kind: "turn", Stream: "c1"}

// data returns the JSON of a value that can always be encoded.
func data(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// rec returns a record whose data is a text.
func rec(id, text string) store.Record { return store.Record{ID: id, Data: data(text)} }

// recs returns n records without IDs. The data of each is its number.
func recs(n int) []store.Record {
	out := make([]store.Record, n)
	for i := range out {
		out[i].Data = data(i + 1)
	}
	return out
}

// show returns a short form of a record.
func show(r store.Record) string { return fmt.Sprintf("%d:%s=%s", r.Seq, r.ID, r.Data) }

func shows(list []store.Record) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = show(list[i])
	}
	return out
}

// want checks that a key has the given content, in the form seq:id=data.
func want(t *testing.T, s store.Store, key store.Key, content ...string) {
	t.Helper()
	list, err := s.Read(t.Context(), key, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if have := shows(list); !slices.Equal(have, content) {
		t.Fatalf("%s\nhave %v\nwant %v", key, have, content)
	}
}

func wantErr(t *testing.T, what string, have, want error) {
	t.Helper()
	if !errors.Is(have, want) {
		t.Errorf("%s: have error %v, want %v", what, have, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mustAppend appends and returns the first number.
func mustAppend(t *testing.T, s store.Store, key store.Key, list ...store.Record) int64 {
	t.Helper()
	first, err := s.Append(t.Context(), key, list...)
	must(t, err)
	return first
}

func sameRecord(a, b store.Record) bool {
	return a.Seq == b.Seq && a.ID == b.ID && bytes.Equal(a.Data, b.Data) && a.Time.Equal(b.Time) && a.Time.Location() == time.UTC
}

func sortedKeys(keys []store.Key) bool {
	return slices.IsSortedFunc(keys, func(a, b store.Key) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Stream, b.Stream))
	})
}
