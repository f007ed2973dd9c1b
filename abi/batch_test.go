package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
)

// goldenItems have every column and every kind of value.
func goldenItems() []Item {
	at := time.Date(2025, 3, 1, 12, 30, 0, 250, time.UTC)
	return []Item{
		{ID: "a", Content: "the quick brown fox", Source: "retrieval", Score: 0.75, Priority: 5, TokenCount: 4, CreatedAt: at,
			Metadata: Metadata{"path": "fox.md", "page": int64(7)}, Embedding: []float32{0.5, -1.25, 3e-9}},
		{ID: "bb", Content: "", Source: "tool", Score: 0, Priority: 6},
		{ID: "a", Content: "naïve – ünïcode \U0001f98a \"quoted\"\n", Source: "user", Score: 1, Priority: 10, TokenCount: 9, CreatedAt: at.Add(time.Hour),
			Metadata: Metadata{"page": int64(math.MaxInt64), "draft": true, "none": nil, "weight": 3.0,
				"tags": []any{"x", int64(1), 2.5, nil, map[string]any{"deep": "y"}}}, Embedding: []float32{0, 0, -1}},
	}
}

func goldenEnvelope() *Envelope {
	return &Envelope{
		Query: &Query{
			Text: "which fox?", Embedding: []float32{0.5, -1.25},
			Metadata:    Metadata{"user": "u1", "big": int64(1) << 60},
			ChatHistory: []Turn{{Role: "user", Content: "hi", Sequence: 1, CreatedAt: time.Unix(1_700_000_000, 0).UTC()}, {Role: "assistant", Content: "hello", TokenCount: 1, Metadata: Metadata{"x": 1.0}}},
		},
		TopK: 10, TokensLeft: 4000, Settings: []byte(`{"min":0.5}`),
	}
}

func encodeBatch(t testing.TB, rows Rows, cols ColumnSet, env *Envelope) []byte {
	t.Helper()
	var w BatchWriter
	size, err := w.Plan(rows, cols, env)
	if err != nil {
		t.Fatal(err)
	}
	b := inplace.AlignedBytes(size)
	for i := range b {
		b[i] = 0xa5 // a guest's buffer holds old bytes
	}
	if err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	return b
}

// itemsOf reads every column back.
func itemsOf(b *Batch) []Item {
	items := make([]Item, b.Len())
	for i := range items {
		items[i] = Item{b.ID(i), b.Text(i), b.Source(i), b.Score(i), b.Priority(i), b.TokenCount(i), b.Metadata(i), b.CreatedAt(i), b.Embedding(i)}
	}
	return items
}

// withoutEmptyMaps makes absent and empty metadata equal, as both lanes do.
func withoutEmptyMaps(items []Item) []Item {
	out := append([]Item(nil), items...)
	for i := range out {
		if len(out[i].Metadata) == 0 {
			out[i].Metadata = nil
		}
	}
	return out
}

func TestBatchRoundTrip(t *testing.T) {
	items, env := goldenItems(), goldenEnvelope()
	b, err := OpenBatch(encodeBatch(t, ItemRows(items), AllColumns, env))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := withoutEmptyMaps(itemsOf(b)), withoutEmptyMaps(items); !reflect.DeepEqual(got, want) {
		t.Errorf("items:\n got %+v\nwant %+v", got, want)
	}
	q, err := b.Query()
	if err != nil || !reflect.DeepEqual(q, env.Query) {
		t.Errorf("query: got %+v, %v\nwant %+v", q, err, env.Query)
	}
	if b.TopK() != 10 || b.TokensLeft() != 4000 || string(b.Settings()) != `{"min":0.5}` || b.QueryText() != "which fox?" {
		t.Errorf("fields: %d %d %s %q", b.TopK(), b.TokensLeft(), b.Settings(), b.QueryText())
	}
	if v, ok := b.MetaValue(2, "page"); !ok || v.String() != "9223372036854775807" {
		t.Errorf("page = %v, %v", v, ok)
	}
	if _, ok := b.MetaValue(1, "page"); ok {
		t.Error("row 1 has a page")
	}
}

// Every subset of the columns holds exactly those columns, in both lanes.
func TestDeclaredColumnsOnly(t *testing.T) {
	items, env := goldenItems(), goldenEnvelope()
	for cols := ColumnSet(0); cols <= AllColumns; cols += 2 {
		b, err := OpenBatch(encodeBatch(t, ItemRows(items), cols, env))
		if err != nil {
			t.Fatalf("%s: %v", cols, err)
		}
		doc, err := AppendItemsRequest(nil, ItemRows(items), cols, env)
		if err != nil {
			t.Fatalf("%s: %v", cols, err)
		}
		if !json.Valid(doc) {
			t.Fatalf("%s: not JSON: %s", cols, doc)
		}
		req, err := DecodeItemsRequest(doc)
		if err != nil {
			t.Fatalf("%s: %v", cols, err)
		}
		j, err := BatchOf(req)
		if err != nil {
			t.Fatalf("%s: %v", cols, err)
		}
		if b.Columns() != cols || j.Columns() != cols {
			t.Errorf("columns %q: batch has %q, JSON %q", cols, b.Columns(), j.Columns())
		}
		want := project(items, cols)
		if got := withoutEmptyMaps(itemsOf(b)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: batch\n got %+v\nwant %+v", cols, got, want)
		}
		if got := withoutEmptyMaps(itemsOf(j)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: JSON\n got %+v\nwant %+v", cols, got, want)
		}
		bq, _ := b.Query()
		jq, _ := j.Query()
		if !reflect.DeepEqual(bq, jq) || b.TopK() != j.TopK() || b.TokensLeft() != j.TokensLeft() || !bytes.Equal(b.Settings(), j.Settings()) {
			t.Errorf("%s: the lanes differ: %+v and %+v", cols, bq, jq)
		}
	}
}

func project(items []Item, cols ColumnSet) []Item {
	out := withoutEmptyMaps(items)
	for i := range out {
		it := &out[i]
		for _, c := range Columns {
			if cols.Has(c) {
				continue
			}
			switch c {
			case ColumnID:
				it.ID = ""
			case ColumnScore:
				it.Score = 0
			case ColumnText:
				it.Content = ""
			case ColumnMetadata:
				it.Metadata = nil
			case ColumnSource:
				it.Source = ""
			case ColumnPriority:
				it.Priority = 0
			case ColumnTokenCount:
				it.TokenCount = 0
			case ColumnCreatedAt:
				it.CreatedAt = time.Time{}
			case ColumnEmbedding:
				it.Embedding = nil
			}
		}
	}
	return out
}

// Invalid UTF-8 of the host is repaired alike in both lanes.
func TestRepairsText(t *testing.T) {
	bad := "a\xff\xfeb\xc3"
	items := []Item{{ID: bad, Content: bad, Source: bad, Metadata: Metadata{"k": bad, "l": []any{bad}}}}
	env := &Envelope{Query: &Query{Text: bad, Metadata: Metadata{"q": bad}}}
	want := "a\uFFFDb\uFFFD"
	b, err := OpenBatch(encodeBatch(t, ItemRows(items), AllColumns, env))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := AppendItemsRequest(nil, ItemRows(items), AllColumns, env)
	if err != nil {
		t.Fatal(err)
	}
	req, err := DecodeItemsRequest(doc)
	if err != nil {
		t.Fatal(err)
	}
	j, err := BatchOf(req)
	if err != nil {
		t.Fatal(err)
	}
	for lane, b := range map[string]*Batch{"batch": b, "JSON": j} {
		m := b.Metadata(0)
		for _, got := range []string{b.ID(0), b.Text(0), b.Source(0), b.QueryText(), m["k"].(string), m["l"].([]any)[0].(string)} {
			if got != want {
				t.Errorf("%s lane: got %q, want %q", lane, got, want)
			}
		}
	}
}

func TestUnsupportedRows(t *testing.T) {
	cyclic := map[string]any{}
	cyclic["self"] = cyclic
	cases := map[string]struct {
		item Item
		want string
	}{
		"channel":     {Item{Metadata: Metadata{"c": make(chan int)}}, `row 1: metadata: "c": value has an unsupported type (want nil, bool, integer, float, string, []any, map[string]any)`},
		"nested":      {Item{Metadata: Metadata{"c": []any{struct{}{}}}}, `row 1: metadata: "c": value has an unsupported type (want nil, bool, integer, float, string, []any, map[string]any)`},
		"nan":         {Item{Metadata: Metadata{"n": math.NaN()}}, `row 1: metadata: "n": number is not finite (want a finite float)`},
		"number":      {Item{Metadata: Metadata{"n": json.Number("1e999")}}, `row 1: metadata: "n": number is malformed or beyond the range of a float (want a JSON number)`},
		"score":       {Item{Score: math.Inf(1)}, `row 1: score: number is not finite (want a finite float)`},
		"priority":    {Item{Priority: -1}, `row 1: priority: -1 is out of range (want 0 to 2147483647)`},
		"token count": {Item{TokenCount: -5}, `row 1: token_count: -5 is out of range (want 0 to 2147483647)`},
		"vector":      {Item{Embedding: []float32{1, float32(math.NaN())}}, `row 1: embedding: number is not finite (want a finite float)`},
		"dimensions":  {Item{Embedding: []float32{1}}, `row 1: embedding: vector has 1 dimensions (want 2, as those before it)`},
		"long vector": {Item{Embedding: make([]float32, MaxDimension+1)}, `row 1: embedding: vector has 16385 dimensions (want at most 16384)`},
		"time":        {Item{CreatedAt: time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC)}, `row 1: created_at: time is outside the years 1678 to 2262 (want one that fits 64-bit nanoseconds)`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rows := ItemRows{{Embedding: []float32{1, 2}}, tc.item}
			var w BatchWriter
			size, err := w.Plan(rows, AllColumns, nil)
			if err == nil {
				err = w.Write(make([]byte, size))
			}
			_, jsonErr := AppendItemsRequest(nil, rows, AllColumns, nil)
			var rowErr *RowError
			for lane, err := range map[string]error{"batch": err, "JSON": jsonErr} {
				if err == nil || err.Error() != tc.want || !errors.As(err, &rowErr) || !errors.Is(err, ErrUnsupported) {
					t.Errorf("%s lane: got %v\nwant %s", lane, err, tc.want)
				}
			}
		})
	}
	rows := ItemRows{{Metadata: Metadata{"c": cyclic}}}
	var w BatchWriter
	if _, err := w.Plan(rows, AllColumns, nil); err == nil || !strings.Contains(err.Error(), "nests deeper") {
		t.Errorf("cyclic value: %v", err)
	}
	if _, err := AppendItemsRequest(nil, rows, AllColumns, nil); err == nil || !strings.Contains(err.Error(), "nests deeper") {
		t.Errorf("cyclic value: %v", err)
	}
}

// Scores that are asked for at once make the bytes and the errors of those that are asked
// for one by one, which also serve where the memory lies askew.
func TestScoresAtOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Float64frombits(0x7ff0_0000_0000_0001)}
	whole := []float64{0, 1, math.Copysign(0, -1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64}
	for range 2000 {
		items, want := make(ItemRows, rng.IntN(20)), ""
		for i := range items {
			items[i].Score = whole[rng.IntN(len(whole))]
			if rng.IntN(20) > 0 {
				continue
			}
			if items[i].Score = odd[rng.IntN(len(odd))]; want == "" {
				want = fmt.Sprintf("row %d: score: number is not finite (want a finite float)", i)
			}
		}
		atOnce, err := writeScores(t, items, 0)
		single, singleErr := writeScores(t, struct{ Rows }{items}, 0)
		askew, askewErr := writeScores(t, items, 4)
		for name, err := range map[string]error{"at once": err, "one by one": singleErr, "askew": askewErr} {
			if (err != nil || want != "") && (err == nil || err.Error() != want) {
				t.Fatalf("%s: %v: got %v, want %q", name, items, err, want)
			}
		}
		if want == "" && (!bytes.Equal(atOnce, single) || !bytes.Equal(atOnce, askew)) {
			t.Fatalf("%v:\nat once    %x\none by one %x\naskew      %x", items, atOnce, single, askew)
		}
	}
}

// writeScores writes a batch of scores that begins so many bytes behind a multiple of 8.
func writeScores(t *testing.T, rows Rows, shift int) ([]byte, error) {
	t.Helper()
	var w BatchWriter
	size, err := w.Plan(rows, ColumnSet(0).With(ColumnScore), nil)
	if err != nil {
		t.Fatal(err)
	}
	b := inplace.AlignedBytes(size + shift)[shift:]
	return b, w.Write(b)
}
