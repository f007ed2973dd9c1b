package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/segment"
)

const retrieverConfig = `
counting: {tokenizer: words}
store: {path: store.db}
plugins: {instances: {one: {plugin: allops, settings: {greeting: hi}}}}
retrievers: {docs: {collection: docs}}
steps:
  - {name: find, %s}
`

// A retriever of a collection stands wherever one of a plugin can stand, also beside it.
func TestRetrieversOfCollectionsAndPlugins(t *testing.T) {
	for _, tt := range []struct{ name, step, first, has string }{
		{"collection weighs more", "retrievers: [{use: one, weight: 1}, {use: docs, weight: 9}]", "The ferry sails", "hi ferry 1"},
		{"plugin weighs more", "retrievers: [{use: one, weight: 9}, docs]", "hi ferry 0", "The ferry sails"},
		{"by ranks", "retrievers: [{use: one, weight: 1}, {use: docs, weight: 9}], fusion: rrf", "The ferry sails", "hi ferry 1"},
		{"a plugin that fails", "retrievers: [{use: lost}, docs]", "The ferry sails", ""},
		{"variants of the query", "use: allops, operation: transform_query, settings: {word: boat}, retrievers: [docs]", "The ferry sails", ""},
	} {
		flags := buildFolder(t, fmt.Sprintf(retrieverConfig, tt.step))
		if err := os.WriteFile("docs/a.txt", []byte("The ferry sails at noon."), 0o600); err != nil {
			t.Fatal(err)
		}
		must(t, "", "ingest", "docs", "--collection", "docs")
		code, stdout, stderr := run(t, "", append([]string{"build", "ferry"}, flags...)...)
		first, _, _ := strings.Cut(strings.TrimPrefix(stdout, "=== CONTEXT ===\n"), "\n")
		if code != codeOK || !strings.Contains(first, tt.first) || !strings.Contains(stdout, tt.has) {
			t.Errorf("%s: code %d, %q, want %q first\n%s", tt.name, code, stdout, tt.first, stderr)
		}
	}
}

// A first run says which command is missing, and doctor says it as well.
func TestRetrieverWithoutCollection(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": fmt.Sprintf(retrieverConfig, "use: docs"), "d/a.md": "# Ferry\n\nIt sails."}))
	const remedy = "anchor-host ingest PATH --collection docs"
	if err := os.WriteFile("anchor.yaml", []byte(strings.Replace(fmt.Sprintf(retrieverConfig, "use: docs"), "plugins: {instances: {one: {plugin: allops, settings: {greeting: hi}}}}\n", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := must(t, "", "config", "validate"); !strings.Contains(out, "ok") {
		t.Errorf("validate: %s", out)
	}
	_, out, _ := run(t, "", "doctor", "-o", "json")
	if !strings.Contains(out, `"retriever docs"`) || !strings.Contains(out, remedy) {
		t.Errorf("doctor without a store:\n%s", out)
	}
	code, _, stderr := run(t, "", "build", "ferry")
	if code == codeOK || !strings.Contains(stderr, remedy) || strings.Count(strings.TrimSpace(stderr), "\n") > 0 {
		t.Errorf("build: code %d, %s", code, stderr)
	}
	must(t, "", "ingest", "d", "--collection", "docs")
	if out := must(t, "", "build", "ferry"); !strings.Contains(out, "It sails.") {
		t.Errorf("build:\n%s", out)
	}
	if _, out, _ = run(t, "", "doctor", "-o", "json"); !strings.Contains(out, "1 document, 1 chunk,") {
		t.Errorf("doctor with a collection:\n%s", out)
	}
	// doctor says of what another version of the program wrote what ingest says.
	data, err := os.ReadFile("store.db")
	if err != nil || !bytes.Contains(data, []byte(segment.Magic)) {
		t.Fatalf("the store has no segment: %v", err)
	}
	if err := os.WriteFile("store.db", bytes.ReplaceAll(data, []byte(segment.Magic), []byte("ahseg0\n\x00")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("d/b.md", []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	const other = segment.OtherVersion + " (remove it with anchor-host collections remove docs"
	if code, _, stderr := run(t, "", "ingest", "d", "--collection", "docs"); code == codeOK || !strings.Contains(stderr, other) {
		t.Errorf("ingest: code %d, %s", code, stderr)
	}
	lines, _, _ := doctor(t)
	if f := lines["retriever docs"]; f.Status != "problem" || !strings.Contains(f.Detail, other) {
		t.Errorf("doctor: %+v", f)
	}
}

// tuneFiles are a corpus in which the words of long documents mislead, and its queries.
func tuneFiles() map[string]string {
	var corpus, queries, qrels strings.Builder
	for i := range 40 {
		fmt.Fprintf(&corpus, "{\"_id\": \"good%d\", \"text\": \"topic%d alpha\"}\n", i, i)
		fmt.Fprintf(&corpus, "{\"_id\": \"long%d\", \"text\": \"topic%d %s\"}\n", i, i, strings.Repeat("alpha beta gamma ", 30))
		fmt.Fprintf(&queries, "{\"_id\": \"q%d\", \"text\": \"topic%d alpha\"}\n", i, i)
		fmt.Fprintf(&qrels, "q%d\tgood%d\t1\n", i, i)
	}
	return map[string]string{
		"corpus.jsonl": corpus.String(), "queries.jsonl": queries.String(), "qrels.tsv": qrels.String(),
		"anchor.yaml": "counting: {tokenizer: words}\nstore: {path: store.db}\ncollections: {docs: {embedder: none}}\nretrievers:\n  docs: {collection: docs, k1: 3, b: 0}\n  same: {collection: docs, k1: 3, b: 0}\n" +
			"steps:\n  - {name: mixed, retrievers: [docs, {use: same, weight: 2}]}\n",
	}
}

func TestTuneCommand(t *testing.T) {
	t.Chdir(write(t, tuneFiles()))
	must(t, "", "ingest", "corpus.jsonl", "--collection", "docs")
	code, _, stderr := run(t, "", evalArgs("--tune")...)
	if code == codeOK || !strings.Contains(stderr, "corpus.jsonl#") || !strings.Contains(stderr, "id after") {
		t.Errorf("ids that are not in the corpus: code %d, %s", code, stderr)
	}
	var r eval.Tuning
	if err := json.Unmarshal([]byte(must(t, "", evalArgs("--tune", "--id-after", "#", "-o", "json")...)), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Results) != 3 || r.Results[0].Name != "docs" || r.Results[2].Kind != "step" || r.Training+r.HeldOut != 40 {
		t.Fatalf("results %+v", r)
	}
	rows := r.Results[0].Rows
	now, tuned := rows[len(rows)-2], rows[len(rows)-1]
	if now.Name != "as configured" || now.Values["b"] != 0 || now.HeldOut > 0.99 || tuned.Values["b"] == 0 || tuned.HeldOut != 1 || r.Results[0].Difference.Difference <= 0 {
		t.Errorf("configured %+v, tuned %+v", now, tuned)
	}
	table := must(t, "", evalArgs("--tune", "--id-after", "#")...)
	for _, want := range []string{"ndcg@10, tuned on", "-- retriever docs --", "as configured", "-- for anchor.yaml --", "retrievers:\n  docs: {collection: docs, by: words, k1: "} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	// The printed keys are a configuration that builds what was measured.
	if err := os.WriteFile("anchor.yaml", []byte("counting: {tokenizer: words}\nstore: {path: store.db}\n"+r.YAML), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := must(t, "", "build", "topic3 alpha"); !strings.HasPrefix(out, "=== CONTEXT ===\ntopic3 alpha\n") {
		t.Errorf("built with\n%s\n%s", r.YAML, out)
	}
	// A collection without vectors is tuned by words, as a build searches it.
	config := "embedders: {e: {http: {base_url: 'http://127.0.0.1:9', model: m}}}\ncollections: {docs: {embedder: e}}\nretrievers: {docs: {collection: docs}}\nsteps: [{name: a, use: docs}]"
	if err := os.WriteFile("anchor.yaml", []byte("store: {path: store.db}\n"+config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := must(t, "", evalArgs("--tune", "--id-after", "#")...); !strings.Contains(out, "by: words") {
		t.Errorf("without vectors:\n%s", out)
	}
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	must(t, "", "ingest", "folder", "--collection", "empty")
	for name, config := range map[string]string{"empty collection": "retrievers: {a: {collection: empty}}\nsteps: [{name: a, use: a}]", "no such step": "steps: [{name: a, use: top_k}]", "no collection": "retrievers: {a: {collection: none}}\nsteps: [{name: a, use: a}]"} {
		if err := os.WriteFile("anchor.yaml", []byte("store: {path: store.db}\n"+config), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := run(t, "", evalArgs("--tune")...); code == codeOK || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, %s", name, code, stderr)
		}
	}
}

// The set-up with a collection answers its first question with the commands that init names.
func TestInitCollection(t *testing.T) {
	t.Chdir(t.TempDir())
	code, _, stderr := run(t, "", "init", "--collection")
	if code != codeOK {
		t.Fatal(stderr)
	}
	for _, command := range []string{"anchor-host ingest sample-docs --collection docs", `anchor-host build "` + sampleQuestion + `"`} {
		if !strings.Contains(stderr, "  "+command+"\n") {
			t.Errorf("init does not name %s:\n%s", command, stderr)
		}
	}
	must(t, "", "config", "validate")
	must(t, "", "ingest", "sample-docs", "--collection", "docs")
	if out := must(t, "", "build", sampleQuestion); !strings.Contains(out, "limits: {memory") {
		t.Errorf("build:\n%s", out)
	}
}
