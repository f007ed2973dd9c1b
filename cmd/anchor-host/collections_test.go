package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Documents become a collection, and what a search finds becomes context of a build.
func TestCollections(t *testing.T) {
	storeFolder(t, map[string]string{
		"d/trains.md": "# Trains\n\nThe night train leaves at nine.\n",
		"d/boats.md":  "# Boats\n\nThe ferry sails at noon.\n",
		"d/torn.pdf":  "%PDF-1.4 torn",
	})
	code, _, stderr := run(t, "", "ingest", "d", "--collection", "docs")
	if code != codeFailure || !strings.Contains(stderr, "torn.pdf: ") || !strings.Contains(stderr, "could not be read: 1 of 3") {
		t.Errorf("a torn file: code %d, %s", code, stderr)
	}
	if err := os.Remove("d/torn.pdf"); err != nil {
		t.Fatal(err)
	}
	if out := must(t, "", "ingest", "d", "--collection", "docs", "-o", "json"); !strings.Contains(out, `"unchanged": 2`) {
		t.Errorf("second run:\n%s", out)
	}
	const question = "When does the train leave?"
	found := must(t, "", "collections", "search", "docs", question, "--by", "words", "-o", "json")
	var items []pipeline.Item
	if err := json.Unmarshal([]byte(found), &items); err != nil || len(items) != 1 || !strings.Contains(items[0].Content, "leaves at nine") {
		t.Fatalf("found %v, %v", items, err)
	}
	if out := must(t, found, "build", "--items", "-", "--format", "openai", question); !strings.Contains(out, "leaves at nine") {
		t.Errorf("a build with what was found:\n%s", out)
	}
	if out := must(t, "", "collections", "search", "docs", question); !strings.Contains(out, "1.000") || !strings.Contains(out, "d/trains.md") {
		t.Errorf("table:\n%s", out)
	}
	if out := must(t, "", "collections", "export", "docs"); strings.Count(out, "\n") != 2 {
		t.Errorf("export:\n%s", out)
	}
	must(t, "", "collections", "remove", "docs")
	if out := must(t, "", "collections", "list", "-o", "json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("after the removal:\n%s", out)
	}
}

// A new collection has vectors of the built-in table, and one that was filled without vectors stays as it is.
func TestMeaningByDefault(t *testing.T) {
	storeFolder(t, map[string]string{
		"a.txt": "The vessel departs at noon.", "b.txt": "Bread is baked here.", "words.yaml": "collections: {old: {embedder: none}}", "build.yaml": "retrievers: {old: {collection: old}}\nsteps: [{name: s, use: old}]",
	})
	must(t, "", "ingest", "a.txt", "--collection", "old", "--config", "words.yaml")
	must(t, "", "ingest", "a.txt", "b.txt", "--collection", "old")
	must(t, "", "ingest", "a.txt", "b.txt", "--collection", "new")
	for name, want := range map[string]string{"old": `"vectors": 0`, "new": `"vectors": 2`} {
		if out := must(t, "", "collections", "show", name, "-o", "json"); !strings.Contains(out, want) {
			t.Errorf("%s: want %s in\n%s", name, want, out)
		}
	}
	if out := must(t, "", "collections", "search", "new", "When does the ship leave?", "-k", "1"); !strings.Contains(out, "vessel") {
		t.Errorf("by meaning:\n%s", out)
	}
	if code, out, stderr := run(t, "", "build", "vessel", "--config", "build.yaml"); code != codeOK || strings.Contains(stderr, "alone") || !strings.Contains(out, "The vessel") {
		t.Errorf("by words: code %d, %s%s", code, out, stderr)
	}
	must(t, "", "collections", "reembed", "old")
	if out := must(t, "", "ingest", "a.txt", "b.txt", "--collection", "old", "-o", "json"); !strings.Contains(out, `"unchanged": 2`) {
		t.Errorf("with vectors:\n%s", out)
	}
}

// What is wrong is named, with the exit code of its sort.
func TestCollectionsRefuse(t *testing.T) {
	storeFolder(t, map[string]string{"a.txt": "text", "empty/.hidden": "", "blank.txt": "# none\n", "large.txt": strings.Repeat("a ", 600_000), "words.yaml": "collections: {docs: {embedder: none}}"})
	must(t, "", "ingest", "a.txt", "--collection", "docs", "--config", "words.yaml")
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"ingest a.txt", codeUsage, `"collection"`},
		{"ingest none.txt --collection docs", codeFailure, "none.txt: no such file"},
		{"ingest a.txt --collection docs --chunker nope", codeInvalid, `"nope"`},
		{"ingest a.txt --collection docs --chunker semantic --config words.yaml", codeInvalid, "needs an embedder"},
		{"ingest a.txt --collection new --format nope", codeInvalid, "want one of text, markdown"},
		{"ingest none.txt --collection new", codeFailure, "none.txt: no such file"},
		{"collections show new", codeNotFound, "new"}, // nothing was left behind
		{"ingest empty --collection docs2", codeOK, "no files were found in empty"},
		{"ingest --urls blank.txt --collection docs", codeUsage, "blank.txt has no address"},
		{"ingest a.txt --collection docs --format markdown", codeOK, ""},
		{"ingest large.txt --collection docs --max-file 1", codeFailure, "the limit is 1048576 (--max-file)"},
		{"collections show none", codeNotFound, "anchor-host ingest PATH --collection none"},
		{"collections search none q", codeNotFound, "anchor-host ingest PATH --collection none"},
		{"collections search docs q --tenant other", codeNotFound, "other/docs"},
		{"collections search docs q -k 0", codeUsage, "want 1 to"},
		{"collections search docs", codeUsage, "QUESTION"},
		{"collections remove none", codeNotFound, "none"},
		{"collections export none", codeNotFound, "none"},
	} {
		if code, out, stderr := run(t, "", strings.Fields(tt.args)...); code != tt.code || !strings.Contains(stderr, tt.want) || out != "" && !strings.HasPrefix(tt.args, "ingest") {
			t.Errorf("%s: code %d, want %d; %q, %s, want %s", tt.args, code, tt.code, out, stderr, tt.want)
		}
	}
	if code, _, stderr := run(t, "", "collections", "search", "docs", " "); code != codeUsage || !strings.Contains(stderr, "QUESTION is empty") {
		t.Errorf("an empty question: code %d, %s", code, stderr)
	}
}

// With --watch, what changes is read until the command is interrupted, also after the embedder failed.
func TestIngestWatches(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Swap(false) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, `{"data": [{"index": 0, "embedding": [1, 0]}]}`)
	}))
	defer server.Close()
	storeFolder(t, map[string]string{
		"d/one.txt":   "first words",
		"anchor.yaml": "embedders: {e: {http: {base_url: '" + server.URL + "', model: m, retries: 0}}}\ncollections: {docs: {embedder: e}}",
	})
	t.Setenv("ANCHOR_HOST_CONFIG", "anchor.yaml")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	exit := make(chan int, 1)
	go func() {
		exit <- doMain(ctx, []string{"ingest", "d", "--collection", "docs", "--watch", "--interval", "100ms"}, strings.NewReader(""), io.Discard, io.Discard)
	}()
	finds := func(word string) {
		t.Helper()
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			_, out, said := run(t, "", "collections", "search", "docs", word, "-o", "json")
			if strings.Contains(out, word) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%q is not found: %s", word, said)
			}
		}
	}
	finds("first")
	if err := os.WriteFile("d/two.txt", []byte("second words"), 0o600); err != nil {
		t.Fatal(err)
	}
	finds("second")
	cancel()
	select {
	case code := <-exit:
		if code != codeOK && code != codeInterrupted {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(patience):
		t.Fatal("still running")
	}
}

// A collection is made with the settings of the configuration. Others are refused with the command
// that rebuilds it; what is left out is as the collection has it.
func TestIngestSettings(t *testing.T) {
	storeFolder(t, map[string]string{
		"a.txt": "Flags of the ship", "anchor.yaml": "collections: {docs: {stem: false, stop_words: none, split_identifiers: false, vectors: int8}}",
		"other.yaml": "collections: {docs: {stem: true, vectors: f32}}", "less.yaml": "collections: {docs: {stem: false}}",
	})
	must(t, "", "ingest", "a.txt", "--collection", "docs", "--config", "anchor.yaml")
	out := must(t, "", "collections", "show", "docs", "-o", "json")
	for _, want := range []string{`"stem": false`, `"stop_words": "none"`, `"split_identifiers": false`, `"vectors": "int8"`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in:\n%s", want, out)
		}
	}
	if out := must(t, "", "collections", "show", "docs"); !strings.Contains(out, "int8") {
		t.Errorf("table:\n%s", out)
	}
	for question, found := range map[string]bool{"flag": false, "flags": true, "the": true} {
		if out := must(t, "", "collections", "search", "docs", question, "--by", "words"); strings.Contains(out, "a.txt") != found {
			t.Errorf("search for %s:\n%s", question, out)
		}
	}
	must(t, "", "ingest", "a.txt", "--collection", "docs", "--config", "less.yaml")
	must(t, "", "ingest", "a.txt", "--collection", "docs", "--config", "anchor.yaml")
	code, _, stderr := run(t, "", "ingest", "a.txt", "--collection", "docs", "--config", "other.yaml")
	if code != codeFailure || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "stem is false, not true, vectors is int8, not f32 (rebuild it: anchor-host collections remove docs, then anchor-host ingest PATH --collection docs)") {
		t.Errorf("other settings: code %d, %s", code, stderr)
	}
}
