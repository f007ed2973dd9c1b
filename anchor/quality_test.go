package anchor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/ingest/chunk"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// TestHybridQuality holds hybrid retrieval against public sets with judgements: with the table of the
// program, and with a larger one, there for Cranfield on the half of the queries that tuning has not seen.
func TestHybridQuality(t *testing.T) {
	data, table := os.Getenv("ANCHOR_DATA_DIR"), os.Getenv("ANCHOR_STATIC")
	if data == "" {
		t.Skip("ANCHOR_DATA_DIR is not set: the quality of hybrid retrieval is not measured")
	}
	for _, c := range []struct {
		set, embedder string
		heldOut       bool
		floor         float64
	}{
		{"scifact", "", false, 0.705},
		{"cranfield", "", false, 0.41},
		{"scifact", tableEmbedder(table), false, 0.715},
		{"cranfield", tableEmbedder(table), true, 0.415},
	} {
		name := c.set
		if c.embedder != "" {
			name += " by a larger table"
		}
		t.Run(name, func(t *testing.T) {
			if c.embedder != "" && table == "" {
				t.Skip("ANCHOR_STATIC is not set: the quality with a larger table is not measured")
			}
			app := qualityApp(t, c.embedder, filepath.Join(data, c.set, "corpus.jsonl"), "")
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

// TestModelQuality measures hybrid retrieval with the vectors of a model behind an API, such as that of
// "make embed-server": with the default weight, and with the one that tuning finds on one half of the
// questions, on the other half. It embeds the whole set, which takes the better part of an hour on
// one core.
//
//	ANCHOR_EMBED_URL=http://127.0.0.1:8089/v1 ANCHOR_EMBED_MODEL=all-minilm-l6-v2 ANCHOR_DATA_DIR=… go test ./anchor -run ModelQuality -v -timeout 3h
func TestModelQuality(t *testing.T) {
	data, url, model := os.Getenv("ANCHOR_DATA_DIR"), os.Getenv("ANCHOR_EMBED_URL"), os.Getenv("ANCHOR_EMBED_MODEL")
	if data == "" || url == "" || model == "" {
		t.Skip("ANCHOR_DATA_DIR, ANCHOR_EMBED_URL or ANCHOR_EMBED_MODEL is not set: the quality with a model is not measured")
	}
	set := filepath.Join(data, "scifact")
	app := qualityApp(t, fmt.Sprintf("{http: {base_url: %q, model: %q, timeout: 10m}}", url, model), filepath.Join(set, "corpus.jsonl"), "")
	o := evaluationOf(t, set, func(string) bool { return true })
	report, err := app.Evaluate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	got := report.Stages[0].Metrics["ndcg@10"]
	t.Logf("nDCG@10 = %.4f over %d queries", got, report.Evaluated)
	if got < 0.7 { // a model that is worse than words alone is not used as it should be
		t.Errorf("nDCG@10 = %.4f, want at least 0.7", got)
	}
	tuning, err := app.Tune(t.Context(), evaluationOf(t, set, func(string) bool { return true }))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range tuning.Results[0].Rows {
		t.Logf("%+v", row)
	}
}

// tableEmbedder is the configuration of an embedder with a table.
func tableEmbedder(folder string) string {
	return "{static: {table: " + filepath.Join(folder, "table.safetensors") + ", tokenizer: " + filepath.Join(folder, "tokenizer.json") + "}}"
}

// qualityApp ingests a corpus, a chunk for each document.
func qualityApp(t *testing.T, embedder, corpus, settings string) *App {
	entry, name := "", config.BuiltinEmbedder
	if embedder != "" {
		entry, name = "embedders: {local: "+embedder+"}\n", "local"
	}
	app := searching(t, entry+"collections: {docs: {embedder: "+name+`}}
retrievers: {docs: {collection: docs, by: hybrid`+settings+`}}
window: {max_tokens: 1000000}
steps: [{name: found, use: docs, top_k: 20}]
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
