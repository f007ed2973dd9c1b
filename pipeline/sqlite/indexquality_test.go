package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
)

// TestWordsQuality holds the ranking by words against public sets with judgements. Lucene's figure
// for SciFact with its usual parameters is 0.679.
func TestWordsQuality(t *testing.T) {
	root := os.Getenv("ANCHOR_DATA_DIR")
	if root == "" {
		t.Skip("ANCHOR_DATA_DIR is not set: the quality of the ranking is not measured")
	}
	for set, floor := range map[string]float64{"scifact": 0.687, "cranfield": 0.379} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			if got := wordsNDCG(t, filepath.Join(root, set)); got < floor {
				t.Errorf("nDCG@10 = %.4f, want at least %v", got, floor)
			}
		})
	}
}

func wordsNDCG(t *testing.T, dir string) float64 {
	read := func(name string) *bytes.Reader {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.NewReader(data)
	}
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.Options{Sync: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, no := retrieve.Collection{Tenant: "t", Name: "c"}, false
	if err := s.Index().Create(t.Context(), c, retrieve.Settings{SplitIdentifiers: &no}); err != nil {
		t.Fatal(err)
	}
	var docs []retrieve.Document
	_, err = eval.ReadCorpus("corpus", read("corpus.jsonl"), func(d eval.Document) error {
		docs = append(docs, retrieve.Document{ID: d.ID, Title: d.Title, Chunks: []retrieve.Chunk{{Text: d.Text}}})
		return nil
	})
	if err == nil {
		err = s.Index().Upsert(t.Context(), c, docs...)
	}
	if err != nil {
		t.Fatal(err)
	}
	queries, err := eval.ReadQueries("queries", read("queries.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	qrels, err := eval.ReadQrels("qrels", read("qrels.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	grades := map[string]eval.Grades{}
	for _, j := range qrels.List {
		if grades[j.Query] == nil {
			grades[j.Query] = eval.Grades{}
		}
		grades[j.Query][j.Document] = j.Grade
	}
	sum, n := 0.0, 0
	for _, q := range queries {
		if grades[q.ID].Relevant() == 0 {
			continue
		}
		hits, err := s.Index().Search(t.Context(), c, retrieve.Query{Text: q.Text})
		if err != nil {
			t.Fatal(err)
		}
		var ranking []string
		for _, h := range hits {
			ranking = append(ranking, h.Document)
		}
		sum += eval.Metric{Kind: "ndcg", K: 10}.Of(eval.NewScored(ranking, grades[q.ID]))
		n++
	}
	t.Logf("nDCG@10 = %.4f over %d queries, %d documents", sum/float64(n), n, len(docs))
	return sum / float64(n)
}
