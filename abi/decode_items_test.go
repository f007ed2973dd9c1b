package abi

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi/internal/plainjson"
)

// Documents of hosts are decoded by the fast way.
func TestPlainItems(t *testing.T) {
	metadata := Metadata{"a": int64(1), "b": []any{"x", nil, 1.5}, "c": "]}\"\\"}
	query := &Query{Text: `{"items":[]}`, Embedding: []float32{0.25, -3e9}, Metadata: metadata, ChatHistory: []Turn{{Role: "user", Content: "hi"}}}
	rows := ItemRows{
		{ID: "1", Content: "plain", Source: "retrieval", Score: 0.25, Priority: 3, TokenCount: 7, Metadata: metadata, CreatedAt: time.Unix(1, 0).UTC(),
			Embedding: []float32{0, -1, 1.5, 1e-7, math.MaxFloat32, math.SmallestNonzeroFloat32}},
		{ID: "2", Content: "line\nquote\" back\\ slash/ tab\t null\x00 <html> \u2028 лиса 🦊"}, {}, {Content: strings.Repeat(`\`, 9) + `"`},
	}
	for name, columns := range map[string]ColumnSet{"all": AllColumns, "text": ColumnSet(0).With(ColumnText), "none": 0} {
		for _, rows := range []ItemRows{rows, rows[:1], {}} {
			b, err := AppendItemsRequest(nil, rows, columns, &Envelope{Query: query, Settings: []byte(`{"items":[1,{"a":"]"}]}`)})
			if err != nil {
				t.Fatal(err)
			}
			got, want := plainItems(b), new(ItemsRequest)
			if err := json.Unmarshal(b, want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %d rows: %s\ngot  %+v\nwant %+v", name, len(rows), b, got, want)
			}
		}
	}
}

// Anything unusual is left to encoding/json, with its result or its error.
func TestUnusualItems(t *testing.T) {
	deep := strings.Repeat("[", plainjson.MaxNesting+1) + strings.Repeat("]", plainjson.MaxNesting+1)
	for _, b := range []string{
		``, `null`, `[]`, `{"new":1}`, `{"query":null}`, `{"query":[]}`, `{"query":{"query_str":1}}`, `{"query":{"query_str":"a","query_str":1}}`,
		`{"columns":null}`, `{"columns":[1]}`, `{"columns":["a",]}`, `{"settings":}`, `{"settings":{"a":1]}`, `{"top_k":null}`, `{"items":null}`, `{"items":{}}`, `{"items":[null]}`, `{"items":[{}],"items":[{"id":"b"}]}`, `{"items":[],"Items":[]}`,
		`{"ITEMS":[{}],"items":[]}`, `{"itemſ":[{}],"items":[]}`, `{"items":[],"it\u0065ms":[{}]}`, `{"items":[{"content":"a","Content":"b"}]}`,
		`{"items":[{"content":"a","content":"b"}]}`, `{"items":[{"content":null}]}`, `{"items":[{"content":1}]}`, `{"items":[{"score":"1"}]}`,
		`{"items":[{"score":01}]}`, `{"items":[{"score":1e999}]}`, `{"items":[{"score":+1}]}`, `{"items":[{"score":.5}]}`, `{"items":[{"priority":1.0}]}`,
		`{"items":[{"token_count":99999999999999999999}]}`, `{"items":[{"new":1}]}`, "{\"items\":[{\"content\":\"a\nb\"}]}",
		"{\"items\":[{\"content\":\"\xff\"}]}", `{"items":[{"content":"\x"}]}`, `{"items":[{"content":"a"}],}`, `{"items":[{"content":"a"},]}`,
		`{"items":[{"content":"a"}]`, `{"items":[{"content":"a"}]} x`, `{"items":[{"content":"a}]}`, `{"items":[{"content":"a\"}]}`, `{"items":[{},{"id":"a",}]}`,
		`{"items":[{"metadata":[]}]}`, `{"items":[{"metadata":{"a":` + deep + `}}]}`, `{"items":[{"created_at":"soon"}]}`, `{"items":[] "top_k":1}`,
		`{"top_k":1]{,"items":[]}`, `{"items":[{}],"top_k":}`, `{"items":[{}],"top_k":1e}`,
		`{"query":{"new":1}}`, `{"query":{"embedding":null}}`, `{"query":{"metadata":[]}}`, `{"query":{"chat_history":{}}}`, `{"query":{"query_str":"a"}`,
		`{"items":[{"embedding":null}]}`, `{"items":[{"embedding":{}}]}`, `{"items":[{"embedding":[null]}]}`, `{"items":[{"embedding":[1,]}]}`,
		`{"items":[{"embedding":[,1]}]}`, `{"items":[{"embedding":[1 2]}]}`, `{"items":[{"embedding":[1,"2"]}]}`, `{"items":[{"embedding":[1,[2]]}]}`,
		`{"items":[{"embedding":[1e39]}]}`, `{"items":[{"embedding":[01]}]}`, `{"items":[{"embedding":[NaN]}]}`, `{"items":[{"embedding":[0x1]}]}`,
		`{"items":[{"embedding":[1_0]}]}`, `{"items":[{"embedding":[1.]}]}`, `{"items":[{"embedding":[-]}]}`, `{"items":[{"embedding":[1`, `{"items":[{"embedding":[1}]}`,
		`{"items":[{"embedding":[1],"embedding":[2]}]}`, `{"items":[{"embedding":[1],"Embedding":[2]}]}`,
	} {
		if got := plainItems([]byte(b)); got != nil {
			t.Errorf("%.80s: was decoded to %+v", b, got)
		}
		compareItems(t, []byte(b))
	}
	for _, b := range []string{
		` { "items" : [ { "content" : "a\u00e9\ud83e\udd8a\ud800" , "score" : -1.5E+2 } , { } ] , "top_k" : 3 } `, `{}`, `{"items":[],"query":{"query_str":"q"}}`,
		`{"query":{"query_str":"q","metadata":{"a":1}},"columns":["text"],"tokens_left":-4,"settings": { "a" : [ 1 ] } , "items":[]}`, `{"settings":null}`,
		`{"items":[{"priority":-0}]}`, `{"items":[{"embedding":[]},{"embedding": [ 1 , -0, 2.5E-3 ,1e-400] },{"embedding":[ ]}]}`, `{"query":{"embedding":[1],"chat_history":null,"metadata":null}}`,
	} {
		if plainItems([]byte(b)) == nil {
			t.Errorf("%s: was not decoded", b)
		}
		compareItems(t, []byte(b))
	}
}

// compareItems compares what both ways make of a document, if the fast one makes anything of it.
func compareItems(t *testing.T, b []byte) {
	t.Helper()
	got, want := plainItems(b), new(ItemsRequest)
	err := json.Unmarshal(b, want)
	if got != nil && (err != nil || !reflect.DeepEqual(got, want)) {
		t.Errorf("%.200q:\ngot  %+v\nwant %+v, error %v", b, got, want, err)
	}
}

// Requests are decoded with the result of encoding/json, whatever is in them.
func TestDecodeRequest(t *testing.T) {
	for _, of := range []func() any{func() any { return new(CountRequest) }, func() any { return new(CompactRequest) }, func() any { return new(FormatRequest) }} {
		for _, b := range []string{
			`{}`, `null`, `[]`, ``, `{"texts":[]}`, `{"texts":null}`, `{"texts":[1]}`, `{"texts":["a",]}`, `{"texts":["a"],"texts":["b"]}`, `{"Texts":["a"]}`, `{"texts":["a"],"new":1}`,
			"{\"texts\":[\"\xff\"]}", `{"texts":["a"]`, `{"texts":["a"]} x`, `{"settings":}`, `{"settings":{"a":["]"]}}`, ` { "texts" : [ "a" , "\ud83e\udd8a\n" ] } `,
			`{"turns":[{"role":"user","content":"лиса","token_count":3,"created_at":"2026-01-02T03:04:05+01:00","sequence":9007199254740993,"metadata":{"a":9007199254740993}},{}],"summary":"s"}`,
			`{"turns":[{"role":"user","content":"a"},{"role":1}],"summary":"s"}`, `{"turns":[null,{"ROLE":"b"}]}`, `{"turns":[{"created_at":"soon"}]}`, `{"turns":[{"token_count":1.5}]}`,
			`{"turns":[{"sequence":99999999999999999999}]}`, `{"items":[{"id":"a","content":"b","score":0.5,"metadata":{"x":1}}],"query":"q","max_tokens":7,"used_tokens":-1}`,
		} {
			got, want := of(), of()
			err, failed := DecodeRequest([]byte(b), got), json.Unmarshal([]byte(b), want)
			if (err == nil) != (failed == nil) || err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("%T of %.90q:\ngot  %+v, error %v\nwant %+v, error %v", got, b, got, err, want, failed)
			}
		}
	}
}

func FuzzPlainItems(f *testing.F) {
	b, err := AppendItemsRequest(nil, ItemRows(goldenItems()), AllColumns, goldenEnvelope())
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(b), `{"items":[{"content":"a\n\u00e9","score":0.5,"priority":1,"metadata":{"a":[1,"]"]}}],"top_k":1}`, `{"query":{},"items":[]}`,
		`{"items":[{"embedding":[]},{"embedding":[ 1,-0.5 , 2e-7]}],"query":{"embedding":[1e38]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(compareItems)
}
