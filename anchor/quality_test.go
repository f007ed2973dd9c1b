package anchor

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/internal/eval"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/ingest/chunk"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// TestHybridQuality holds hybrid retrieval with a table of token vectors against public sets with
// judgements. SciFact has the defaults. Cranfield has the values that "eval --tune" found on one
// half of its queries, and is measured on the other half.
func TestHybridQuality(t *testing.T) {
	data, table := os.Getenv("ANCHOR_DATA_DIR"), os.Getenv("ANCHOR_STATIC")
	if data == "" || table == "" {
		t.Skip("ANCHOR_DATA_DIR or ANCHOR_STATIC is not set: the quality of hybrid retrieval is not measured")
	}
	for _, c := range []struct {
		set, settings string
		heldOut       bool
		floor         float64
	}{
		{"scifact", "", false, 0.715},
		{"cranfield", ", neighbours: 0.8", true, 0.42},
	} {
		t.Run(c.set, func(t *testing.T) {
			app := qualityApp(t, table, filepath.Join(data, c.set, "corpus.jsonl"), c.settings)
			o := evaluationOf(t, filepath.Join(data, c.set), func(id string) bool { return !c.heldOut || !eval.Training(id) })
			report, err := app.Evaluate(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			got := report.Stages[0].Metrics["ndcg@10"]
			t.Logf("nDCG@10 = %.4f over %d queries, %.1f ms each (median)", got, report.Evaluated, report.Times.P50)
			if got < c.floor {
				t.Errorf("nDCG@10 = %.4f, want at least %v", got, c.floor)
			}
			if c.heldOut && os.Getenv("ANCHOR_LONG_TESTS") != "" {
				tunesQuality(t, app, evaluationOf(t, filepath.Join(data, c.set), func(string) bool { return true }), c.floor)
			}
		})
	}
}

// qualityApp ingests a corpus, a chunk for each document.
func qualityApp(t *testing.T, table, corpus, settings string) *App {
	app := searching(t, "embedders: {local: {static: {table: "+filepath.Join(table, "table.safetensors")+", tokenizer: "+filepath.Join(table, "tokenizer.json")+`}}}
collections: {docs: {embedder: local}}
retrievers: {docs: {collection: docs, by: hybrid`+settings+`}}
max_tokens: 1000000
steps: [{name: found, retriever: docs, top_k: 20}]
`, nil)
	_, err := app.Ingest(t.Context(), []ingest.Source{{Path: corpus}}, ingest.Options{Collection: retrieve.Collection{Name: "docs"}, Chunk: chunk.Options{Size: 4096}})
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// evaluationOf reads a set, and of its queries only the wanted ones.
func evaluationOf(t *testing.T, dir string, wanted func(id string) bool) EvaluateOptions {
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var queries bytes.Buffer
	for line := range bytes.Lines(read("queries.jsonl")) {
		var q struct {
			ID string `json:"_id"`
		}
		if err := json.Unmarshal(line, &q); err != nil {
			t.Fatal(err)
		}
		if wanted(q.ID) {
			queries.Write(line)
		}
	}
	return EvaluateOptions{
		Corpus: bytes.NewReader(read("corpus.jsonl")), Queries: &queries, Qrels: bytes.NewReader(read("qrels.tsv")),
		AllowMissing: true, IDAfter: "#",
	}
}

// tunesQuality tunes from the values of the configuration and looks at the held-out half.
func tunesQuality(t *testing.T, app *App, o EvaluateOptions, floor float64) {
	tuning, err := app.Tune(context.WithoutCancel(t.Context()), o)
	if err != nil {
		t.Fatal(err)
	}
	rows := tuning.Results[0].Rows
	if last := rows[len(rows)-1]; last.HeldOut < floor {
		t.Errorf("tuned %+v, want at least %v held out", last, floor)
	}
}
