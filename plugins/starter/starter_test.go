package starter

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/conform"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
)

// names are the plugins.
var names = []string{"folder-search", "keep-best"}

func readSpec(t testing.TB, name string) *spec.Spec {
	t.Helper()
	wasm, err := fs.ReadFile(Files(), name+"/plugin.wasm")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := fs.ReadFile(Files(), name+"/plugin.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.Read(name, wasm, manifest)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newHost(t testing.TB, log *strings.Builder) *host.Host {
	t.Helper()
	cfg := host.Config{CacheDir: host.CacheOff}
	if log != nil {
		cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	}
	h, err := host.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return h
}

func mounted(folder string, settings map[string]any) host.PluginConfig {
	return host.PluginConfig{Name: "docs", Settings: settings, Grants: host.Grants{Files: []host.FileGrant{{Host: folder, Guest: "/docs"}}}}
}

// search loads folder-search over a folder and returns what it finds.
func search(t testing.TB, h *host.Host, folder string, settings map[string]any, query string, topK int) ([]pipeline.Item, error) {
	t.Helper()
	cfg := mounted(folder, settings)
	cfg.Engine = host.EngineInterpreter // which loads at once
	p, err := h.Load(t.Context(), readSpec(t, "folder-search"), cfg)
	if err != nil {
		return nil, err
	}
	defer func() {
		if p.State() != host.StateReset {
			t.Errorf("state %q after init: %v", p.State(), p.Notes())
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	step, err := steps.New(p, abi.OpRetrieve, steps.Options{Step: "search", TopK: topK})
	if err != nil {
		t.Fatal(err)
	}
	return build(t, step, nil, query), nil
}

// build runs one step on items and returns what is in the window.
func build(t testing.TB, step pipeline.Step, items []pipeline.Item, query string) []pipeline.Item {
	t.Helper()
	add := pipeline.StepConfig{Name: "items", Step: pipeline.PostProcessorStep(appended(items))}
	b, err := pipeline.New(pipeline.Config{MaxTokens: 1 << 24, Tokenizer: pipeline.WordTokenizer(),
		Steps: []pipeline.StepConfig{add, {Name: "step", Step: step}}})
	if err != nil {
		t.Fatal(err)
	}
	result, err := b.Build(t.Context(), pipeline.Query{Text: query})
	if err != nil {
		t.Fatal(err)
	}
	return result.Window.Items
}

// appended adds items to those of a build.
type appended []pipeline.Item

func (a appended) Process(_ context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	return append(items, a...), nil
}

// folder writes files and returns where.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func ids(items []pipeline.Item) (list []string) {
	for _, it := range items {
		list = append(list, strings.TrimPrefix(it.ID, "docs:"))
	}
	return list
}

// Larger modules are not committed.
func TestModulesAreSmall(t *testing.T) {
	for _, name := range names {
		wasm, err := fs.ReadFile(Files(), name+"/plugin.wasm")
		if err != nil || len(wasm) > 64<<10 {
			t.Errorf("%s: %d bytes, want at most 64 KiB; %v", name, len(wasm), err)
		}
		if _, err := fs.ReadFile(Files(), name+"/README.md"); err != nil {
			t.Error(err)
		}
	}
}

func TestConformance(t *testing.T) {
	h := newHost(t, nil)
	docs := folder(t, map[string]string{"a.md": "# Foxes\n\nThe quick brown fox jumps.\n\n# Dogs\n\nThe lazy dog sleeps."})
	for _, name := range names {
		cfg := host.PluginConfig{}
		if name == "folder-search" {
			cfg = mounted(docs, nil)
		}
		r, err := conformance.Run(t.Context(), conform.New(h, readSpec(t, name), cfg), conformance.Options{Short: true})
		if err != nil {
			t.Fatal(err)
		}
		if failed := r.FailedCases(); len(failed) > 0 || len(r.Results) < 15 {
			t.Errorf("%s: fails %v of %d cases", name, failed, len(r.Results))
		}
	}
}

func TestFindsSections(t *testing.T) {
	h := newHost(t, nil)
	docs := folder(t, map[string]string{
		"guide.md": "Foreword on foxes.\n\n# Guide\n\n## Limits of foxes\n\nA fox may eat three hens.\n\n" +
			"```\n# no heading\nfox fox fox\n```\n\n## Dogs\n\nDogs bark.\n",
		"deep/er/notes.txt":  "The foxes' den.",
		"records.jsonl":      `{"_id": "r1", "title": "Foxes \u0026 hens", "text": "On the farm."}` + "\n\n" + `{"text": "A nameless fox"}` + "\n",
		".hidden/secret.md":  "fox",
		"picture.png":        "fox",
		"empty.md":           "\n\n# Only a heading\n",
		"latin1.md":          "fox \xe9",
		"other/Umlaute.MD":   "Füchse sind rot.",
		"other/unrelated.md": "Nothing here.",
	})
	items, err := search(t, h, docs, nil, "Where are the FOXES?", 20)
	if err != nil {
		t.Fatal(err)
	}
	got := ids(items)
	slices.Sort(got)
	if want := []string{"deep/er/notes.txt#1", "guide.md#1", "guide.md#2", "r1", "records.jsonl:3"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	for _, it := range items {
		if it.ID == "docs:guide.md#2" {
			want := "Guide > Limits of foxes\n\nA fox may eat three hens.\n\n```\n# no heading\nfox fox fox\n```"
			if it.Content != want || it.Metadata["title"] != "Guide > Limits of foxes" || it.Metadata["path"] != "guide.md" {
				t.Errorf("content %q, metadata %v", it.Content, it.Metadata)
			}
		}
	}
	if items[0].Score != 1 {
		t.Errorf("the best score is %v, want 1", items[0].Score)
	}
	if items, err = search(t, h, docs, nil, "füchse", 20); err != nil || len(items) != 1 || items[0].ID != "docs:other/Umlaute.MD#1" {
		t.Errorf("füchse: %q, %v", ids(items), err)
	}
	if items, err = search(t, h, docs, nil, "the of and", 20); err != nil || len(items) != 0 {
		t.Errorf("stop words: %q, %v", ids(items), err)
	}
	if items, err = search(t, h, docs, nil, "fox", 2); err != nil || len(items) != 2 {
		t.Errorf("top_k 2: %q, %v", ids(items), err)
	}
}

// The forms of a word find each other.
func TestStems(t *testing.T) {
	h := newHost(t, nil)
	for _, forms := range []string{
		"limit limits limited limiting", "store stores stored storing", "retry retries retried", "drop drops dropped dropping",
		"plugin plugins plugin's", "pass passes passed passing",
	} {
		words := strings.Fields(forms)
		files := map[string]string{}
		for _, w := range words {
			files[w+".md"] = w
		}
		docs := folder(t, files)
		for _, w := range words {
			items, err := search(t, h, docs, nil, w, 20)
			if err != nil || len(items) != len(words) {
				t.Errorf("%s finds %q, want all of %q; %v", w, ids(items), words, err)
			}
		}
		items, err := search(t, h, docs, map[string]any{"stem": false}, words[1], 20)
		if err != nil || len(items) != 1 {
			t.Errorf("without stems %s finds %q; %v", words[1], ids(items), err)
		}
	}
}

func TestCutsLongSections(t *testing.T) {
	paragraph := strings.Repeat("hen ", 30)
	text := "# Long\n\n" + strings.Repeat(paragraph+"\n\n", 10)
	items, err := search(t, newHost(t, nil), folder(t, map[string]string{"a.md": text}), map[string]any{"section_bytes": 300}, "hen", 50)
	if err != nil || len(items) != 4 {
		t.Fatalf("%d sections, want 4; %v", len(items), err)
	}
	total := 0
	for _, it := range items {
		total += strings.Count(it.Content, "hen")
		if !strings.HasPrefix(it.Content, "Long\n\nhen") {
			t.Errorf("section %.20q does not begin with its heading", it.Content)
		}
	}
	if total != 300 {
		t.Errorf("%d words in all sections, want 300", total)
	}
}

func TestNeedsAFolder(t *testing.T) {
	h := newHost(t, nil)
	_, err := h.Load(t.Context(), readSpec(t, "folder-search"), host.PluginConfig{Name: "docs"})
	if want := "mount one (grants: {files: [{host: ./docs, guest: /docs, mode: ro}]})"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("without a folder: %v, want %q", err, want)
	}
}

func TestEmptyFolderIsAWarning(t *testing.T) {
	var log strings.Builder
	items, err := search(t, newHost(t, &log), t.TempDir(), nil, "x", 5)
	if err != nil || len(items) != 0 || !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "holds no .md") {
		t.Errorf("%d items, %v, log:\n%s", len(items), err, log.String())
	}
}

// A listing of many files comes in several parts, whose last entries are cut off.
func TestManyFiles(t *testing.T) {
	files := map[string]string{}
	for i := range 1200 {
		files[fmt.Sprintf("%04d-%s.md", i, strings.Repeat("n", i%90))] = "fox"
	}
	items, err := search(t, newHost(t, nil), folder(t, files), nil, "fox", 3000)
	if err != nil || len(items) != 1200 {
		t.Errorf("%d files found, want 1200; %v", len(items), err)
	}
}

// bm25 is the ranking as the books have it.
func bm25(docs []string, query string, k1, b float64) map[int]float64 {
	var total float64
	for _, d := range docs {
		total += float64(len(strings.Fields(d)))
	}
	scores := map[int]float64{}
	for _, term := range strings.Fields(query) {
		holding := 0.0
		for _, d := range docs {
			if slices.Contains(strings.Fields(d), term) {
				holding++
			}
		}
		for i, d := range docs {
			words := strings.Fields(d)
			n := 0.0
			for _, w := range words {
				if w == term {
					n++
				}
			}
			if n > 0 {
				idf := math.Log(1 + (float64(len(docs))-holding+0.5)/(holding+0.5))
				scores[i] += idf * n / (n + k1*(1-b+b*float64(len(words))/(total/float64(len(docs)))))
			}
		}
	}
	return scores
}

// Random documents are rated as by the formula.
func TestScoresAreBM25(t *testing.T) {
	h := newHost(t, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		var words []string
		for range n {
			words = append(words, fmt.Sprintf("w%d", rng.IntN(30)))
		}
		return strings.Join(words, " ")
	}
	for round := range 8 {
		docs := make([]string, 1+rng.IntN(40))
		files := map[string]string{}
		for i := range docs {
			docs[i] = text(1 + rng.IntN(60))
			files[fmt.Sprintf("%02d.txt", i)] = docs[i]
		}
		query, k1, b := text(1+rng.IntN(5)), 2*rng.Float64(), rng.Float64()
		settings := map[string]any{"stem": false, "stop_words": false, "k1": k1, "b": b, "section_bytes": 100000}
		items, err := search(t, h, folder(t, files), settings, query, 100)
		if err != nil {
			t.Fatal(err)
		}
		want := bm25(docs, query, k1, b)
		if len(items) != len(want) {
			t.Errorf("round %d: %d items, want %d", round, len(items), len(want))
		}
		best := 0.0
		for _, score := range want {
			best = max(best, score)
		}
		for _, it := range items {
			var i int
			if _, err := fmt.Sscanf(it.ID, "docs:%02d.txt#1", &i); err != nil {
				t.Fatal(err)
			}
			if math.Abs(it.Metadata["bm25"].(float64)-want[i]) > 1e-9 || math.Abs(it.Score-want[i]/best) > 1e-9 {
				t.Errorf("round %d, document %d: %v and %v, want %v of %v", round, i, it.Metadata["bm25"], it.Score, want[i], best)
			}
		}
	}
}

func TestKeepBest(t *testing.T) {
	h := newHost(t, nil)
	p, err := h.Load(t.Context(), readSpec(t, "keep-best"), host.PluginConfig{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 30 {
		share := rng.Float64()
		if round < 2 {
			share = float64(round)
		}
		step, err := steps.New(p, abi.OpFilter, steps.Options{Step: "close", Settings: map[string]any{"share": share}})
		if err != nil {
			t.Fatal(err)
		}
		var items []pipeline.Item
		best := 0.0
		for i := range rng.IntN(50) {
			it := pipeline.Item{ID: fmt.Sprint(i), Content: fmt.Sprint("text ", i), Source: pipeline.SourceRetrieval, Score: rng.Float64(), Priority: 5}
			items, best = append(items, it), max(best, it.Score)
		}
		var want []string
		for _, it := range items {
			if it.Score >= share*best {
				want = append(want, it.ID)
			}
		}
		got := ids(build(t, step, items, "q"))
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("share %v of %v: kept %v, want %v", share, best, got, want)
		}
	}
}

// FuzzDocuments puts any bytes into the two kinds of file. The plugin answers; it never
// traps, and no item is lost or damaged on its way.
func FuzzDocuments(f *testing.F) {
	f.Add([]byte("# A\n\nfox\n## B\n```\n#"), []byte(`{"_id": "1", "title": "t", "text": "a fox"}`), "a fox")
	f.Add([]byte("######## x\n#\n# \n \n\xff"), []byte("{\"text\": \"\\ud800\"}\n[]\n"), "'s \xff")
	f.Add([]byte(strings.Repeat("x", 300)), []byte(`{"text": "`+strings.Repeat("\\u0000", 50)+`"}`), strings.Repeat("x", 64))
	h := newHost(f, nil)
	f.Fuzz(func(t *testing.T, text, records []byte, query string) {
		dir := folder(t, map[string]string{"a.md": string(text), "b.jsonl": string(records)})
		items, err := search(t, h, dir, nil, strings.ToValidUTF8(query, ""), 50)
		if err != nil {
			t.Error(err)
		}
		for _, it := range items {
			if it.Content == "" || !utf8.ValidString(it.Content) || it.Score < 0 || it.Score > 1 {
				t.Errorf("item %+v", it)
			}
		}
	})
}

// leastNDCG is what folder-search must reach on SciFact; Lucene's BM25 reaches 0.679.
const leastNDCG = 0.67

func TestSciFact(t *testing.T) {
	root := os.Getenv("ANCHOR_DATA_DIR")
	if root == "" {
		t.Skip("ANCHOR_DATA_DIR is not set: the quality of the ranking is not measured")
	}
	if testing.Short() {
		t.Skip("short: 300 searches in 5,183 documents")
	}
	data, dir := filepath.Join(root, "scifact"), t.TempDir()
	corpus, err := os.ReadFile(filepath.Join(data, "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"docs/corpus.jsonl": corpus,
		"anchor.yaml": []byte("window: {max_tokens: 1000000}\ncounting: {tokenizer: words}\nplugins:\n  instances:\n    docs:\n      plugin: folder-search\n" +
			"      grants: {files: [{host: docs, guest: /docs}]}\nsteps: [{name: docs, use: docs, top_k: 10, must: true}]\n"),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "plugins"), Files()); err != nil {
		t.Fatal(err)
	}
	app, err := anchor.Load(filepath.Join(dir, "anchor.yaml"), anchor.Options{CacheDir: "off"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = app.Close(context.WithoutCancel(t.Context())) }() // nothing is left to lose
	open := func(name string) *os.File {
		f, err := os.Open(filepath.Join(data, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() }) // only read
		return f
	}
	report, err := app.Evaluate(t.Context(), anchor.EvaluateOptions{Corpus: open("corpus.jsonl"), Queries: open("queries.jsonl"),
		Qrels: open("qrels.tsv"), Metrics: []string{"ndcg"}, Depths: []int{10}, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := report.Stages[0].Metrics["ndcg@10"]
	t.Logf("nDCG@10 = %.4f", got)
	if got < leastNDCG {
		t.Errorf("nDCG@10 = %.4f, want at least %v", got, leastNDCG)
	}
}
