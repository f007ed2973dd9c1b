package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
)

func newGraph(t testing.TB) *Graph {
	t.Helper()
	g := new(Graph)
	g.AddEntity("ann", map[string]any{"kind": "person"})
	g.Relate("ann", "works_on", "x")
	g.Relate("bob", "works_on", "x")
	g.Relate("x", "part_of", "y")
	g.Relate("ann", "knows", "bob")
	for _, l := range [][2]string{{"y", "f4"}, {"ann", "f1"}, {"bob", "f2"}, {"x", "f3"}, {"x", "f1"}, {"x", "f3"}} {
		if err := g.Link(l[0], l[1]); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func TestRelated(t *testing.T) {
	g := newGraph(t)
	for _, tc := range []struct {
		entity string
		depth  int
		want   []string
	}{
		{"ann", 0, []string{}}, {"ann", 1, []string{"x", "bob"}}, {"ann", 2, []string{"x", "bob", "y"}}, {"ann", 99, []string{"x", "bob", "y"}},
		{"y", 1, []string{"x"}}, {"y", 2, []string{"x", "ann", "bob"}}, {"nobody", 2, nil}, {"ann", -1, []string{}},
	} {
		if got := g.Related(tc.entity, tc.depth); !slices.Equal(got, tc.want) {
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

func TestGraphChanges(t *testing.T) {
	g := newGraph(t)
	g.AddEntity("ann", map[string]any{"age": int64(30)})
	if m, ok := g.Metadata("ann"); !ok || !reflect.DeepEqual(m, map[string]any{"kind": "person", "age": int64(30)}) {
		t.Errorf("metadata %v, %v", m, ok)
	}
	if _, ok := g.Metadata("nobody"); ok {
		t.Error("nobody exists")
	}
	g.Relate("ann", "works_on", "x")
	g.Relate("x", "x", "x")
	if got := g.Relationships(); len(got) != 5 {
		t.Errorf("relationships %v", got)
	}
	if err := g.Link("nobody", "f"); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("link: %v", err)
	}
	g.Unlink("f1", "f3")
	g.Remove("x") // which is also related to itself
	g.Remove("nobody")
	if got, want := g.Relationships(), []Relationship{{"ann", "knows", "bob"}}; !slices.Equal(got, want) {
		t.Errorf("relationships %v, want %v", got, want)
	}
	if got := g.Entities(); !slices.Equal(got, []string{"ann", "bob", "y"}) {
		t.Errorf("entities %q", got)
	}
	if got := g.RelatedFacts(9, 0, "ann", "y"); !slices.Equal(got, []string{"f2", "f4"}) {
		t.Errorf("facts %q", got)
	}
}

func TestGraphOfEntries(t *testing.T) {
	var g Graph
	g.AddEntries(Entry{ID: "1", Links: []string{"2", "3"}}, Entry{ID: "2"})
	if got := g.RelatedFacts(2, 0, "2"); !slices.Equal(got, []string{"2", "1"}) {
		t.Errorf("facts %q", got)
	}
}

func TestGraphJSON(t *testing.T) {
	g := newGraph(t)
	data, err := json.Marshal(g)
	want := `{"entities":[{"id":"ann","metadata":{"kind":"person"},"facts":["f1"]},{"id":"x","facts":["f3","f1"]},{"id":"bob","facts":["f2"]},{"id":"y","facts":["f4"]}],` +
		`"relationships":[{"source":"ann","relation":"works_on","target":"x"},{"source":"bob","relation":"works_on","target":"x"},{"source":"x","relation":"part_of","target":"y"},{"source":"ann","relation":"knows","target":"bob"}]}`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
	var back Graph
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back.RelatedFacts(2, 0, "y"), g.RelatedFacts(2, 0, "y")) {
		t.Errorf("decoded %v, %v", back.Entities(), err)
	}
	for doc, want := range map[string]string{
		`{"entities":[{"id":"a"},{"id":"a"}]}`:                           `graph: entities[1]: entity "a": given twice: invalid value`,
		`{"entities":[{}]}`:                                              `graph: entities[0]: id: missing: invalid value`,
		`{"relationships":[{"source":"a","relation":"r","target":"b"}]}`: `graph: relationship of entity "a", which is not given: invalid value`,
		`{"entities":[{"id":"a"}],"relationships":[{"source":"a"}]}`:     `graph: relationships[0]: relation: missing: invalid value`,
		`{"nodes":[]}`:    `graph: nodes: unknown key: invalid value (want one of entities, relationships)`,
		`{"entities":{}}`: `graph: entities: {}: invalid value (want a list of objects)`,
	} {
		if err := json.Unmarshal([]byte(doc), &back); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", doc, err, want)
		}
		if len(back.Entities()) != 4 {
			t.Fatalf("%s: entities are now %q", doc, back.Entities())
		}
	}
}

// TestRelatedIsWhatDistancesSay compares the walk with distances worked out by
// relaxation.
func TestRelatedIsWhatDistancesSay(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		n := 1 + rng.IntN(12)
		g, name := new(Graph), func(i int) string { return fmt.Sprint(i) }
		distance := make([][]int, n)
		for i := range n {
			g.AddEntity(name(i), nil)
			distance[i] = slices.Repeat([]int{1000}, n)
			distance[i][i] = 0
		}
		for range rng.IntN(2 * n) {
			a, b := rng.IntN(n), rng.IntN(n)
			g.Relate(name(a), name(rng.IntN(2)), name(b))
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
		got := g.Related(name(from), depth)
		want := 0
		for to := range n {
			if to != from && distance[from][to] <= depth {
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

func TestGraphUnderConcurrency(t *testing.T) {
	g := new(Graph)
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			for j := range 50 {
				a, b := fmt.Sprint(j%7), fmt.Sprint((i+j)%7)
				g.Relate(a, "r", b)
				g.Related(a, 3)
				g.RelatedFacts(2, 0, a, b)
				if j%20 == 19 {
					g.Remove(b)
				}
				if _, err := json.Marshal(g); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
}

// FuzzGraph holds that decoding gives a graph or an error, and that the graph survives
// being written.
func FuzzGraph(f *testing.F) {
	data, err := json.Marshal(newGraph(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"entities":[{"id":"","facts":["a","a"]}],"relationships":[{"source":"","relation":"","target":""}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var g Graph
		if err := g.UnmarshalJSON(data); err != nil {
			if len(g.Entities()) > 0 {
				t.Fatalf("error %v and entities %q", err, g.Entities())
			}
			return
		}
		written, err := json.Marshal(&g)
		if err != nil {
			t.Fatal(err)
		}
		var back Graph
		if err := json.Unmarshal(written, &back); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if again, err := json.Marshal(&back); err != nil || string(again) != string(written) {
			t.Fatalf("%s, then %s, %v", written, again, err)
		}
	})
}

func TestRetrievers(t *testing.T) {
	m := newManager(t, Config{})
	for _, e := range []Entry{{ID: "f1", Content: "one", Relevance: 0.9}, {ID: "f2", Content: "two"}, {ID: "f3", Content: "three", Tags: []string{"t"}}, {ID: "f4", Content: "four", ExpiresAt: epoch}} {
		mustAdd(t, m, e)
	}
	names := func(string) []string { return []string{"ann", "y"} }
	show := func(items []pipeline.Item, err error) (out []string) {
		t.Helper()
		for _, it := range items {
			if err := it.Validate(); err != nil {
				t.Error(err)
			}
			out = append(out, fmt.Sprintf("%s %d %.2f", it.ID, it.Priority, it.Score))
		}
		if err != nil {
			t.Error(err)
		}
		return out
	}
	q := &pipeline.Query{Text: "three"}
	for name, tc := range map[string]struct {
		r    pipeline.Retriever
		topK int
		want []string
	}{
		"scored":        {&Retriever{Manager: m}, 2, []string{"fact-f3 7 0.50", "fact-f1 7 0.90"}},
		"by its score":  {&Retriever{Manager: m, Scored: true}, 2, []string{"fact-f3 7 0.90", "fact-f1 7 0.48"}},
		"filtered":      {&Retriever{Manager: m, Filter: Filter{Tags: []string{"t"}}}, 2, []string{"fact-f3 7 0.50"}},
		"nothing":       {&Retriever{Manager: m}, 0, nil},
		"graph":         {&GraphRetriever{Manager: m, Graph: newGraph(t), Entities: names}, 10, []string{"fact-f1 6 0.90", "fact-f3 6 0.50", "fact-f2 6 0.50"}},
		"graph, two":    {&GraphRetriever{Manager: m, Graph: newGraph(t), Entities: names, MaxItems: 2}, 10, []string{"fact-f1 6 0.90", "fact-f3 6 0.50"}},
		"graph, top 1":  {&GraphRetriever{Manager: m, Graph: newGraph(t), Entities: names}, 1, []string{"fact-f1 6 0.90"}},
		"graph, near":   {&GraphRetriever{Manager: m, Graph: newGraph(t), Entities: names, MaxDepth: -1}, 10, []string{"fact-f1 6 0.90"}},
		"graph, nobody": {&GraphRetriever{Manager: m, Graph: newGraph(t), Entities: func(string) []string { return nil }}, 10, nil},
	} {
		if got := show(tc.r.Retrieve(t.Context(), q, tc.topK)); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if _, err := (&Retriever{Manager: m, Touch: true}).Retrieve(t.Context(), q, 1); err != nil {
		t.Fatal(err)
	}
	if e, err := m.Get(t.Context(), "f3"); err != nil || e.AccessCount != 1 {
		t.Errorf("touched %+v, %v", e, err)
	}
	panics := &GraphRetriever{Manager: m, Graph: newGraph(t), Entities: func(string) []string { panic("boom") }}
	if _, err := panics.Retrieve(t.Context(), q, 1); !errors.Is(err, pipeline.ErrPanic) {
		t.Errorf("panicking entities: %v", err)
	}
}
