package bm25

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSciFact holds the ranking against a public set with judgements. The
// figure that Lucene reaches with these parameters is 0.679.
func TestSciFact(t *testing.T) {
	root := os.Getenv("ANCHOR_DATA_DIR")
	if root == "" {
		t.Skip("ANCHOR_DATA_DIR is not set: the quality of the ranking is not measured")
	}
	dir := filepath.Join(root, "scifact")
	var ids []string
	b := NewBuilder(Options{K1: 0.9, B: 0.4, Analyzer: NewAnalyzer(AnalyzerOptions{Stop: LuceneStopWord, Stem: true})})
	for _, d := range readBEIR(t, filepath.Join(dir, "corpus.jsonl")) {
		ids = append(ids, d.ID)
		b.Add(d.Title, d.Text)
	}
	x := b.Build()
	judged := readJudgements(t, filepath.Join(dir, "qrels.tsv"))
	sum, n := 0.0, 0
	for _, q := range readBEIR(t, filepath.Join(dir, "queries.jsonl")) {
		var ranking []string
		for _, h := range x.Search(q.Text, 10) {
			ranking = append(ranking, ids[h.Doc])
		}
		sum += ndcg(ranking, judged[q.ID])
		n++
	}
	got := sum / float64(n)
	t.Logf("nDCG@10 = %.4f over %d queries, %d documents, %d terms", got, n, x.Len(), x.Terms())
	if n != 300 || got < 0.678 {
		t.Errorf("nDCG@10 = %.4f over %d queries, want at least 0.678 over 300", got, n)
	}
}

type beirRecord struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

func readBEIR(t *testing.T, path string) (records []beirRecord) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dec := json.NewDecoder(bufio.NewReader(f))
	for dec.More() {
		var r beirRecord
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

func readJudgements(t *testing.T, path string) map[string]map[string]float64 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	judged := map[string]map[string]float64{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
		f := strings.Fields(line)
		grade, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		if judged[f[0]] == nil {
			judged[f[0]] = map[string]float64{}
		}
		judged[f[0]][f[1]] = grade
	}
	return judged
}

// ndcg is nDCG@10 as trec_eval counts it: linear gain, log2 discount.
func ndcg(ranking []string, grades map[string]float64) float64 {
	gain, ideal := 0.0, 0.0
	for i, id := range ranking {
		gain += grades[id] / math.Log2(float64(i+2))
	}
	var best []float64
	for _, g := range grades {
		best = append(best, g)
	}
	slices.Sort(best)
	slices.Reverse(best)
	for i, g := range best[:min(len(best), 10)] {
		ideal += g / math.Log2(float64(i+2))
	}
	if ideal == 0 {
		return 0
	}
	return gain / ideal
}
