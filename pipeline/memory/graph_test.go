package memory

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

func relations() []Relation {
	return []Relation{
		{Source: "Ann", Relation: "works on", Target: "x"}, {Source: "bob", Relation: "works on", Target: "X"},
		{Source: "x", Relation: "part of", Target: "y"}, {Source: "ann", Relation: "knows", Target: "bob"}, {Source: "x", Relation: "is", Target: "x"},
		{Source: "y", Fact: "f4"}, {Source: "ann", Fact: "f1"}, {Source: "bob", Fact: "f2"}, {Source: "x", Fact: "f3"}, {Source: "x", Fact: "f1"}, {Source: "x", Fact: "f3"},
	}
}

func TestRelated(t *testing.T) {
	g := NewGraph(relations())
	if got := g.Entities(); !slices.Equal(got, []string{"Ann", "x", "bob", "y"}) {
		t.Errorf("entities %q", got)
	}
	for _, tc := range []struct {
		entity string
		depth  int
		want   []string
	}{
		{"ann", 0, []string{"Ann"}}, {"ANN", 1, []string{"Ann", "x", "bob"}}, {"ann", 2, []string{"Ann", "x", "bob", "y"}}, {"ann", 99, []string{"Ann", "x", "bob", "y"}},
		{"y", 1, []string{"y", "x"}}, {"y", 2, []string{"y", "x", "Ann", "bob"}}, {"nobody", 2, []string{}}, {"ann", -1, []string{"Ann"}},
	} {
		if got := g.Related(tc.depth, tc.entity); !slices.Equal(got, tc.want) {
			t.Errorf("%s within %d: %q, want %q", tc.entity, tc.depth, got, tc.want)
		}
	}
	for _, tc := range []struct {
		depth, limit int
		entities     []string
		want         []string
	}{
		{0, 0, []string{"ann"}, []string{"f1"}}, {1, 0, []string{"ann"}, []string{"f1", "f3", "f2"}}, {2, 2, []string{"ann"}, []string{"f1", "f3"}},
		{0, 0, []string{"y", "nobody", "x", "y"}, []string{"f4", "f3", "f1"}}, {2, 0, nil, nil},
	} {
		if got := g.RelatedFacts(tc.depth, tc.limit, tc.entities...); !slices.Equal(got, tc.want) {
			t.Errorf("facts of %q within %d, at most %d: %q, want %q", tc.entities, tc.depth, tc.limit, got, tc.want)
		}
	}
}

func mentioned(t *testing.T, g *Graph, text string) []string {
	t.Helper()
	names, err := g.Mentioned(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A long text and many names with the same first word take no longer than the text.
func TestMentionedIsBounded(t *testing.T) {
	all := make([]Relation, 50_000)
	for i := range all {
		all[i] = Relation{Source: fmt.Sprint("person ", i), Fact: "f"}
	}
	g := NewGraph(all)
	long := strings.Repeat("person ", 1<<20/7) + "person 7"
	find := func(g *Graph) time.Duration {
		start := time.Now()
		if got := mentioned(t, g, "Person 12345 "+long); !slices.Equal(got, []string{"person 12345"}) {
			t.Errorf("mentioned %q, want person 12345", got)
		}
		return time.Since(start)
	}
	few := NewGraph(all[12_345:12_346])
	// 50,000 times as many names would be that much slower if each was looked for. Whatever else
	// the machine does may hit one search alone, so there are some tries.
	one, many := find(few), find(g)
	for try := 0; many > 100*one && try < 5; try++ {
		one, many = max(one, find(few)), min(many, find(g))
	}
	if many > 100*one {
		t.Errorf("a text with one name in %v, with 50,000 names in %v", one, many)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Mentioned(ctx, long); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// The graph is made again only when the relations change, whoever changes them.
func TestStoreGraphKeepsItsGraph(t *testing.T) {
	s := store.NewMemory()
	g, other := NewStoreGraph(s, "t"), NewStoreGraph(s, "t")
	graph := func() *Graph {
		t.Helper()
		got, err := g.Graph(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if err := g.Add(t.Context(), relations()...); err != nil {
		t.Fatal(err)
	}
	first := graph()
	if graph() != first {
		t.Error("the graph was made again although nothing changed")
	}
	if n, err := other.Remove(t.Context(), Relation{Source: "ann", Fact: "f1"}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if got := graph().RelatedFacts(0, 0, "ann"); len(got) != 0 {
		t.Errorf("a removed relation is in the graph: %q", got)
	}
	if err := other.Add(t.Context(), Relation{Source: "ann", Fact: "f9"}); err != nil {
		t.Fatal(err)
	}
	if got := graph().RelatedFacts(0, 0, "ann"); !slices.Equal(got, []string{"f9"}) {
		t.Errorf("an added relation is not in the graph: %q", got)
	}
}

func TestStoreGraphBound(t *testing.T) {
	g := NewStoreGraph(store.NewMemory(), "t")
	for from := 0; from < MaxRelations; from += 1000 {
		batch := make([]Relation, 1000)
		for i := range batch {
			batch[i] = Relation{Source: "a", Fact: fmt.Sprint(from + i)}
		}
		data := make([]store.Record, len(batch))
		for i := range batch {
			data[i] = store.Record{ID: RelationID(&batch[i]), Data: fmt.Appendf(nil, `{"source":"a","fact":"%d"}`, from+i)}
		}
		if err := g.records.Apply(t.Context(), store.Change{Key: g.key, Put: data}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Graph(t.Context()); err != nil {
		t.Errorf("the most relations: %v", err)
	}
	if err := g.Add(t.Context(), Relation{Source: "A", Fact: "7"}); err != nil {
		t.Errorf("one that is there: %v", err)
	}
	if err := g.Add(t.Context(), Relation{Source: "b", Fact: "x"}); !errors.Is(err, pipeline.ErrInvalid) || !strings.Contains(err.Error(), fmt.Sprint(MaxRelations)) {
		t.Errorf("one more: %v", err)
	}
	if err := g.records.Apply(t.Context(), store.Change{Key: g.key, Put: []store.Record{{ID: "x", Data: []byte(`{"source":"b","fact":"x"}`)}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Graph(t.Context()); !errors.Is(err, pipeline.ErrInvalid) || !strings.Contains(err.Error(), fmt.Sprint(MaxRelations)) {
		t.Errorf("one more in the store: %v", err)
	}
}

// Names that differ only in case or in the space around them are the same everywhere, and
// the first way to write a name stays.
func TestStoreGraphNames(t *testing.T) {
	g := NewStoreGraph(store.NewMemory(), "t")
	if err := g.Add(t.Context(), Relation{Source: " Ann ", Relation: "knows ", Target: "Bob"}, Relation{Source: "ſam", Fact: "f"}); err != nil {
		t.Fatal(err)
	}
	if err := g.Add(t.Context(), Relation{Source: "ANN", Relation: "KNOWS", Target: "bob "}); err != nil {
		t.Fatal(err)
	}
	all, err := g.Relations(t.Context())
	if want := (Relation{Source: "Ann", Relation: "knows", Target: "Bob"}); err != nil || len(all) != 2 || all[0] != want {
		t.Errorf("%q, %v", all, err)
	}
	made, err := g.Graph(t.Context())
	if err != nil || !slices.Equal(made.Related(1, " ann"), []string{"Ann", "Bob"}) {
		t.Errorf("%q, %v", made.Entities(), err)
	}
	if n, err := g.RemoveEntity(t.Context(), "sam"); n != 0 || err != nil {
		t.Errorf("an entity that the graph takes for another: %d, %v", n, err)
	}
	if n, err := g.Remove(t.Context(), Relation{Source: "ann", Relation: "Knows", Target: " BOB"}); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
}

func TestMentioned(t *testing.T) {
	var all []Relation
	for _, name := range []string{"Ann", "New York", "York", "C++", "東京", "é"} {
		all = append(all, Relation{Source: name, Fact: "f"})
	}
	g := NewGraph(all)
	for text, want := range map[string][]string{
		"Does ANN like new york?":        {"Ann", "New York", "York"},
		"Annabel, Joann, Annäherung":     {},
		"Joann's friend Ann":             {"Ann"},
		"why C++?":                       {"C++"},
		"明日東京に行く":                        {"東京"},
		"cafés and é":                    {"é"},
		"":                               {},
		"york, then ann; then york, ann": {"York", "Ann"},
	} {
		if got := mentioned(t, g, text); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func FuzzMentioned(f *testing.F) {
	f.Add("Does ANN like new york?", "ann")
	f.Add("\xff東京İ", "İ")
	f.Fuzz(func(t *testing.T, text, name string) {
		r := Relation{Source: name, Fact: "f"}
		if r.Validate() != nil {
			return
		}
		g := NewGraph([]Relation{r})
		if len(mentioned(t, g, text)) > 0 && !strings.Contains(strings.ToLower(text), fold(name)) {
			t.Errorf("%q is not in %q", name, text)
		}
		if got := mentioned(t, g, "("+name+")"); strings.ToLower(name) == name && len(got) != 1 {
			t.Errorf("%q is not found alone: %q", name, got)
		}
	})
}

// TestRelatedIsWhatDistancesSay compares the walk with distances worked out by
// relaxation.
func TestRelatedIsWhatDistancesSay(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		n := 1 + rng.IntN(12)
		name := func(i int) string { return fmt.Sprint(i) }
		var all []Relation
		distance := make([][]int, n)
		for i := range n {
			all = append(all, Relation{Source: name(i), Fact: name(i)})
			distance[i] = slices.Repeat([]int{1000}, n)
			distance[i][i] = 0
		}
		for range rng.IntN(2 * n) {
			a, b := rng.IntN(n), rng.IntN(n)
			all = append(all, Relation{Source: name(a), Relation: name(rng.IntN(2)), Target: name(b)})
			if a != b {
				distance[a][b], distance[b][a] = 1, 1
			}
		}
		for k := range n {
			for i := range n {
				for j := range n {
					distance[i][j] = min(distance[i][j], distance[i][k]+distance[k][j])
				}
			}
		}
		from, depth := rng.IntN(n), rng.IntN(5)
		got := NewGraph(all).RelatedFacts(depth, 0, name(from))
		want := 0
		for to := range n {
			if distance[from][to] <= depth {
				want++
			}
		}
		last := 0
		for _, id := range got {
			var to int
			_, _ = fmt.Sscan(id, &to)
			if distance[from][to] < last || distance[from][to] > depth {
				t.Fatalf("round %d: %s at distance %d comes after %d, depth %d", round, id, distance[from][to], last, depth)
			}
			last = distance[from][to]
		}
		if slices.Sort(got); len(got) != want || len(slices.Compact(got)) != want {
			t.Fatalf("round %d: %q, want %d entities", round, got, want)
		}
	}
}

func TestStoreGraph(t *testing.T) {
	s := store.NewMemory()
	g := NewStoreGraph(s, "t")
	if err := g.Add(t.Context(), relations()...); err != nil {
		t.Fatal(err)
	}
	again := Relation{Source: "ANN", Relation: "knows", Target: "Bob"}
	if err := g.Add(t.Context(), again, again); err != nil {
		t.Fatal(err)
	}
	all, err := g.Relations(t.Context())
	if err != nil || len(all) != 10 || all[0] != relations()[0] {
		t.Errorf("%+v, %v", all, err)
	}
	for _, step := range []struct {
		what   string
		remove func() (int, error)
		want   int
	}{
		{"a relation", func() (int, error) { return g.Remove(t.Context(), again) }, 1},
		{"one that is gone", func() (int, error) { return g.Remove(t.Context(), again) }, 0},
		{"a fact", func() (int, error) { return g.RemoveFact(t.Context(), "f1") }, 2},
		{"an entity", func() (int, error) { return g.RemoveEntity(t.Context(), "X") }, 5},
	} {
		if n, err := step.remove(); err != nil || n != step.want {
			t.Errorf("%s: %d, %v, want %d", step.what, n, err, step.want)
		}
	}
	if others, err := NewStoreGraph(s, "u").Relations(t.Context()); err != nil || len(others) != 0 {
		t.Errorf("another tenant: %v, %v", others, err)
	}
	for want, r := range map[string]Relation{
		"source: empty":                        {Fact: "f"},
		"relation: empty":                      {Source: "a"},
		"target: empty":                        {Source: "a", Relation: "r", Target: " "},
		"fact excludes":                        {Source: "a", Relation: "r", Fact: "f"},
		"201 bytes":                            {Source: strings.Repeat("a", 201), Fact: "f"},
		"want a text without control characte": {Source: "a\nb", Fact: "f"},
	} {
		if err := g.Add(t.Context(), Relation{Source: "fine", Fact: "f"}, r); !errors.Is(err, pipeline.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", r, err, want)
		}
	}
	if err := s.Put(t.Context(), store.Key{Tenant: "t", Kind: KindRelation}, store.Record{ID: "bad", Data: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Graph(t.Context()); err == nil || !strings.Contains(err.Error(), `record "bad"`) {
		t.Errorf("a damaged record: %v", err)
	}
}

func TestGraphMemory(t *testing.T) {
	m := newManager(t, Config{})
	for _, e := range []Entry{{ID: "f1", Content: "one", Relevance: 0.9}, {ID: "f2", Content: "two"}, {ID: "f3", Content: "three", Tags: []string{"t"}}, {ID: "f4", Content: "four", ExpiresAt: epoch}} {
		mustAdd(t, m, e)
	}
	g := NewStoreGraph(store.NewMemory(), "t")
	if err := g.Add(t.Context(), relations()...); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		m     GraphMemory
		query string
		want  []string
	}{
		"all":      {GraphMemory{}, "what about y and Ann?", []string{"fact-f1 6 0.90", "fact-f3 6 0.50", "fact-f2 6 0.50"}},
		"two":      {GraphMemory{MaxItems: 2}, "y, ann", []string{"fact-f1 6 0.90", "fact-f3 6 0.50"}},
		"near":     {GraphMemory{MaxDepth: -1}, "y, ann", []string{"fact-f1 6 0.90"}},
		"filtered": {GraphMemory{Filter: Filter{Tags: []string{"t"}}}, "ann", []string{"fact-f3 6 0.50"}},
		"nobody":   {GraphMemory{}, "annabel", nil},
	} {
		tc.m.Manager, tc.m.Graph = m, g
		items, err := tc.m.Items(t.Context(), &pipeline.Query{Text: tc.query})
		var got []string
		for _, it := range items {
			if err := it.Validate(); err != nil {
				t.Error(err)
			}
			got = append(got, fmt.Sprintf("%s %d %.2f", it.ID, it.Priority, it.Score))
		}
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tc.want)
		}
	}
}
