package examples_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/static"
	"github.com/anchor-host/anchor-host/plugins/examples/internal/testkit/beir"
)

// The nDCG@10 that builds must reach on SciFact. Lucene's BM25 reaches 0.679.
const (
	wantBM25     = 0.678
	wantPipeline = 0.70
)

// sciFact is the collection, and where it lies.
type sciFact struct {
	folder  string
	queries []beir.Record
	judged  map[string]map[string]float64
}

// needSciFact reads the collection. Without ANCHOR_DATA_DIR the test is skipped;
// with it the files must be there.
func needSciFact(t *testing.T) (s sciFact) {
	t.Helper()
	root := os.Getenv("ANCHOR_DATA_DIR")
	if root == "" {
		t.Skip("ANCHOR_DATA_DIR is not set: the quality of the ranking is not measured")
	}
	s.folder = filepath.Join(root, "scifact")
	var err error
	if s.queries, err = beir.Records(filepath.Join(s.folder, "queries.jsonl")); err != nil {
		t.Fatal(err)
	}
	if s.judged, err = beir.Judgements(filepath.Join(s.folder, "qrels.tsv")); err != nil {
		t.Fatal(err)
	}
	if len(s.queries) != 300 {
		t.Fatalf("%d queries, want 300", len(s.queries))
	}
	return s
}

// ndcg is the mean of nDCG@10 over one build for each query, and the times that
// each step took, sorted, in milliseconds.
func (s sciFact) ndcg(t *testing.T, p *pipeline.Pipeline) (mean float64, times map[string][]float64) {
	t.Helper()
	times = make(map[string][]float64)
	for _, q := range s.queries {
		built, err := p.Build(t.Context(), pipeline.Query{Text: q.Text})
		if err != nil {
			t.Fatal(err)
		}
		var ranking []string
		for _, item := range built.Window.Items {
			ranking = append(ranking, strings.TrimPrefix(item.ID, "docs:"))
		}
		mean += beir.NDCG(ranking, s.judged[q.ID], 10) / float64(len(s.queries))
		for _, step := range built.Diagnostics.Steps {
			times[step.Name] = append(times[step.Name], step.TimeMS)
		}
	}
	for _, ms := range times {
		slices.Sort(ms)
	}
	return mean, times
}

// guests loads plugins for a test.
type guests struct {
	host   *host.Host
	folder string // what they may read, as /docs
	model  string // and as /model, "" for nothing
}

func newGuests(t *testing.T, folder string) guests {
	t.Helper()
	h, err := host.New(host.Config{CacheDir: testbuild.CacheDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return guests{host: h, folder: folder}
}

func (g guests) step(t *testing.T, op abi.Operation, plugin, name string, topK int, settings map[string]any) pipeline.StepConfig {
	t.Helper()
	spec, err := spec.ReadFile(guest(t, plugin))
	if err != nil {
		t.Fatal(err)
	}
	settings["include"] = []any{"corpus.jsonl"}
	files := []host.FileGrant{{Host: g.folder, Guest: "/docs"}}
	if g.model != "" {
		files = append(files, host.FileGrant{Host: g.model, Guest: "/model"})
	}
	started := time.Now()
	loaded, err := g.host.Load(t.Context(), spec, host.PluginConfig{
		Name:     name,
		Settings: settings,
		Grants:   host.Grants{Files: files},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: compiled and indexed in %v", plugin, time.Since(started).Round(time.Millisecond))
	step, err := steps.New(loaded, op, steps.Options{Step: name, TopK: topK})
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.StepConfig{Name: name, Step: step}
}

// plain is a step of a plugin without init settings and grants.
func (g guests) plain(t *testing.T, op abi.Operation, plugin, name string, topK int) pipeline.StepConfig {
	t.Helper()
	spec, err := spec.ReadFile(guest(t, plugin))
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := g.host.Load(t.Context(), spec, host.PluginConfig{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	step, err := steps.New(loaded, op, steps.Options{Step: name, TopK: topK})
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.StepConfig{Name: name, Step: step}
}

func pipelineOf(t *testing.T, steps ...pipeline.StepConfig) *pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.New(pipeline.Config{MaxTokens: 1 << 20, Tokenizer: pipeline.WordTokenizer(), Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSciFactThroughBuilds scores what 300 builds bring into the window: of the
// retriever alone, with its defaults. The test of package bm25 scores the index.
func TestSciFactThroughBuilds(t *testing.T) {
	s := needSciFact(t)
	g := newGuests(t, s.folder)
	got, times := s.ndcg(t, pipelineOf(t, g.step(t, abi.OpRetrieve, "bm25-retriever", "docs", 10, map[string]any{})))
	t.Logf("nDCG@10 = %.4f, median of a search %.2f ms", got, median(times["docs"]))
	if got < wantBM25 {
		t.Errorf("nDCG@10 = %.4f, want at least %v", got, wantBM25)
	}
}

// TestSciFactWithFeedbackAndRerank scores the whole pipeline. Nothing in it was
// tuned on this collection: its values were chosen on
// Cranfield.
func TestSciFactWithFeedbackAndRerank(t *testing.T) {
	s := needSciFact(t)
	g := newGuests(t, s.folder)
	retriever := map[string]any{"k1": 2.0, "b": 0.75, "stop_words": "english"}
	once := g.step(t, abi.OpRetrieve, "bm25-retriever", "docs", 100, retriever)
	retriever["feedback"] = map[string]any{"model": "rm3"}
	twice := g.step(t, abi.OpRetrieve, "bm25-retriever", "docs", 100, retriever)
	rerank := g.step(t, abi.OpRerank, "field-reranker", "rated", 10, map[string]any{})
	ofItems := g.step(t, abi.OpRerank, "field-reranker", "rated", 10, map[string]any{"statistics": "items", "weight": 0.3, "title": 2.0})
	for _, c := range []struct {
		name  string
		steps []pipeline.StepConfig
		want  float64
	}{
		{"tuned BM25", []pipeline.StepConfig{once}, wantBM25},
		{"feedback", []pipeline.StepConfig{twice}, wantBM25},
		{"rerank", []pipeline.StepConfig{once, rerank}, wantPipeline},
		{"rerank by items", []pipeline.StepConfig{once, ofItems}, wantBM25},
		{"feedback and rerank", []pipeline.StepConfig{twice, rerank}, wantPipeline},
	} {
		got, times := s.ndcg(t, pipelineOf(t, c.steps...))
		t.Logf("%-20s nDCG@10 = %.4f, medians: search for 100 %.2f ms, rerank of 100 %.2f ms", c.name, got, median(times["docs"]), median(times["rated"]))
		if got < c.want {
			t.Errorf("%s: nDCG@10 = %.4f, want at least %v", c.name, got, c.want)
		}
	}
}

// TestSciFactWithVectors scores builds with vectors by the static table in the folder ANCHOR_STATIC,
// table.safetensors and tokenizer.json. The weight, a default, is the best one on Cranfield.
func TestSciFactWithVectors(t *testing.T) {
	model := os.Getenv("ANCHOR_STATIC")
	if model == "" {
		t.Skip("ANCHOR_STATIC names no folder")
	}
	s := needSciFact(t)
	e, err := static.Open(static.Options{Table: filepath.Join(model, "table.safetensors"), Tokenizer: filepath.Join(model, "tokenizer.json")})
	if err != nil {
		t.Fatal(err)
	}
	g := newGuests(t, s.folder)
	words := g.step(t, abi.OpRetrieve, "bm25-retriever", "docs", 100, map[string]any{"k1": 2.0, "b": 0.75, "stop_words": "english"})
	g.model = model
	for _, c := range []struct {
		name  string
		steps []pipeline.StepConfig
		want  float64
	}{
		{"dense-rerank", []pipeline.StepConfig{words, g.plain(t, abi.OpRerank, "dense-rerank", "rated", 10)}, 0.70},
		{"dense-retriever", []pipeline.StepConfig{g.step(t, abi.OpRetrieve, "dense-retriever", "docs", 10, map[string]any{})}, 0.51},
	} {
		p, err := pipeline.New(pipeline.Config{MaxTokens: 1 << 20, Tokenizer: pipeline.WordTokenizer(), Steps: c.steps, Embedder: e})
		if err != nil {
			t.Fatal(err)
		}
		got, times := s.ndcg(t, p)
		t.Logf("%-20s nDCG@10 = %.4f, medians: search %.2f ms, rerank of 100 %.2f ms", c.name, got, median(times["docs"]), median(times["rated"]))
		if got < c.want {
			t.Errorf("%s: nDCG@10 = %.4f, want at least %v", c.name, got, c.want)
		}
	}
}

// median is that of sorted numbers, 0 of none.
func median(sorted []float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}
