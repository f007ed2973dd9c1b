package core

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

var seedEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestItemDecoding(t *testing.T) {
	var it Item
	doc := `{"id":"a","content":"text","source":"tool","score":0.25,"priority":6.0,"token_count":3,"created_at":"2026-01-01T00:00:00Z","sequence":4,
	"metadata":{"big":9007199254740993,"least":-9223372036854775808,"f":1.5,"e":1e2,"s":"x","b":true,"n":null,"l":[1,2.0,{"k":3}]}}`
	if err := json.Unmarshal([]byte(doc), &it); err != nil {
		t.Fatal(err)
	}
	want := Item{ID: "a", Content: "text", Source: SourceTool, Score: 0.25, Priority: 6, TokenCount: 3, CreatedAt: seedEpoch, Sequence: 4,
		Metadata: map[string]any{"big": int64(9007199254740993), "least": int64(math.MinInt64), "f": 1.5, "e": 100.0, "s": "x", "b": true, "n": nil,
			"l": []any{int64(1), 2.0, map[string]any{"k": int64(3)}}}}
	if !reflect.DeepEqual(it, want) {
		t.Errorf("%#v\nwant\n%#v", it, want)
	}
}

func TestItemDefaults(t *testing.T) {
	var it Item
	if err := json.Unmarshal([]byte(`{"content":"text","source":"memory","score":null,"metadata":null}`), &it); err != nil {
		t.Fatal(err)
	}
	if want := (Item{ID: "item-982d9e3eb996f559", Content: "text", Source: SourceMemory, Priority: 5}); !reflect.DeepEqual(it, want) {
		t.Errorf("%+v, want %+v", it, want)
	}
}

func TestItemRefusals(t *testing.T) {
	for doc, want := range map[string]string{
		`[]`:                               `item: []: invalid value (want an object)`,
		`{"content":"x"}`:                  `item: source: missing: invalid value`,
		`{"source":"user"}`:                `item: content: missing: invalid value`,
		`{"content":null,"source":"user"}`: `item: content: null: invalid value (want a string)`,
		`{"content":"x","source":"user","Score":1}`:                              `item: Score: unknown key: invalid value (did you mean "score"?)`,
		`{"content":"x","source":"user","nope":null}`:                            `item: nope: unknown key: invalid value (want one of id, content, source, score, priority, token_count, metadata, created_at, sequence, parts)`,
		`{"content":"x","content":"y"}`:                                          `item: content: given twice: invalid value`,
		`{"content":"x","source":"user","score":"0.5"}`:                          `item: score: "0.5": invalid value (want a number)`,
		`{"content":"x","source":"user","score":1e999}`:                          `item: score: 1e999: invalid value (want a number within float64)`,
		`{"content":"x","source":"user","score":2}`:                              `item "item-2d711642b726b044": score 2: invalid value (want 0 to 1)`,
		`{"content":"x","source":"user","priority":5.5}`:                         `item: priority: 5.5: invalid value (want an integer)`,
		`{"content":"x","source":"user","priority":true}`:                        `item: priority: true: invalid value (want an integer)`,
		`{"content":"x","source":"user","sequence":1.5}`:                         `item: sequence: 1.5: invalid value (want an integer within 64 bits)`,
		`{"content":"x","source":"user","created_at":"yesterday"}`:               `item: created_at: "yesterday": invalid value (want a time in RFC 3339)`,
		`{"content":"x","source":"user","metadata":[]}`:                          `item: metadata: []: invalid value (want an object)`,
		`{"content":"x","source":"user","metadata":{"a":[9223372036854775808]}}`: `item: metadata.a[0]: 9223372036854775808: invalid value (want an integer within 64 bits; write it as a string)`,
		`{"content":"x","source":"user","metadata":{"a":1e999}}`:                 `item: metadata.a: 1e999: invalid value (want a number within float64)`,
	} {
		it := Item{ID: "before"}
		err := json.Unmarshal([]byte(doc), &it)
		if err == nil || err.Error() != want {
			t.Errorf("%s\n%v\nwant\n%s", doc, err, want)
		}
		if !reflect.DeepEqual(it, Item{ID: "before"}) {
			t.Errorf("%s changed the item", doc)
		}
	}
}

func TestUnmarshalWithoutTheDecoder(t *testing.T) {
	for _, doc := range []string{``, `{`, `{"content":"x"`, `{"content":"x","source":"user"} {}`, `{"content":}`} {
		var it Item
		if err := it.UnmarshalJSON([]byte(doc)); err == nil {
			t.Errorf("%q: no error", doc)
		}
	}
}

func TestQueryDecoding(t *testing.T) {
	var q Query
	if err := json.Unmarshal([]byte(`"just text"`), &q); err != nil || q.Text != "just text" {
		t.Errorf("%+v, %v", q, err)
	}
	doc := `{"query_str":"q","embedding":[0.5,-1],"metadata":{"n":9007199254740993},
	"chat_history":[{"role":"user","content":"hi","token_count":1,"created_at":"2026-01-01T00:00:00Z","metadata":{"k":1}}]}`
	if err := json.Unmarshal([]byte(doc), &q); err != nil {
		t.Fatal(err)
	}
	want := Query{Text: "q", Embedding: []float32{0.5, -1}, Metadata: map[string]any{"n": int64(9007199254740993)},
		ChatHistory: []Turn{{Role: RoleUser, Content: "hi", TokenCount: 1, CreatedAt: seedEpoch, Metadata: map[string]any{"k": int64(1)}}}}
	if !reflect.DeepEqual(q, want) {
		t.Errorf("%+v, want %+v", q, want)
	}
}

func TestQueryRefusals(t *testing.T) {
	for doc, want := range map[string]string{
		`7`:               `query: 7: invalid value (want an object)`,
		`{}`:              `query: query_str: missing: invalid value`,
		`{"query":"q"}`:   `query: query: unknown key: invalid value (want one of query_str, embedding, metadata, chat_history)`,
		`{"query_str":7}`: `query: query_str: 7: invalid value (want a string)`,
		`{"query_str":"q","chat_history":[{"role":"bard","content":""}]}`:          `query: chat_history[0]: turn: role "bard": invalid value (want user, assistant, system or tool)`,
		`{"query_str":"q","chat_history":[{"role":"user"}]}`:                       `query: chat_history[0]: turn: content: missing: invalid value`,
		`{"query_str":"q","chat_history":[{"role":"user","content":"","text":1}]}`: `query: chat_history[0]: turn: text: unknown key: invalid value (want one of role, content, token_count, created_at, sequence, metadata, message)`,
	} {
		var q Query
		if err := json.Unmarshal([]byte(doc), &q); err == nil || err.Error() != want {
			t.Errorf("%s\n%v\nwant\n%s", doc, err, want)
		}
	}
	if err := json.Unmarshal([]byte(`{"query_str":"q","embedding":[1e99]}`), new(Query)); err == nil {
		t.Error("embedding beyond float32 is accepted")
	}
	if err := (&Query{Embedding: []float32{float32(math.NaN())}}).Validate(); !errors.Is(err, ErrInvalid) {
		t.Errorf("NaN in an embedding: %v", err)
	}
}

func TestOverflowItemDocument(t *testing.T) {
	o := OverflowItem{Item: Item{ID: "a", Content: "a", Source: SourceRetrieval, Score: 0.5, Priority: 5, TokenCount: 1, CreatedAt: seedEpoch}, Reason: OverflowSourceCap, Available: 3}
	o.Metadata = map[string]any{}
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var back OverflowItem
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, o) {
		t.Errorf("%+v, %v, want %+v", back, err, o)
	}
	if err := json.Unmarshal([]byte(strings.Replace(string(data), `"reason"`, `"why"`, 1)), &back); err == nil {
		t.Error("unknown key is accepted")
	}
}

func FuzzItemJSON(f *testing.F) {
	f.Add([]byte(`{"content":"x","source":"user"}`))
	f.Add([]byte(`{"id":"a","content":"t","source":"tool","score":0.25,"priority":6,"token_count":3,"created_at":"2026-01-01T00:00:00.123456789+02:00","metadata":{"a":[1,2.5,{"b":null}],"c":9007199254740993}}`))
	f.Add([]byte(`{"content":"\ud800","source":"user","metadata":{"":{"":[]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var it Item
		err := it.UnmarshalJSON(data)
		if err != nil {
			if !reflect.DeepEqual(it, Item{}) {
				t.Fatalf("value and error: %+v, %v", it, err)
			}
			return
		}
		if err := it.Validate(); err != nil {
			t.Fatalf("decoded an invalid item: %v", err)
		}
		checkKinds(t, it.Metadata)
		again, err := json.Marshal(it)
		if err != nil {
			t.Fatalf("cannot write what was read: %v", err)
		}
		var back Item
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatalf("cannot read what was written: %s: %v", again, err)
		}
		if !it.CreatedAt.Equal(back.CreatedAt) {
			t.Fatalf("time %v became %v", it.CreatedAt, back.CreatedAt)
		}
		it.CreatedAt, back.CreatedAt = time.Time{}, time.Time{}
		it.Metadata, back.Metadata = floats(it.Metadata), floats(back.Metadata)
		if !reflect.DeepEqual(it, back) {
			t.Fatalf("%+v became %+v", it, back)
		}
	})
}

// checkKinds fails for a kind that metadata may not hold.
func checkKinds(t *testing.T, v any) {
	switch v := v.(type) {
	case nil, bool, int64, string:
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("metadata holds %v", v)
		}
	case []any:
		for _, e := range v {
			checkKinds(t, e)
		}
	case map[string]any:
		for _, e := range v {
			checkKinds(t, e)
		}
	default:
		t.Fatalf("metadata holds a %T", v)
	}
}

// floats makes numbers comparable: JSON writes 2.0 as 2. Absent and empty metadata are
// the same.
func floats(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = floatsIn(v)
	}
	return out
}

func floatsIn(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case map[string]any:
		return floats(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = floatsIn(v[i])
		}
		return out
	}
	return v
}

func FuzzQueryJSON(f *testing.F) {
	f.Add([]byte(`"text"`))
	f.Add([]byte(`{"query_str":"q","embedding":[0.5],"metadata":{"a":1},"chat_history":[{"role":"user","content":"hi"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var q Query
		err := q.UnmarshalJSON(data)
		if err != nil {
			if !reflect.DeepEqual(q, Query{}) {
				t.Fatalf("value and error: %+v, %v", q, err)
			}
			return
		}
		if err := q.Validate(); err != nil {
			t.Fatalf("decoded an invalid query: %v", err)
		}
		checkKinds(t, q.Metadata)
		again, err := json.Marshal(q)
		if err != nil {
			t.Fatalf("cannot write what was read: %v", err)
		}
		var back Query
		if err := json.Unmarshal(again, &back); err != nil || back.Text != q.Text || len(back.ChatHistory) != len(q.ChatHistory) {
			t.Fatalf("%+v became %+v, %v", q, back, err)
		}
	})
}
