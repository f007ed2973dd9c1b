package bm25

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
	"github.com/anchor-host/anchor-host/plugins/examples/internal/testkit/beir"
)

// TestSciFact holds the ranking against a public set with judgements. The
// figure that Lucene reaches with these parameters is 0.679.
func TestSciFact(t *testing.T) {
	root := os.Getenv("ANCHOR_DATA_DIR")
	if root == "" {
		t.Skip("ANCHOR_DATA_DIR is not set: the quality of the ranking is not measured")
	}
	dir := filepath.Join(root, "scifact")
	corpus, err := beir.Records(filepath.Join(dir, "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	queries, err := beir.Records(filepath.Join(dir, "queries.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	judged, err := beir.Judgements(filepath.Join(dir, "qrels.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(Options{K1: 0.9, B: 0.4, Analyzer: analysis.New(analysis.Options{Stop: analysis.LuceneStopWord, Stem: true})})
	for _, d := range corpus {
		b.Add(d.Title, d.Text)
	}
	x := b.Build()
	sum := 0.0
	for _, q := range queries {
		var ranking []string
		for _, hit := range x.Search(q.Text, 10) {
			ranking = append(ranking, corpus[hit.Doc].ID)
		}
		sum += beir.NDCG(ranking, judged[q.ID], 10)
	}
	got := sum / float64(len(queries))
	t.Logf("nDCG@10 = %.4f over %d queries, %d documents, %d terms", got, len(queries), x.Len(), x.Terms())
	if len(queries) != 300 || got < 0.678 {
		t.Errorf("nDCG@10 = %.4f over %d queries, want at least 0.678 over 300", got, len(queries))
	}
}
