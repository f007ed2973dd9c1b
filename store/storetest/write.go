package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

func appendNumbers(t *testing.T, s store.Store) {
	if first := mustAppend(t, s, turns, recs(3)...); first != 1 {
		t.Errorf("first of the first append: have %d, want 1", first)
	}
	if first := mustAppend(t, s, turns, store.Record{Seq: 77, ID: "x", Data: data("d")}); first != 4 {
		t.Errorf("first of the second append: have %d, want 4", first)
	}
	if first := mustAppend(t, s, turns); first != 0 {
		t.Errorf("first of an empty append: have %d, want 0", first)
	}
	want(t, s, turns, "1:#1=1", "2:#2=2", "3:#3=3", `4:x="d"`)
}

func appendKeeps(t *testing.T, s store.Store) {
	before := time.Now()
	at := time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.FixedZone("", 3600))
	raw := json.RawMessage(" {\"b\": 1.50, \"a\":\n\"<é\\u00e9>\"} ")
	mustAppend(t, s, turns, store.Record{ID: "a", Data: raw, Time: at}, store.Record{ID: "b", Data: data(nil)})
	list, err := s.Read(t.Context(), turns, 0, 0)
	must(t, err)
	if string(list[0].Data) != string(raw) {
		t.Errorf("data: have %q, want %q", list[0].Data, raw)
	}
	if !list[0].Time.Equal(at) || list[0].Time.Location() != time.UTC {
		t.Errorf("time: have %v, want %v in UTC", list[0].Time, at)
	}
	if now := list[1].Time; now.Before(before.Add(-time.Second)) || now.After(time.Now().Add(time.Second)) {
		t.Errorf("time of a record without one: have %v, want about %v", now, before)
	}
}

func appendExists(t *testing.T, s store.Store) {
	mustAppend(t, s, turns, rec("a", "1"))
	_, err := s.Append(t.Context(), turns, rec("b", "2"), rec("a", "3"))
	wantErr(t, "append of a taken id", err, store.ErrExists)
	_, err = s.Append(t.Context(), turns, rec("c", "2"), rec("c", "3"))
	wantErr(t, "append of one id twice", err, store.ErrExists)
	want(t, s, turns, `1:a="1"`)
	if first := mustAppend(t, s, turns, rec("b", "2")); first != 2 {
		t.Errorf("a refused append took numbers: next is %d, want 2", first)
	}
}

func putReplaces(t *testing.T, s store.Store) {
	at := time.Unix(1000, 5).UTC()
	mustAppend(t, s, turns, rec("a", "1"), rec("b", "2"))
	must(t, s.Put(t.Context(), turns, store.Record{Seq: 99, ID: "a", Data: data("one"), Time: at}))
	must(t, s.Put(t.Context(), turns, rec("c", "3")))
	must(t, s.Put(t.Context(), turns, rec("", "4")))
	must(t, s.Put(t.Context(), turns, rec("#4", "four")))
	want(t, s, turns, `1:a="one"`, `2:b="2"`, `3:c="3"`, `4:#4="four"`)
	r, err := s.Get(t.Context(), turns, "a")
	must(t, err)
	if !r.Time.Equal(at) {
		t.Errorf("time of a replaced record: have %v, want %v", r.Time, at)
	}
}

func deleteCounts(t *testing.T, s store.Store) {
	mustAppend(t, s, turns, rec("a", "1"), rec("", "2"), rec("c", "3"), rec("d", "4"))
	n, err := s.Delete(t.Context(), turns, "a", "#2", "none", "a", "#9", "#02")
	must(t, err)
	if n != 2 {
		t.Errorf("deleted: have %d, want 2", n)
	}
	want(t, s, turns, `3:c="3"`, `4:d="4"`)
	for _, ids := range [][]string{nil, {"a"}} {
		if n, err := s.Delete(t.Context(), turns, ids...); err != nil || n != 0 {
			t.Errorf("delete of %v: have %d, %v", ids, n, err)
		}
	}
	if n, err := s.Delete(t.Context(), store.Key{Tenant: "x", Kind: "y"}, "a"); err != nil || n != 0 {
		t.Errorf("delete from a key that is not there: have %d, %v", n, err)
	}
}

func clearKey(t *testing.T, s store.Store) {
	other := turns
	other.Stream = "c2"
	mustAppend(t, s, other, recs(2)...)
	mustAppend(t, s, turns, recs(3)...)
	if n, err := s.Clear(t.Context(), turns); err != nil || n != 3 {
		t.Errorf("clear: have %d, %v, want 3", n, err)
	}
	if n, err := s.Clear(t.Context(), turns); err != nil || n != 0 {
		t.Errorf("clear again: have %d, %v, want 0", n, err)
	}
	want(t, s, turns)
	want(t, s, other, "1:#1=1", "2:#2=2")
	if first := mustAppend(t, s, turns, recs(1)...); first != 4 {
		t.Errorf("first after clear: have %d, want 4", first)
	}
}

func neverTwice(t *testing.T, s store.Store) {
	mustAppend(t, s, turns, rec("", "1"), rec("", "2"), rec("z", "3"))
	_, err := s.Delete(t.Context(), turns, "#1", "#2", "z")
	must(t, err)
	if first := mustAppend(t, s, turns, recs(1)...); first != 4 {
		t.Errorf("number after deleting the newest: have %d, want 4", first)
	}
	must(t, s.Put(t.Context(), turns, rec("z", "again")))
	want(t, s, turns, "4:#4=1", `5:z="again"`)
}

func autoIDs(t *testing.T, s store.Store) {
	mustAppend(t, s, turns, recs(1)...)
	_, err := s.Append(t.Context(), turns, rec("#2", "x"))
	wantErr(t, "append of an id with #", err, store.ErrInvalid)
	wantErr(t, "put of an id with # that is not there", s.Put(t.Context(), turns, rec("#2", "x")), store.ErrNotFound)
	wantErr(t, "put of an id with # into an empty key", s.Put(t.Context(), store.Key{Tenant: "t", Kind: "k"}, rec("#1", "x")), store.ErrNotFound)
	want(t, s, turns, "1:#1=1")
}

func applyAtomic(t *testing.T, s store.Store) {
	facts := store.Key{Tenant: store.DefaultTenant, Kind: "fact"}
	mustAppend(t, s, facts, rec("a", "1"), rec("b", "2"), rec("c", "3"))
	must(t, s.Apply(t.Context(),
		store.Change{Key: facts, Delete: []string{"a", "b", "none"}, Put: []store.Record{rec("ab", "12"), rec("c", "three"), rec("b", "new")}},
		store.Change{Key: turns, Put: recs(2)}))
	want(t, s, facts, `3:c="three"`, `4:ab="12"`, `5:b="new"`)
	want(t, s, turns, "1:#1=1", "2:#2=2")
	for name, changes := range map[string][]store.Change{
		"one that cannot be": {{Key: facts, Delete: []string{"c"}, Put: []store.Record{rec("x", "x")}}, {Key: turns, Put: []store.Record{rec("#9", "x")}}},
		"deleted id with #":  {{Key: facts, Delete: []string{"c"}}, {Key: turns, Delete: []string{"#1"}, Put: []store.Record{rec("#1", "x")}}},
	} {
		wantErr(t, name, s.Apply(t.Context(), changes...), store.ErrNotFound)
	}
	wantErr(t, "one key twice", s.Apply(t.Context(), store.Change{Key: facts, Delete: []string{"c"}}, store.Change{Key: facts}), store.ErrInvalid)
	want(t, s, facts, `3:c="three"`, `4:ab="12"`, `5:b="new"`)
	must(t, s.Apply(t.Context()))
}

func applyKeepsSeq(t *testing.T, s store.Store) {
	put := func(list ...store.Record) error {
		return s.Apply(t.Context(), store.Change{Key: turns, Put: list, KeepSeq: true})
	}
	must(t, put(store.Record{Seq: 5, ID: "#5", Data: data(5)}, store.Record{Seq: 7, ID: "g", Data: data(7)}))
	must(t, put(store.Record{Seq: 5, ID: "#5", Data: data("five")}, store.Record{Seq: 6, ID: "late", Data: data(6)}, store.Record{Seq: 3, ID: "#3", Data: data(3)}))
	want(t, s, turns, `5:#5="five"`, "7:g=7", "8:late=6", "9:#9=3")
	if first := mustAppend(t, s, turns, recs(1)...); first != 10 {
		t.Errorf("first after: have %d, want 10", first)
	}
	wantErr(t, "a number that is too great", put(store.Record{Seq: store.MaxSeq + 1, Data: data(1)}), store.ErrInvalid)
	wantErr(t, "a number below zero", put(store.Record{Seq: -1, Data: data(1)}), store.ErrInvalid)
}

func numbersRunOut(t *testing.T, s store.Store) {
	must(t, s.Apply(t.Context(), store.Change{Key: turns, KeepSeq: true, Put: []store.Record{{Seq: store.MaxSeq - 1, ID: "a", Data: data(1)}}}))
	_, err := s.Append(t.Context(), turns, recs(2)...)
	wantErr(t, "append of two where one fits", err, store.ErrFull)
	if first := mustAppend(t, s, turns, recs(1)...); first != store.MaxSeq {
		t.Errorf("the last number: have %d, want %d", first, int64(store.MaxSeq))
	}
	wantErr(t, "put of a new id", s.Put(t.Context(), turns, rec("b", "2")), store.ErrFull)
	must(t, s.Put(t.Context(), turns, rec("a", "two")))
	want(t, s, turns, `4294967294:a="two"`, "4294967295:#4294967295=1")
	if list, err := s.Read(t.Context(), turns, store.MaxSeq, 0); err != nil || len(list) != 0 {
		t.Errorf("read after the last number: have %v, %v", list, err)
	}
}

func limits(t *testing.T, s store.Store) {
	long := strings.Repeat("x", store.MaxName+1)
	ok := rec("", "1")
	for name, key := range map[string]store.Key{
		"no tenant": {Kind: "k"}, "no kind": {Tenant: "t"}, "long tenant": {Tenant: long, Kind: "k"},
		"long kind": {Tenant: "t", Kind: long}, "long stream": {Tenant: "t", Kind: "k", Stream: long},
		"zero byte": {Tenant: "t\x00", Kind: "k"}, "line feed": {Tenant: "t", Kind: "k", Stream: "a\nb"}, "not UTF-8": {Tenant: "t", Kind: "\xff"},
	} {
		_, err := s.Append(t.Context(), key, ok)
		wantErr(t, "append: "+name, err, store.ErrInvalid)
		wantErr(t, "put: "+name, s.Put(t.Context(), key, ok), store.ErrInvalid)
		_, err = s.Read(t.Context(), key, 0, 1)
		wantErr(t, "read: "+name, err, store.ErrInvalid)
		_, err = s.Get(t.Context(), key, "a")
		wantErr(t, "get: "+name, err, store.ErrInvalid)
		_, err = s.Clear(t.Context(), key)
		wantErr(t, "clear: "+name, err, store.ErrInvalid)
	}
	for name, r := range map[string]store.Record{
		"no data": {ID: "a"}, "half a value": {Data: json.RawMessage(`{"a":`)}, "two values": {Data: json.RawMessage(`1 2`)},
		"data not UTF-8": {Data: json.RawMessage("\"\xff\"")}, "long id": {ID: long, Data: data(1)}, "id with control": {ID: "a\tb", Data: data(1)},
		"time too early": {Data: data(1), Time: time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC)},
		"time too late":  {Data: data(1), Time: time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)},
		"data too large": {Data: data(strings.Repeat("x", store.MaxData))},
	} {
		_, err := s.Append(t.Context(), turns, ok, r)
		wantErr(t, "append: "+name, err, store.ErrInvalid)
		wantErr(t, "put: "+name, s.Put(t.Context(), turns, r), store.ErrInvalid)
	}
	_, err := s.Append(t.Context(), turns, recs(store.MaxBatch+1)...)
	wantErr(t, "append of too many", err, store.ErrInvalid)
	_, err = s.Delete(t.Context(), turns, "")
	wantErr(t, "delete of no id", err, store.ErrInvalid)
	_, err = s.Read(t.Context(), turns, 0, -1)
	wantErr(t, "read of less than nothing", err, store.ErrInvalid)
	_, err = s.Last(t.Context(), turns, -1)
	wantErr(t, "last of less than nothing", err, store.ErrInvalid)
	want(t, s, turns)
	widest := store.Key{Tenant: long[1:], Kind: strings.Repeat("é", store.MaxName/2), Stream: "%?#'\"\\ /" + fmt.Sprint(1)}
	mustAppend(t, s, widest, store.Record{ID: long[1:], Data: data(strings.Repeat("x", store.MaxData-2))})
}
