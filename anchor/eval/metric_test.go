package eval

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
)

const tolerance = 1e-12

func near(a, b float64) bool { return math.Abs(a-b) <= tolerance }

// log2 is short for the discount of a rank.
func discount(rank int) float64 { return math.Log2(float64(rank + 1)) }

// Every figure was worked out by hand: a ranking of x b y a, with b of grade 2, a
// and c of grade 1, y judged 0 and z judged below.
func TestMetricsByHand(t *testing.T) {
	grades := Grades{"a": 1, "b": 2, "c": 1, "y": 0, "z": -1}
	s := NewScored([]string{"x", "b", "y", "a"}, grades)
	ideal3 := 2/discount(1) + 1/discount(2) + 1/discount(3)
	for _, c := range []struct {
		metric Metric
		want   float64
	}{
		{Metric{"recall", 1}, 0},
		{Metric{"recall", 2}, 1.0 / 3},
		{Metric{"recall", 10}, 2.0 / 3},
		{Metric{"recall", 0}, 2.0 / 3},
		{Metric{"precision", 2}, 0.5},
		{Metric{"precision", 10}, 0.2}, // over k, though only 4 came back
		{Metric{"hit", 1}, 0},
		{Metric{"hit", 2}, 1},
		{Metric{"mrr", 0}, 0.5},
		{Metric{"map", 0}, (1.0/2 + 2.0/4) / 3},
		{Metric{"ndcg", 1}, 0},
		{Metric{"ndcg", 2}, 2 / discount(2) / (2/discount(1) + 1/discount(2))},
		{Metric{"ndcg", 10}, (2/discount(2) + 1/discount(4)) / ideal3},
		{Metric{"binary_precision", 10}, 0.5}, // over the 4 returned
		{Metric{"binary_recall", 10}, 2.0 / 3},
		{Metric{"binary_f1", 10}, 2 * 0.5 * (2.0 / 3) / (0.5 + 2.0/3)},
		{Metric{"binary_hit", 1}, 0},
		{Metric{"binary_mrr", 1}, 0}, // the first relevant one comes after k
		{Metric{"binary_mrr", 2}, 0.5},
		{Metric{"binary_ndcg", 2}, 1 / discount(2) / (1/discount(1) + 1/discount(2))},
	} {
		if got := c.metric.Of(s); !near(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.metric, got, c.want)
		}
	}
	for _, m := range []Metric{{"recall", 5}, {"ndcg", 5}, {"precision", 5}, {"map", 0}, {"mrr", 0}, {"hit", 5}, {"binary_ndcg", 5}, {"binary_precision", 5}} {
		for name, s := range map[string]*Scored{"nothing found": NewScored(nil, grades), "nothing relevant": NewScored([]string{"y"}, Grades{"y": 0})} {
			if got := m.Of(s); got != 0 {
				t.Errorf("%v with %s: got %v, want 0", m, name, got)
			}
		}
	}
}

// The rankings in trec_eval.json have ties and graded judgements, some below 0.
func TestMetricsAgainstTrecEval(t *testing.T) {
	var doc struct {
		Cases []struct {
			Scores map[string]float64
			Grades Grades
			Want   map[string]float64
		}
	}
	readJSON(t, "testdata/trec_eval.json", &doc)
	metrics, err := Metrics(DefaultKinds, []int{1, 3, 5, 10})
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, c := range doc.Cases {
		var items []pipeline.Item
		for id, score := range c.Scores {
			items = append(items, pipeline.Item{ID: id, Score: score, Source: pipeline.SourceRetrieval, Priority: 5})
		}
		s := NewScored((&Ranker{}).Rank(items), c.Grades)
		for _, m := range metrics {
			want, ok := c.Want[m.String()]
			if !ok {
				t.Fatalf("trec_eval.json has no %v", m)
			}
			compared++
			if got := m.Of(s); !near(got, want) {
				t.Errorf("case %d: %v is %v, trec_eval says %v", i, m, got, want)
			}
		}
	}
	if compared != 60*19 {
		t.Errorf("compared %d figures", compared)
	}
}

// The seed's metrics, on the rows of its case.
func TestSeedMetrics(t *testing.T) {
	var doc struct {
		Cases []struct {
			ID    string
			Input struct {
				Rows []struct {
					Retrieved, Relevant []string
					K                   int
				}
			}
			Expected struct{ Rows []map[string]float64 }
		}
	}
	readJSON(t, "../../testdata/seed-cases-metrics.json", &doc)
	if len(doc.Cases) != 1 || doc.Cases[0].ID != "anchor-eval-01" {
		t.Fatalf("cases: %+v", doc.Cases)
	}
	names := map[string]string{
		"precision_at_k": "binary_precision", "recall_at_k": "binary_recall", "f1_at_k": "binary_f1",
		"mrr": "binary_mrr", "ndcg": "binary_ndcg", "hit_rate": "binary_hit",
	}
	c := doc.Cases[0]
	for i, row := range c.Input.Rows {
		grades := Grades{}
		for _, id := range row.Relevant {
			grades[id] = 1
		}
		s := NewScored(row.Retrieved, grades)
		if len(c.Expected.Rows[i]) != len(names) {
			t.Fatalf("row %d expects %v", i, c.Expected.Rows[i])
		}
		for name, want := range c.Expected.Rows[i] {
			if got := (Metric{names[name], row.K}).Of(s); !near(got, want) {
				t.Errorf("row %d: %s is %v, want %v", i, name, got, want)
			}
		}
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func TestMetricNames(t *testing.T) {
	list, err := Metrics([]string{"mrr", "recall", "ndcg", "mrr"}, []int{10, 1, 10})
	var names []string
	for _, m := range list {
		names = append(names, m.String())
	}
	if want := []string{"mrr", "recall@1", "recall@10", "recall", "ndcg@1", "ndcg@10"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("got %v, %v, want %v", names, err, want)
	}
	for _, c := range []struct {
		names  []string
		depths []int
		want   string
	}{
		{[]string{"nDCG"}, []int{1}, `invalid metric: "nDCG" (want some of recall, ndcg, precision, hit, mrr, map, binary_recall, binary_ndcg, binary_precision, binary_f1, binary_hit, binary_mrr)`},
		{[]string{"mrr"}, []int{0, 5}, "invalid metric: depths [0 5] (want whole numbers from 1 to 1048576)"},
		{[]string{"mrr"}, nil, "invalid metric: depths [] (want whole numbers from 1 to 1048576)"},
	} {
		if _, err := Metrics(c.names, c.depths); !errors.Is(err, ErrMetric) || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if got := (Metric{Kind: "none"}).Of(NewScored(nil, nil)); !math.IsNaN(got) {
		t.Errorf("a metric that does not exist is %v", got)
	}
}

func TestRank(t *testing.T) {
	item := func(id string, priority int, score float64, meta map[string]any) pipeline.Item {
		return pipeline.Item{ID: id, Source: pipeline.SourceRetrieval, Priority: priority, Score: score, Metadata: meta}
	}
	items := []pipeline.Item{
		item("docs:a", 5, 0.5, nil),
		item("docs:b", 5, 0.5, nil),
		item("other:c", 5, 0.9, nil),
		item("docs:x", 5, 0.8, map[string]any{"doc_id": "guide.md#2"}),
		item("docs:y", 5, 0.7, map[string]any{"doc_id": "guide.md#1"}),
		item("docs:", 6, 0.1, map[string]any{"doc_id": ""}),
		item("n", 5, 0.3, map[string]any{"doc_id": int64(42)}),
		item("m", 5, 0.2, map[string]any{"doc_id": 1e6}),
		{ID: "memory", Source: pipeline.SourceMemory, Priority: 10, Score: 1},
	}
	for _, c := range []struct {
		name   string
		ranker Ranker
		want   []string
	}{
		{"as trec_eval", Ranker{Metadata: "doc_id", Prefixes: []string{"docs"}},
			[]string{"docs:", "other:c", "guide.md#2", "guide.md#1", "b", "a", "42", "1000000"}},
		{"ties as they stand", Ranker{Metadata: "doc_id", Prefixes: []string{"docs"}, ListOrder: true},
			[]string{"docs:", "other:c", "guide.md#2", "guide.md#1", "a", "b", "42", "1000000"}},
		{"chunks of a document", Ranker{Metadata: "doc_id", Prefixes: []string{"docs"}, Cut: "#"},
			[]string{"docs:", "other:c", "guide.md", "b", "a", "42", "1000000"}},
		{"ids only", Ranker{}, []string{"docs:", "other:c", "docs:x", "docs:y", "docs:b", "docs:a", "n", "m"}},
	} {
		if got := c.ranker.Rank(items); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// The id of a record begins behind the name of the file, whatever it has in it.
func TestDocumentAfter(t *testing.T) {
	r := Ranker{Metadata: "doc_id", After: "#"}
	for id, want := range map[string]string{"corpus.jsonl#42": "42", "corpus.jsonl#https://a.b/c#get-started": "https://a.b/c#get-started", "42": "42", "a#": "a#"} {
		if got := r.Document(&pipeline.Item{ID: "x", Metadata: map[string]any{"doc_id": id}}); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}
