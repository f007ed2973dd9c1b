package indextest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

var docs = retrieve.Collection{Tenant: "a", Name: "docs"}

// Run runs the contract tests. It calls fresh once for each, to get an empty index.
func Run(t *testing.T, fresh func(t *testing.T) retrieve.Index) {
	for _, tt := range []struct {
		name string
		test func(t *testing.T, x retrieve.Index)
	}{
		{"collections are made, listed and removed", collections},
		{"settings are fixed", settingsFixed},
		{"documents are as they were written", documentsKept},
		{"tenants and collections are apart", apart},
		{"an upsert is whole or nothing", upsertWhole},
		{"limits and wrong arguments", wrong},
		{"words, vectors and both", searches},
		{"a hybrid search uses both scores of a chunk", bothScores},
		{"like hits support each other", neighbours},
		{"equal scores come by id", ties},
		{"filters", filters},
		{"words are folded", folded},
		{"copies come once", copies},
		{"a parent comes in the place of its chunks", parents},
		{"another model", models},
		{"results depend on the documents alone", orderFree},
		{"loops may write", loops},
		{"documents are listed by range, and roots move", ranges},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, fresh(t)) })
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, x retrieve.Index, c retrieve.Collection, s retrieve.Settings) {
	t.Helper()
	must(t, x.Create(t.Context(), c, s))
}

func text(id string, texts ...string) retrieve.Document {
	d := retrieve.Document{ID: id}
	for _, s := range texts {
		d.Chunks = append(d.Chunks, retrieve.Chunk{Text: s})
	}
	return d
}

func find(t *testing.T, x retrieve.Index, c retrieve.Collection, q retrieve.Query) []string {
	t.Helper()
	hits, err := x.Search(t.Context(), c, q)
	must(t, err)
	ids := []string{}
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return ids
}

func want(t *testing.T, have []string, want ...string) {
	t.Helper()
	if !slices.Equal(have, want) {
		t.Errorf("have %q, want %q", have, want)
	}
}

func collections(t *testing.T, x retrieve.Index) {
	ctx := t.Context()
	if _, err := x.Search(ctx, docs, retrieve.Query{Text: "a"}); !errors.Is(err, retrieve.ErrNotFound) || !strings.Contains(err.Error(), "--collection docs") {
		t.Errorf("search of a collection that is not there: %v", err)
	}
	if err := x.Upsert(ctx, docs, text("a", "b")); !errors.Is(err, retrieve.ErrNotFound) {
		t.Errorf("write to a collection that is not there: %v", err)
	}
	create(t, x, retrieve.Collection{Tenant: "a", Name: "z"}, retrieve.Settings{})
	create(t, x, docs, retrieve.Settings{})
	create(t, x, docs, retrieve.Settings{})
	must(t, x.Upsert(ctx, docs, text("one", "a word", "another"), text("two", "word")))
	infos, err := x.Collections(ctx, "a")
	must(t, err)
	if len(infos) != 2 || infos[0].Name != "docs" || infos[0].Documents != 2 || infos[0].Chunks != 3 || infos[0].Bytes == 0 || infos[0].IndexBytes == 0 || infos[1].Documents != 0 {
		t.Errorf("collections %+v", infos)
	}
	info, err := x.Collection(ctx, docs)
	must(t, err)
	if !reflect.DeepEqual(info, infos[0]) {
		t.Errorf("have %+v, want %+v", info, infos[0])
	}
	if s, err := x.Settings(ctx, docs); err != nil || !reflect.DeepEqual(s, info.Settings) {
		t.Errorf("settings %+v, error %v, want %+v", s, err, info.Settings)
	}
	must(t, x.Remove(ctx, docs))
	if _, err := x.Settings(ctx, docs); !errors.Is(err, retrieve.ErrNotFound) {
		t.Errorf("settings of a collection that is not there: %v", err)
	}
	if err := x.Remove(ctx, docs); !errors.Is(err, retrieve.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	create(t, x, docs, retrieve.Settings{})
	want(t, find(t, x, docs, retrieve.Query{Text: "word"}))
}

func settingsFixed(t *testing.T, x retrieve.Index) {
	no := false
	create(t, x, docs, retrieve.Settings{Stem: &no, Model: retrieve.Model{ID: "m", Dimension: 2}})
	create(t, x, docs, retrieve.Settings{Stem: &no}) // no model is any model
	for _, s := range []retrieve.Settings{{}, {Stem: &no, StopWords: "none"}, {Stem: &no, Vectors: retrieve.VectorsInt8}, {Stem: &no, Model: retrieve.Model{ID: "m", Dimension: 3}}} {
		if err := x.Create(t.Context(), docs, s); !errors.Is(err, retrieve.ErrExists) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	must(t, x.Upsert(t.Context(), docs, text("a", "flags"), text("b", "flag")))
	want(t, find(t, x, docs, retrieve.Query{Text: "flag"}), "b#1")
}

// rich is a document with everything.
func rich() retrieve.Document {
	return retrieve.Document{
		ID: "guide.md", Path: "docs/guide.md", Root: "/home/docs/", Hash: "sha256:1", Size: 12, ModTime: time.Unix(5, 7).UTC(), Title: "The guide",
		Time: time.Unix(1_700_000_000, 0).UTC(), Meta: map[string]string{"lang": "en", "empty": ""},
		Chunks: []retrieve.Chunk{
			{Text: "Whole part", Headings: []string{"The guide"}, Page: 1, PageEnd: 3, Lines: retrieve.Lines{From: 1, To: 9}},
			{Text: "First words", Context: "From the start.", Headings: []string{"The guide", "Start"}, Page: 1, PageEnd: 2, Lines: retrieve.Lines{From: 1, To: 4}, Parent: 1, Vector: []float32{0.6, 0.8}},
			{Text: "", Lines: retrieve.Lines{From: 5, To: 9}, Parent: 1},
			{Text: strings.Repeat("long ", 20_000), Vector: []float32{0, 1}},
			{Text: "last"},
		},
	}
}

func documentsKept(t *testing.T, x retrieve.Index) {
	ctx := t.Context()
	create(t, x, docs, retrieve.Settings{Model: retrieve.Model{ID: "m", Dimension: 2}})
	must(t, x.Upsert(ctx, docs, text("b"), rich()))
	must(t, x.Upsert(ctx, docs, text("b", "new")))
	have, err := x.Document(ctx, docs, "guide.md")
	must(t, err)
	if !reflect.DeepEqual(have, rich()) {
		t.Errorf("have %+v", have)
	}
	infos := map[string]retrieve.DocumentInfo{}
	for d, err := range x.Documents(ctx, docs, retrieve.IDs{}) {
		must(t, err)
		infos[d.ID] = d
	}
	wantInfos := map[string]retrieve.DocumentInfo{
		"b":        {ID: "b", Path: "b", Chunks: 1},
		"guide.md": {ID: "guide.md", Path: "docs/guide.md", Root: "/home/docs/", Hash: "sha256:1", Size: 12, ModTime: time.Unix(5, 7).UTC(), Chunks: 5, Vectors: 2},
	}
	if !maps.Equal(infos, wantInfos) {
		t.Errorf("have %+v", infos)
	}
	var exported []string
	for d, err := range x.Export(ctx, docs) {
		must(t, err)
		exported = append(exported, d.ID)
	}
	want(t, exported, "b", "guide.md")
	n, err := x.Delete(ctx, docs, "guide.md", "nothing")
	must(t, err)
	if n != 1 {
		t.Errorf("deleted %d", n)
	}
	if _, err := x.Document(ctx, docs, "guide.md"); !errors.Is(err, retrieve.ErrNotFound) {
		t.Errorf("a deleted document: %v", err)
	}
	want(t, find(t, x, docs, retrieve.Query{Text: "long words"}))
	must(t, x.Compact(ctx, docs))
	want(t, find(t, x, docs, retrieve.Query{Text: "new"}), "b#1")
	must(t, x.Upsert(ctx, docs, rich()))
	hits, err := x.Search(ctx, docs, retrieve.Query{Text: "first"})
	must(t, err)
	if len(hits) != 1 || hits[0].Page != 1 || hits[0].PageEnd != 3 {
		t.Errorf("pages of a hit: %+v", hits)
	}
}

func apart(t *testing.T, x retrieve.Index) {
	all := []retrieve.Collection{{Tenant: "a", Name: "b"}, {Tenant: "b", Name: "b"}, {Tenant: "b", Name: "a"}, {Tenant: "ab", Name: "b"}, {Tenant: "a", Name: "bb"}}
	for _, c := range all {
		create(t, x, c, retrieve.Settings{Model: retrieve.Model{ID: "m", Dimension: 1}})
		d := text("id", "secret of "+c.Tenant+" and "+c.Name)
		d.Chunks[0].Vector = []float32{1}
		d.Hash = c.String()
		must(t, x.Upsert(t.Context(), c, d))
	}
	for _, c := range all {
		for _, q := range []retrieve.Query{{Text: "secret"}, {Vector: []float32{1}}, {Text: "secret", Vector: []float32{1}}} {
			hits, err := x.Search(t.Context(), c, q)
			must(t, err)
			if len(hits) != 1 || hits[0].Hash != c.String() {
				t.Errorf("%s: %+v", c, hits)
			}
		}
		d, err := x.Document(t.Context(), c, "id")
		if err != nil || d.Hash != c.String() {
			t.Errorf("%s: %+v, %v", c, d, err)
		}
	}
	must(t, x.Remove(t.Context(), all[0]))
	for _, c := range all[1:] {
		want(t, find(t, x, c, retrieve.Query{Text: "secret"}), "id#1")
	}
	infos, err := x.Collections(t.Context(), "b")
	must(t, err)
	if len(infos) != 2 {
		t.Errorf("collections of b: %+v", infos)
	}
}

func upsertWhole(t *testing.T, x retrieve.Index) {
	create(t, x, docs, retrieve.Settings{})
	must(t, x.Upsert(t.Context(), docs, text("a", "old")))
	if err := x.Upsert(t.Context(), docs, text("a", "new"), text("", "new")); !errors.Is(err, retrieve.ErrInvalid) {
		t.Errorf("a document without an id: %v", err)
	}
	want(t, find(t, x, docs, retrieve.Query{Text: "new"}))
	want(t, find(t, x, docs, retrieve.Query{Text: "old"}), "a#1")
}

func wrong(t *testing.T, x retrieve.Index) {
	ctx := t.Context()
	create(t, x, docs, retrieve.Settings{Model: retrieve.Model{ID: "m", Dimension: 2}})
	vector := func(v ...float32) retrieve.Document {
		return retrieve.Document{ID: "v", Chunks: []retrieve.Chunk{{Text: "a", Vector: v}}}
	}
	for name, tt := range map[string]struct {
		docs []retrieve.Document
		want error
	}{
		"twice":      {[]retrieve.Document{text("a"), text("a")}, retrieve.ErrInvalid},
		"control":    {[]retrieve.Document{text("a\n")}, retrieve.ErrInvalid},
		"long id":    {[]retrieve.Document{text(strings.Repeat("a", retrieve.MaxID+1))}, retrieve.ErrInvalid},
		"page":       {[]retrieve.Document{{ID: "a", Chunks: []retrieve.Chunk{{Page: -1}}}}, retrieve.ErrInvalid},
		"parent":     {[]retrieve.Document{{ID: "a", Chunks: []retrieve.Chunk{{Parent: 2}}}}, retrieve.ErrInvalid},
		"own parent": {[]retrieve.Document{{ID: "a", Chunks: []retrieve.Chunk{{Parent: 1}}}}, retrieve.ErrInvalid},
		"ancestors":  {[]retrieve.Document{{ID: "a", Chunks: []retrieve.Chunk{{}, {Parent: 1}, {Parent: 2}}}}, retrieve.ErrInvalid},
		"dimension":  {[]retrieve.Document{vector(1, 2, 3)}, retrieve.ErrModel},
		"NaN":        {[]retrieve.Document{vector(1, float32(math.NaN()))}, retrieve.ErrVectors},
		"infinite":   {[]retrieve.Document{vector(1, float32(math.Inf(1)))}, retrieve.ErrVectors},
	} {
		if err := x.Upsert(ctx, docs, tt.docs...); !errors.Is(err, tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	zero, two := 0.0, 2.0
	for name, q := range map[string]retrieve.Query{
		"by": {By: "magic"}, "no vector": {By: retrieve.ByVectors}, "k": {K: -1}, "large k": {K: retrieve.MaxK + 1}, "b": {B: &two}, "weight": {VectorWeight: &two},
		"fusion": {Fusion: "sum"}, "filter": {Filter: []retrieve.Condition{{Field: "a", Op: "~", Values: []string{""}}}}, "no value": {Filter: []retrieve.Condition{{Field: "a", Op: "="}}},
	} {
		if _, err := x.Search(ctx, docs, q); !errors.Is(err, retrieve.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	want(t, find(t, x, docs, retrieve.Query{Text: "anything", K1: &zero, B: &zero}))
	if err := x.Create(ctx, retrieve.Collection{Name: "x"}, retrieve.Settings{}); !errors.Is(err, retrieve.ErrInvalid) {
		t.Errorf("no tenant: %v", err)
	}
}

func searches(t *testing.T, x retrieve.Index) {
	for _, form := range []retrieve.VectorForm{retrieve.VectorsF32, retrieve.VectorsInt8} {
		c := retrieve.Collection{Tenant: "a", Name: string(form)}
		create(t, x, c, retrieve.Settings{Model: retrieve.Model{ID: "m", Dimension: 3}, Vectors: form})
		must(t, x.Upsert(t.Context(), c,
			retrieve.Document{ID: "flags", Title: "Package flag", Chunks: []retrieve.Chunk{{Text: "It parses command lines.", Vector: []float32{9, 0, 0}}}},
			retrieve.Document{ID: "sort", Chunks: []retrieve.Chunk{{Text: "SortSlices orders.", Vector: []float32{0, -2, 0}}, {Text: "nothing", Headings: []string{"Flags"}}}},
			retrieve.Document{ID: "none", Chunks: []retrieve.Chunk{{Text: "void", Vector: []float32{0, 0, 0}}}}))
		want(t, find(t, x, c, retrieve.Query{Text: "how are flags parsed"}), "flags#1", "sort#2")
		want(t, find(t, x, c, retrieve.Query{Text: "slices"}), "sort#1")
		want(t, find(t, x, c, retrieve.Query{Vector: []float32{0.5, -2, 0}, Model: "m"}), "sort#1", "flags#1", "none#1")
		want(t, find(t, x, c, retrieve.Query{Vector: []float32{0.5, -2, 0}, K: 1}), "sort#1")
		hits, err := x.Search(t.Context(), c, retrieve.Query{Text: "flags parsed", Vector: []float32{1, 0, 0}})
		must(t, err)
		if len(hits) != 4 || hits[0].ID != "flags#1" || hits[0].Score != 1 || math.Abs(hits[0].Cosine-1) > 0.01 || hits[0].Words <= 0 || hits[0].Text != "It parses command lines." || hits[0].Vector[0] < 0.99 {
			t.Errorf("hits %+v", hits)
		}
		all := 1.0
		hits, err = x.Search(t.Context(), c, retrieve.Query{Text: "flag", Vector: []float32{0, -1, 0}, VectorWeight: &all, Fusion: retrieve.FusionRRF})
		must(t, err)
		if hits[0].ID != "sort#1" || hits[0].Score != 1.0/61 {
			t.Errorf("hits %+v", hits)
		}
	}
}

// bothScores searches with lists of two of three chunks. The second in both lists is not far
// behind the first of each.
func bothScores(t *testing.T, x retrieve.Index) {
	create(t, x, docs, retrieve.Settings{Model: retrieve.Model{ID: "m", Dimension: 2}})
	for id, d := range map[string]retrieve.Chunk{
		"word":   {Text: "flag flag flag flag", Vector: []float32{1, 1}},
		"both":   {Text: "flag flag pad pad", Vector: []float32{1, 0.5}},
		"vector": {Text: "flag pad pad pad", Vector: []float32{1, 0}},
	} {
		must(t, x.Upsert(t.Context(), docs, retrieve.Document{ID: id, Chunks: []retrieve.Chunk{d}}))
	}
	half := 0.5
	hits, err := x.Search(t.Context(), docs, retrieve.Query{Text: "flag", Vector: []float32{1, 0}, Depth: 2, VectorWeight: &half})
	must(t, err)
	if len(hits) != 3 || hits[0].ID != "both#1" {
		t.Fatalf("hits %+v", hits)
	}
	for _, h := range hits {
		if h.Words <= 0 || h.Cosine <= 0 {
			t.Errorf("%s lacks a score: %+v", h.ID, h)
		}
	}
}

// neighbours searches for a chunk that stands alone and is closest to the question, beside four
// that are like each other.
func neighbours(t *testing.T, x retrieve.Index) {
	create(t, x, docs, retrieve.Settings{Model: retrieve.Model{ID: "m", Dimension: 3}})
	for id, v := range map[string][]float32{
		"best": {1, 0.6, 0}, "alone": {1, -1, 0}, "far": {0, 0, 1}, "like1": {1, 1.05, 0}, "like2": {1, 1.06, 0}, "like3": {1, 1.07, 0}, "like4": {1, 1.08, 0},
	} {
		must(t, x.Upsert(t.Context(), docs, retrieve.Document{ID: id, Chunks: []retrieve.Chunk{{Text: "w", Vector: v}}}))
	}
	must(t, x.Upsert(t.Context(), docs, retrieve.Document{ID: "words", Chunks: []retrieve.Chunk{{Text: "question"}}}))
	all := 1.0
	for share, want := range map[float64]string{0: "alone", 0.9: "like"} {
		q := retrieve.Query{By: retrieve.ByHybrid, Text: "question", Vector: []float32{1, 0, 0}, VectorWeight: &all, Neighbours: &share, KeepCopies: true}
		hits, err := x.Search(t.Context(), docs, q)
		must(t, err)
		if len(hits) != 8 || hits[0].ID != "best#1" || !strings.HasPrefix(hits[1].ID, want) {
			t.Fatalf("with %v: hits %+v, want best, then %s", share, hits, want)
		}
		for _, h := range hits {
			if h.Score < 0 || h.Score > 1 {
				t.Errorf("with %v: score %v", share, h.Score)
			}
		}
	}
}

func ties(t *testing.T, x retrieve.Index) {
	create(t, x, docs, retrieve.Settings{})
	for _, id := range []string{"c", "a", "b", "B"} {
		must(t, x.Upsert(t.Context(), docs, text(id, "same", "same")))
	}
	want(t, find(t, x, docs, retrieve.Query{Text: "same", KeepCopies: true}), "B#1", "B#2", "a#1", "a#2", "b#1", "b#2", "c#1", "c#2")
	want(t, find(t, x, docs, retrieve.Query{Text: "same", K: 3, KeepCopies: true}), "B#1", "B#2", "a#1")
}

func filters(t *testing.T, x retrieve.Index) {
	create(t, x, docs, retrieve.Settings{})
	day := func(n int) time.Time { return time.Date(2024, 1, n, 0, 0, 0, 0, time.UTC) }
	must(t, x.Upsert(t.Context(), docs,
		retrieve.Document{ID: "a", Path: "x/a.go", Time: day(1), Meta: map[string]string{"stars": "9", "tags": "go, wasm"}, Chunks: []retrieve.Chunk{{Text: "w", Page: 1}, {Text: "w", Page: 10, Headings: []string{"A", "B"}}}},
		retrieve.Document{ID: "b", Path: "y/b.md", Time: day(2), Meta: map[string]string{"stars": "10", "tags": "go"}, Chunks: []retrieve.Chunk{{Text: "w", Lines: retrieve.Lines{From: 7, To: 8}}}},
		text("c", "w")))
	for _, tt := range []struct {
		filter []retrieve.Condition
		want   []string
	}{
		{nil, []string{"a#1", "a#2", "b#1", "c#1"}},
		{[]retrieve.Condition{{Field: "path", Op: retrieve.OpPrefix, Values: []string{"x/", "z/"}}}, []string{"a#1", "a#2"}},
		{[]retrieve.Condition{{Field: "id", Op: retrieve.OpEqual, Values: []string{"c", "b"}}}, []string{"b#1", "c#1"}},
		{[]retrieve.Condition{{Field: "id", Op: retrieve.OpNotEqual, Values: []string{"c", "b"}}}, []string{"a#1", "a#2"}},
		{[]retrieve.Condition{{Field: "stars", Op: retrieve.OpAtLeast, Values: []string{"10"}}}, []string{"b#1"}},
		{[]retrieve.Condition{{Field: "stars", Op: retrieve.OpEqual, Values: []string{""}}}, []string{"c#1"}},
		{[]retrieve.Condition{{Field: "time", Op: retrieve.OpAtMost, Values: []string{"2024-01-01"}}}, []string{"a#1", "a#2"}},
		{[]retrieve.Condition{{Field: "stars", Op: retrieve.OpAbove, Values: []string{"9"}}}, []string{"b#1"}},
		{[]retrieve.Condition{{Field: "stars", Op: retrieve.OpBelow, Values: []string{"10"}}}, []string{"a#1", "a#2"}},
		{[]retrieve.Condition{{Field: "time", Op: retrieve.OpAbove, Values: []string{"2024-01-01"}}}, []string{"b#1"}},
		{[]retrieve.Condition{{Field: "time", Op: retrieve.OpBelow, Values: []string{"2024-01-02T00:00:00Z"}}}, []string{"a#1", "a#2"}},
		{[]retrieve.Condition{{Field: "line", Op: retrieve.OpBelow, Values: []string{"7.5"}}}, []string{"b#1"}},
		{[]retrieve.Condition{{Field: "tags", Op: retrieve.OpEqual, Values: []string{"wasm"}}}, []string{"a#1", "a#2"}},
		{[]retrieve.Condition{{Field: "tags", Op: retrieve.OpEqual, Values: []string{"go, wasm"}}}, []string{"a#1", "a#2"}},
		{[]retrieve.Condition{{Field: "tags", Op: retrieve.OpEqual, Values: []string{"go"}}}, []string{"a#1", "a#2", "b#1"}},
		{[]retrieve.Condition{{Field: "tags", Op: retrieve.OpNotEqual, Values: []string{"wasm"}}}, []string{"b#1", "c#1"}},
		{[]retrieve.Condition{{Field: "tags", Op: retrieve.OpPrefix, Values: []string{"wa"}}}, []string{"a#1", "a#2"}},
		{[]retrieve.Condition{{Field: "tags", Op: retrieve.OpEqual, Values: []string{"was"}}}, []string{}},
		{[]retrieve.Condition{{Field: "page", Op: retrieve.OpAtLeast, Values: []string{"2"}}}, []string{"a#2"}},
		{[]retrieve.Condition{{Field: "line", Op: retrieve.OpEqual, Values: []string{"7"}}}, []string{"b#1"}},
		{[]retrieve.Condition{{Field: "heading", Op: retrieve.OpPrefix, Values: []string{"A > B"}}, {Field: "id", Op: retrieve.OpEqual, Values: []string{"a"}}}, []string{"a#2"}},
		{[]retrieve.Condition{{Field: "heading", Op: retrieve.OpPrefix, Values: []string{"A"}}, {Field: "id", Op: retrieve.OpEqual, Values: []string{"b"}}}, []string{}},
	} {
		have := find(t, x, docs, retrieve.Query{Text: "w", Filter: tt.filter, KeepCopies: true})
		slices.Sort(have)
		if !slices.Equal(have, tt.want) {
			t.Errorf("%+v: have %q, want %q", tt.filter, have, tt.want)
		}
	}
}

func folded(t *testing.T, x retrieve.Index) {
	create(t, x, docs, retrieve.Settings{})
	for i, tt := range []struct{ text, query string }{
		{"a naïve plan", "naive"}, {"a plain façade", "facade"}, {"Größe", "grosse"}, {"soft\u00adhyphen", "softhyphen"},
		{"ﾊﾝｶｸｶﾀｶﾅ", "ハンカクカタカナ"}, {"초과근무 승인", "초과근무를"}, {"ฉันอยู่ที่กรุงเทพมหานครทุกวัน", "กรุงเทพ"},
		{"يُغادِرُ", "يغادر"}, {"ភាសាខ្មែរ", "ខ្មែរ"}, {"ພາສາລາວ", "ລາວ"}, {"မြန်မာဘာသာ", "ဘာသာ"}, {"cafe\u0301", "CAFÉ"},
	} {
		id := fmt.Sprint("fold", i)
		must(t, x.Upsert(t.Context(), docs, text(id, tt.text)))
		want(t, find(t, x, docs, retrieve.Query{Text: tt.query}), id+"#1")
	}
	must(t, x.Upsert(t.Context(), docs, text("cpp", "written in C++"), text("cs", "written in C#"), text("c", "written in C"), text("net", "runs on .NET"), text("fish", "a net of a fisher")))
	for query, id := range map[string]string{"C++": "cpp#1", "c#": "cs#1", "C": "c#1", ".NET": "net#1", "net": "fish#1"} {
		want(t, find(t, x, docs, retrieve.Query{Text: query}), id)
	}
}

func copies(t *testing.T, x retrieve.Index) {
	create(t, x, docs, retrieve.Settings{Model: retrieve.Model{ID: "m", Dimension: 2}})
	add := func(id, title, text string, heading string, v ...float32) {
		must(t, x.Upsert(t.Context(), docs, retrieve.Document{ID: id, Path: "at/" + id, Title: title, Chunks: []retrieve.Chunk{{Text: text, Headings: []string{title, heading}, Vector: v}}}))
	}
	add("b", "B", "the same words", "H", 1, 0)
	add("a", "A", "the same words", "H", 1, 0)
	add("other", "O", "other words", "H", 1, 1)
	add("heading", "A", "the same words", "another", 1, 0.1)
	for i := range 300 {
		add(fmt.Sprintf("many%03d", i), "", "licence words, words, words", "", 0.9, 0.1)
	}
	for _, by := range []retrieve.By{retrieve.ByWords, retrieve.ByVectors, retrieve.ByHybrid} {
		q := retrieve.Query{By: by, Text: "words", Vector: []float32{1, 0}, K: 5}
		hits, err := x.Search(t.Context(), docs, q)
		must(t, err)
		ids := map[string]retrieve.Hit{}
		for _, h := range hits {
			ids[h.ID] = h
		}
		if len(hits) != 4 || ids["heading#1"].ID == "" || ids["other#1"].ID == "" || len(ids["many000#1"].Copies) != 16 || !reflect.DeepEqual(ids["a#1"].Copies, []retrieve.Copy{{ID: "b#1", Path: "at/b"}}) {
			t.Errorf("%s: %+v", by, hits)
		}
		if it := ids["a#1"]; it.ID != "" && it.Item().Metadata["copies"] != "at/b" {
			t.Errorf("%s: item %+v", by, it.Item().Metadata)
		}
		q.KeepCopies = true
		if hits, err = x.Search(t.Context(), docs, q); err != nil || len(hits) != 5 || hits[0].Copies != nil {
			t.Errorf("%s with copies: %+v, error %v", by, hits, err)
		}
		q.KeepCopies, q.Filter = false, []retrieve.Condition{{Field: "id", Op: retrieve.OpEqual, Values: []string{"b", "other"}}}
		if hits, err = x.Search(t.Context(), docs, q); err != nil || len(hits) != 2 || hits[0].Copies != nil || hits[1].Copies != nil {
			t.Errorf("%s with a filter: %+v, error %v", by, hits, err)
		}
	}
}

func parents(t *testing.T, x retrieve.Index) {
	create(t, x, docs, retrieve.Settings{Model: retrieve.Model{ID: "m", Dimension: 2}})
	must(t, x.Upsert(t.Context(), docs, rich(), text("other", "words")))
	hits, err := x.Search(t.Context(), docs, retrieve.Query{Text: "first words"})
	must(t, err)
	if len(hits) != 2 || hits[0].ID != "guide.md#1" || hits[0].Text != "Whole part" || hits[1].ID != "other#1" {
		t.Errorf("hits %+v", hits)
	}
	want(t, find(t, x, docs, retrieve.Query{Text: "whole"}))
	want(t, find(t, x, docs, retrieve.Query{Vector: []float32{1, 0}}), "guide.md#1", "guide.md#4")
}

func models(t *testing.T, x retrieve.Index) {
	ctx := t.Context()
	create(t, x, docs, retrieve.Settings{})
	d := retrieve.Document{ID: "a", Chunks: []retrieve.Chunk{{Text: "w", Vector: []float32{1, 0}}}}
	if err := x.Upsert(ctx, docs, d); !errors.Is(err, retrieve.ErrModel) {
		t.Errorf("vectors without a model: %v", err)
	}
	if _, err := x.Search(ctx, docs, retrieve.Query{Vector: []float32{1}}); !errors.Is(err, retrieve.ErrModel) {
		t.Errorf("search without a model: %v", err)
	}
	must(t, x.SetModel(ctx, docs, retrieve.Model{ID: "m", Dimension: 2}))
	must(t, x.Upsert(ctx, docs, d))
	want(t, find(t, x, docs, retrieve.Query{Vector: []float32{1, 1}, Model: "m"}), "a#1")
	for _, q := range []retrieve.Query{{Vector: []float32{1, 1}, Model: "n"}, {Vector: []float32{1}}} {
		if _, err := x.Search(ctx, docs, q); !errors.Is(err, retrieve.ErrModel) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	must(t, x.SetModel(ctx, docs, retrieve.Model{ID: "n", Dimension: 1}))
	want(t, find(t, x, docs, retrieve.Query{Vector: []float32{1}, Model: "n"}))
	want(t, find(t, x, docs, retrieve.Query{Text: "w"}), "a#1")
	info, err := x.Collection(ctx, docs)
	must(t, err)
	if info.Vectors != 0 || info.Settings.Model.ID != "n" {
		t.Errorf("info %+v", info)
	}
	have, err := x.Document(ctx, docs, "a")
	if err != nil || have.Chunks[0].Vector != nil {
		t.Errorf("document %+v, %v", have, err)
	}
}

// made makes up a document of few words, so that there are many ties.
func made(r *rand.Rand, id string) retrieve.Document {
	d := retrieve.Document{ID: id, Title: fmt.Sprint("t", r.IntN(3)), Meta: map[string]string{"n": fmt.Sprint(r.IntN(4))}}
	for range r.IntN(4) {
		c := retrieve.Chunk{}
		for range r.IntN(6) {
			c.Text += fmt.Sprint("w", r.IntN(9), " ")
		}
		if len(d.Chunks) > 0 && d.Chunks[0].Parent == 0 && r.IntN(3) == 0 {
			c.Parent = 1
			d.Chunks[0].Vector = nil
		}
		if r.IntN(2) == 0 {
			c.Vector = []float32{r.Float32() - 0.5, r.Float32(), float32(r.IntN(2))}
		}
		d.Chunks = append(d.Chunks, c)
	}
	return d
}

// orderFree writes and deletes at random, and compares every search with that of an index
// that has had the final documents only, in another order.
func orderFree(t *testing.T, x retrieve.Index) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 6 {
		s := retrieve.Settings{Model: retrieve.Model{ID: "m", Dimension: 3}}
		if round%2 == 1 {
			s.Vectors = retrieve.VectorsInt8
		}
		history, straight := retrieve.Collection{Tenant: "a", Name: fmt.Sprint("history", round)}, retrieve.Collection{Tenant: "a", Name: fmt.Sprint("straight", round)}
		create(t, x, history, s)
		create(t, x, straight, s)
		last := map[string]retrieve.Document{}
		for range 60 {
			batch := map[string]retrieve.Document{}
			for range 1 + r.IntN(3) {
				id := fmt.Sprint("d", r.IntN(40))
				batch[id] = made(r, id)
			}
			must(t, x.Upsert(t.Context(), history, slices.Collect(maps.Values(batch))...))
			maps.Copy(last, batch)
			if r.IntN(3) == 0 {
				id := fmt.Sprint("d", r.IntN(40))
				_, err := x.Delete(t.Context(), history, id)
				must(t, err)
				delete(last, id)
			}
			if r.IntN(20) == 0 {
				must(t, x.Compact(t.Context(), history))
			}
		}
		must(t, x.Upsert(t.Context(), straight, slices.Collect(maps.Values(last))...))
		for range 30 {
			q := retrieve.Query{Text: fmt.Sprintf("w%d w%d t%d", r.IntN(9), r.IntN(9), r.IntN(3)), K: 1 + r.IntN(40)}
			if r.IntN(2) == 0 {
				q.Vector = []float32{r.Float32(), r.Float32() - 0.5, 1}
			}
			if r.IntN(3) == 0 {
				q.Filter = []retrieve.Condition{{Field: "n", Op: retrieve.OpAtLeast, Values: []string{"2"}}}
			}
			have, err := x.Search(t.Context(), history, q)
			must(t, err)
			wanted, err := x.Search(t.Context(), straight, q)
			must(t, err)
			if !reflect.DeepEqual(have, wanted) {
				t.Fatalf("round %d: %+v:\nhave %+v\nwant %+v", round, q, have, wanted)
			}
		}
	}
}

func loops(t *testing.T, x retrieve.Index) {
	create(t, x, docs, retrieve.Settings{})
	for i := range 5 {
		must(t, x.Upsert(t.Context(), docs, text(fmt.Sprint(i), "w")))
	}
	for d, err := range x.Documents(t.Context(), docs, retrieve.IDs{}) {
		must(t, err)
		_, err := x.Delete(t.Context(), docs, d.ID)
		must(t, err)
	}
	want(t, find(t, x, docs, retrieve.Query{Text: "w"}))
	for _, err := range x.Export(t.Context(), retrieve.Collection{Tenant: "a", Name: "none"}) {
		if !errors.Is(err, retrieve.ErrNotFound) {
			t.Error(err)
		}
	}
}

func ranges(t *testing.T, x retrieve.Index) {
	ctx := t.Context()
	create(t, x, docs, retrieve.Settings{})
	var all []retrieve.Document
	for i := range 3000 { // more than a page of any size
		d := text(fmt.Sprintf("f%d#%04d", i%3, i))
		d.Root = fmt.Sprintf("/r%d/", i%3)
		all = append(all, d)
	}
	must(t, x.Upsert(ctx, docs, append(all, text("f1"), text("f1!"), text("\U0010ffff"))...))
	list := func(ids retrieve.IDs) (list []retrieve.DocumentInfo) {
		for d, err := range x.Documents(ctx, docs, ids) {
			must(t, err)
			list = append(list, d)
		}
		return list
	}
	if n := len(list(retrieve.IDs{})); n != 3003 {
		t.Errorf("%d documents, want 3003", n)
	}
	some := list(retrieve.IDs{From: "f1#", Before: "f1$"})
	if len(some) != 1000 || some[0].ID != "f1#0001" || some[999].ID != "f1#2998" {
		t.Errorf("%d documents in a range, from %v", len(some), some[0])
	}
	want(t, ids(list(retrieve.IDs{Before: "f1"})[999:]), "f0#2997")
	want(t, ids(list(retrieve.IDs{From: "f2#2999"})), "f2#2999", "\U0010ffff")
	must(t, x.SetRoot(ctx, docs, "/r1/", "/moved/"))
	for _, d := range list(retrieve.IDs{}) {
		if moved := strings.HasPrefix(d.ID, "f1#"); (d.Root == "/moved/") != moved {
			t.Fatalf("%s has the root %s", d.ID, d.Root)
		}
	}
	if err := x.SetRoot(ctx, retrieve.Collection{Tenant: "a", Name: "none"}, "a", "b"); !errors.Is(err, retrieve.ErrNotFound) {
		t.Errorf("no collection: %v", err)
	}
}

func ids(list []retrieve.DocumentInfo) []string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].ID
	}
	return names
}
