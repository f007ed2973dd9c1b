package anchor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// wordServer answers as an embedding server. The vector of a text counts its words, so texts that
// share words are close to each other.
func wordServer(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		var data []map[string]any
		for i, text := range req.Input {
			v := make([]float32, 64)
			for _, word := range strings.Fields(strings.ToLower(text)) {
				h := fnv.New32a()
				h.Write([]byte(word))
				v[h.Sum32()%64]++
			}
			data = append(data, map[string]any{"index": i, "embedding": v})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// searching loads a configuration with a store in a file.
func searching(t *testing.T, text string, log *bytes.Buffer) *App {
	t.Helper()
	dir := t.TempDir()
	o := Options{}
	if log != nil {
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
	}
	app, err := Load(write(t, dir, "store: {path: "+filepath.ToSlash(filepath.Join(dir, "store.db"))+"}\ncounting: {tokenizer: words}\n"+text), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(context.Background()) })
	return app
}

// ingested ingests files into a collection.
func ingested(t *testing.T, app *App, c retrieve.Collection, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := app.Ingest(t.Context(), []ingest.Source{{Path: dir}}, ingest.Options{Collection: c}); err != nil {
		t.Fatal(err)
	}
}

var guide = map[string]string{
	"flags.md": "# Flags\n\nPackage flag parses the flags of a command line.",
	"times.md": "# Times\n\nPackage time measures and shows times.",
	"sorts.md": "# Sorts\n\nPackage slices sorts lists of values.",
}

func foundFiles(t *testing.T, r *pipeline.Result) (names []string) {
	t.Helper()
	for _, it := range r.Window.Items {
		if it.Source == pipeline.SourceRetrieval {
			names = append(names, filepath.Base(fmt.Sprint(it.Metadata["path"])))
		}
	}
	return names
}

// A collection is searched wherever a retriever can be named.
func TestRetrieversOfCollections(t *testing.T) {
	const head = "retrievers: {docs: {collection: docs}, times: {collection: docs, filter: [{field: title, values: [Times]}]}}\n"
	const plugins = "plugins: {dir: ../testdata/wasm}\n"
	for name, c := range map[string]struct{ steps, first string }{
		"step":     {"- {name: s, use: docs, top_k: 1, source: tool, max_priority: 2}", "flags.md"},
		"filter":   {"- {name: s, use: times}", "times.md"},
		"route":    {"- {name: s, classifier: {keywords: {flags: [flag]}}, routes: {flags: docs, other: times}, default: other}", "flags.md"},
		"default":  {"- {name: s, classifier: {keywords: {flags: [zzz]}}, routes: {flags: docs, other: times}, default: other}", "times.md"},
		"members":  {"- {name: s, retrievers: [docs, {use: times, weight: 0.1}]}", "flags.md"},
		"weighted": {"- {name: s, retrievers: [{use: docs, weight: 0.1}, {use: times, weight: 10}]}", "times.md"},
		"rrf":      {"- {name: s, retrievers: [{use: docs, weight: 0.1}, {use: times, weight: 10}], fusion: rrf}", "times.md"},
	} {
		t.Run(name, func(t *testing.T) {
			app := searching(t, head+plugins+"steps:\n  "+c.steps, nil)
			ingested(t, app, retrieve.Collection{Name: "docs"}, guide)
			r, err := app.Build(t.Context(), pipeline.Query{Text: "which package parses flags at times"}, BuildOptions{})
			if err != nil {
				t.Fatal(err)
			}
			it := &r.Window.Items[slices.IndexFunc(r.Window.Items, func(it pipeline.Item) bool { return it.Metadata["path"] != nil })]
			if got := filepath.Base(fmt.Sprint(it.Metadata["path"])); got != c.first || it.Score <= 0 || it.Score > 1 || it.Metadata["collection"] != "docs" || it.Metadata["heading"] == nil {
				t.Errorf("first item %s %+v, want %s", got, it, c.first)
			}
			if name == "step" && (it.Source != pipeline.SourceTool || it.Priority != 2 || !strings.HasPrefix(it.ID, "docs:") || !strings.HasSuffix(it.ID, "flags.md#1")) {
				t.Errorf("source, priority and id of %+v", it)
			}
			if seen := r.Diagnostics.Steps; len(seen) != 1 || seen[0].Name != "s" || seen[0].ItemsAfter == 0 {
				t.Errorf("diagnostics %+v", seen)
			}
		})
	}
}

// A step that retrieves runs before a step that works on what is found, wherever the list has it.
func TestRetrieversRunBeforeOtherSteps(t *testing.T) {
	modules, err := filepath.Abs("../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	head := "plugins: {dir: " + filepath.ToSlash(modules) + "}\nretrievers: {docs: {collection: docs}}\n"
	for name, step := range map[string]string{
		"collection": "use: docs",
		"members":    "retrievers: [docs]",
		"route":      "classifier: {keywords: {flags: [flag]}}, routes: {flags: docs}, default: flags",
		"plugin":     "use: add-two",
	} {
		app := searching(t, head+"steps:\n  - {name: one, use: top_k, top_k: 1}\n  - {name: found, "+step+"}\n", nil)
		ingested(t, app, retrieve.Collection{Name: "docs"}, guide)
		r, err := app.Build(t.Context(), pipeline.Query{Text: "which package is for flags and times"}, BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if s := r.Diagnostics.Steps; len(s) != 2 || s[0].Name != "found" || s[0].ItemsAfter < 2 || s[1].ItemsAfter != 1 {
			t.Errorf("%s: steps %+v, %+v: want found before one", name, s, r.Degraded)
		}
	}
}

func TestRetrieverByMeaning(t *testing.T) {
	app := searching(t, "embedders: {e: {http: {base_url: '"+wordServer(t)+`/v1', model: m}}}
collections: {docs: {embedder: e}}
retrievers: {docs: {collection: docs}, near: {collection: docs, by: vectors}}
steps: [{name: s, use: docs}]
pipelines: {near: {steps: [{name: s, use: near}]}}
`, nil)
	ingested(t, app, retrieve.Collection{Name: "docs"}, guide)
	for pipe, by := range map[string]string{"": "hybrid", "near": "vectors"} {
		r, err := app.Build(t.Context(), pipeline.Query{Text: "package slices sorts lists of values."}, BuildOptions{Pipeline: pipe})
		if err != nil {
			t.Fatal(err)
		}
		if got := foundFiles(t, r); len(got) == 0 || got[0] != "sorts.md" || r.Window.Items[0].Metadata["retrieval_method"] != by {
			t.Errorf("by %s: found %q, %+v", by, got, r.Window.Items[0])
		}
	}
}

// If the server of vectors fails, a search that asks for vectors fails, and one that asks for nothing
// finds words and says why.
func TestRetrieverWithoutItsServer(t *testing.T) {
	var log bytes.Buffer
	var down atomic.Bool
	at, err := url.Parse(wordServer(t))
	if err != nil {
		t.Fatal(err)
	}
	words := httputil.NewSingleHostReverseProxy(at)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			http.Error(w, "away", http.StatusUnauthorized)
			return
		}
		words.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	app := searching(t, "embedders: {e: {http: {base_url: '"+s.URL+`/v1', model: m}}}
collections: {docs: {embedder: e}}
retrievers: {docs: {collection: docs}, both: {collection: docs, by: hybrid}}
steps: [{name: s, use: docs}]
pipelines: {both: {steps: [{name: s, use: both}]}}
`, &log)
	ingested(t, app, retrieve.Collection{Name: "docs"}, guide)
	down.Store(true)
	r, err := app.Build(t.Context(), pipeline.Query{Text: "flags"}, BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := foundFiles(t, r); !slices.Equal(got, []string{"flags.md"}) || !strings.Contains(log.String(), "searches by words alone") || !strings.Contains(log.String(), "401") {
		t.Errorf("found %q, log %s", got, &log)
	}
	if _, err := app.Build(t.Context(), pipeline.Query{Text: "flags"}, BuildOptions{Pipeline: "both"}); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("by: hybrid: %v", err)
	}
}

// The collection of a build belongs to the tenant of the build.
func TestRetrieverOfATenant(t *testing.T) {
	app := searching(t, "retrievers: {docs: {collection: docs, by: words}}\nsteps: [{name: s, use: docs}]", nil)
	ingested(t, app, retrieve.Collection{Tenant: "ann", Name: "docs"}, guide)
	ingested(t, app, retrieve.Collection{Tenant: "bob", Name: "docs"}, map[string]string{"secret.md": "Flags of Bob."})
	for tenant, want := range map[string]string{"ann": "flags.md", "bob": "secret.md"} {
		r, err := app.Build(t.Context(), pipeline.Query{Text: "flags"}, BuildOptions{Tenant: tenant})
		if err != nil {
			t.Fatal(err)
		}
		if got := foundFiles(t, r); !slices.Equal(got, []string{want}) {
			t.Errorf("tenant %s: %q", tenant, got)
		}
	}
}

// What is missing is said with the command that makes it.
func TestRetrieverWithoutDocuments(t *testing.T) {
	var log bytes.Buffer
	app := searching(t, "embedders: {e: {http: {base_url: '"+wordServer(t)+`/v1', model: m}}}
collections: {docs: {embedder: e}}
retrievers: {docs: {collection: docs, by: words}, near: {collection: docs, by: hybrid}, any: {collection: docs}}
steps: [{name: s, use: docs}]
pipelines: {near: {steps: [{name: s, use: near}]}, any: {steps: [{name: s, use: any}]}}
`, &log)
	build := func(pipe string) error {
		_, err := app.Build(t.Context(), pipeline.Query{Text: "flags"}, BuildOptions{Pipeline: pipe})
		return err
	}
	if err := build(""); err == nil || !strings.Contains(err.Error(), `retriever "docs"`) || !strings.Contains(err.Error(), "make it with anchor-host ingest PATH --collection docs") {
		t.Errorf("a missing collection: %v", err)
	}
	index, c, err := app.indexOf(t.Context(), retrieve.Collection{Name: "docs"})
	if err == nil {
		err = index.Create(t.Context(), c, retrieve.Settings{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := build(""); err != nil || !strings.Contains(log.String(), "fill it with anchor-host ingest PATH --collection docs") {
		t.Errorf("an empty collection: %v, log %s", err, &log)
	}
	if err := index.Upsert(t.Context(), c, retrieve.Document{ID: "a", Chunks: []retrieve.Chunk{{Text: "flags"}}}); err != nil {
		t.Fatal(err)
	}
	if err := build(""); err != nil {
		t.Error(err)
	}
	if err := build("near"); err == nil || !strings.Contains(err.Error(), "anchor-host collections reembed docs") {
		t.Errorf("a collection without vectors: %v", err)
	}
	log.Reset()
	if err := build("any"); err != nil || !strings.Contains(log.String(), "reembed docs, or say by: words") {
		t.Errorf("a collection without vectors, searched by default: %v, log %s", err, &log)
	}
	log.Reset()
	if err := build("any"); err != nil || log.Len() > 0 {
		t.Errorf("the same said again: %v, log %s", err, &log)
	}
}
