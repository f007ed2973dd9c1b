package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"testing"
)

func FuzzOpenBatch(f *testing.F) {
	f.Add(encodeBatch(f, ItemRows(goldenItems()), AllColumns, goldenEnvelope()))
	f.Add(encodeBatch(f, ItemRows(goldenItems()), ColumnSet(0).With(ColumnScore), nil))
	f.Add(encodeBatch(f, nil, 0, &Envelope{Query: &Query{Text: "q"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := OpenBatch(b)
		if (v == nil) == (err == nil) {
			t.Fatalf("value %v and error %v", v, err)
		}
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		readAll(v)
	})
}

func FuzzDecodeChanges(f *testing.F) {
	for _, c := range []*Changes{goldenChanges(), {}, {Keep: []uint32{}}, {Scores: []RowScore{{1, 0.5}}}} {
		b, err := AppendChanges(nil, c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeChanges(b)
		checkDecoded(t, c, err)
		used := goldenChanges()
		usedErr := used.Decode(b)
		if c == nil {
			c = &Changes{}
		}
		if (err == nil) != (usedErr == nil) || !sameChanges(used, c) {
			t.Fatalf("into a used set: %+v, error %v; afresh %+v, error %v", used, usedErr, c, err)
		}
		if err != nil || c.Check(8, wideGrant()) != nil {
			return
		}
		checkLanes(t, c)
	})
}

// sameChanges compares the lists of rows, and how many other changes there are: scores
// that are no numbers would never be equal.
func sameChanges(a, b *Changes) bool {
	return reflect.DeepEqual(a.Keep, b.Keep) && reflect.DeepEqual(a.Order, b.Order) &&
		len(a.Edits) == len(b.Edits) && len(a.Scores) == len(b.Scores) && len(a.Items) == len(b.Items)
}

func FuzzDecodeChangesJSON(f *testing.F) {
	doc, err := AppendChangesJSON(nil, goldenChanges())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(doc)
	f.Add([]byte(`{"keep":[0,1],"order":[1,0]}`))
	f.Add([]byte(`{"items":[{"content":"x","metadata":{"a":1e30,"b":[-0]},"created_at":"2025-01-01T00:00:00+02:00"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeChangesJSON(b)
		checkDecoded(t, c, err)
		if err != nil || c.Check(8, wideGrant()) != nil {
			return
		}
		checkLanes(t, c)
		doc, err := AppendChangesJSON(nil, c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeChangesJSON(doc)
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Fatalf("round trip: %v\n%s\n%s", err, b, doc)
		}
	})
}

func checkDecoded(t *testing.T, c *Changes, err error) {
	t.Helper()
	if (c == nil) == (err == nil) {
		t.Fatalf("value %v and error %v", c, err)
	}
	var ce *ChangeError
	if err != nil && (!errors.As(err, &ce) || !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooLarge)) {
		t.Fatalf("untyped error %v", err)
	}
}

// FuzzDecodeReply decodes an answer into each document. One that is accepted is JSON that
// encoding/json accepts, and comes back as it was.
func FuzzDecodeReply(f *testing.F) {
	for _, doc := range []string{`{"queries":[{"query_str":"q","embedding":[0.5],"metadata":{"a":[1,{"b":null}]},"chat_history":[{"role":"user","content":"x","sequence":1}]}]}`,
		`{"label":"a"}`, `{"query_str":"\ud83e\udd8a"}`, `{"items":[{"content":"a","score":1,"created_at":"2025-01-01T00:00:00+02:00"}]}`, `{"summary":"\n"}`,
		`{"messages":[{"role":"user","content":"x","tool_calls":[{"a":1}]}],"state":{"observations":[],"data":{}}}`, `{"add":[{"content":"a","tags":["b"]}],"update":[{"id":"c","content":"d"}],"remove":["e"]}`, `{"replace":["a",""],"add":[]}`, `{"reflection":"b"}`, `{"tokens":1}`,
		`{"format_type":"x","output":{"a":[true,false]}}`, `{"counts":[1,2,3]}`, `{"label":"a","label":"b"}`, `{"LABEL":"a"}`, `{"label":"\ud800"}`, `{"label":null}`} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, name := range replies() {
			doc := NewDocument(name)
			err := DecodeReply(b, doc)
			if err != nil {
				if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooLarge) {
					t.Fatalf("%T: untyped error %v", doc, err)
				}
				continue
			}
			other := NewDocument(name)
			if err := json.Unmarshal(b, other); err != nil {
				t.Fatalf("%T: encoding/json refuses %q: %v", doc, b, err)
			}
			got, err1 := json.Marshal(doc)
			want, err2 := json.Marshal(other)
			if err1 == nil && err2 == nil && !bytes.Equal(sameTimes(got), sameTimes(want)) {
				t.Fatalf("%T of %q:\n%s\n%s", doc, b, got, want)
			}
		}
	})
}

var timeMember = regexp.MustCompile(`"created_at":"[^"]*",?|"(items|queries|metadata)":(null|\[\]|{}),?`)

// sameTimes takes out what the decoder normalizes: time zones, and what is empty.
func sameTimes(doc []byte) []byte { return timeMember.ReplaceAll(doc, nil) }

func FuzzDecodeItemsRequest(f *testing.F) {
	doc, err := AppendItemsRequest(nil, ItemRows(goldenItems()), AllColumns, goldenEnvelope())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(doc)
	f.Fuzz(func(t *testing.T, b []byte) {
		req, err := DecodeItemsRequest(b)
		if (req == nil) == (err == nil) {
			t.Fatalf("value %v and error %v", req, err)
		}
		if err != nil {
			return
		}
		v, err := BatchOf(req)
		if (v == nil) == (err == nil) {
			t.Fatalf("value %v and error %v", v, err)
		}
		if err == nil {
			readAll(v)
		}
	})
}
