package examples_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/modeltest"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// modelConfig has every plugin that asks a model, and an embedder, all at a fake server. The
// plugins have little to do, so they are interpreted: compiling them would take longer.
const modelConfig = `plugins:
  dir: "%[2]s"
  instances:
    placed: {plugin: contextual-chunks, engine: interpreter, grants: {llm: {models: [small]}}, limits: {timeout: 60s}}
    hyde: {plugin: hyde, engine: interpreter, grants: {llm: {models: [small]}}, limits: {timeout: 60s}}
    back: {plugin: step-back, engine: interpreter, grants: {llm: {models: [small]}}, limits: {timeout: 60s}}
    many: {plugin: multi-query, engine: interpreter, grants: {llm: {models: [small]}}, limits: {timeout: 60s}}
    ordered: {plugin: llm-reranker, engine: interpreter, grants: {llm: {models: [small]}}, limits: {timeout: 60s}}
    docs: {plugin: bm25-retriever, grants: {files: [{host: docs, guest: /docs, mode: ro}]}}
    once: {plugin: dedupe, engine: interpreter, limits: {timeout: 60s}}
    near: {plugin: dense-rerank, engine: interpreter, limits: {timeout: 60s}}
    varied: {plugin: mmr-reranker, engine: interpreter, limits: {timeout: 60s}}
  cache_dir: "%[3]s"
models:
  small: {api: openai, base_url: "%[1]s", model: small}
embedders:
  local: {http: {base_url: "%[1]s", model: v}}
embedder: local
store: {path: store.db}
window: {max_tokens: 2000}
collections:
  docs: {context: {use: placed}}
steps:
  - {name: hyde, use: hyde, must: true, retrievers: [{use: docs}]}
  - {name: back, use: back, must: true, retrievers: [{use: docs}]}
  - {name: many, use: many, must: true, retrievers: [{use: docs}]}
  - {name: once, use: once, must: true}
  - {name: near, use: near, must: true}
  - {name: varied, use: varied, must: true}
  - {name: ordered, use: ordered, must: true}
`

var modelPlugins = []string{
	"contextual-chunks", "hyde", "step-back", "multi-query", "llm-reranker", "bm25-retriever", "dedupe", "dense-rerank", "mmr-reranker",
}

// answerAsked answers each plugin by its task.
func answerAsked(r modeltest.Request) modeltest.Answer {
	if r.Path == "embeddings" {
		return modeltest.Answer{}
	}
	task := r.Messages[0].Content
	switch {
	case strings.HasPrefix(task, "You see a document"):
		return modeltest.Answer{Text: `{"contexts": ["Opening of the Forth crossing."]}`}
	case strings.HasPrefix(task, "Write one passage"):
		return modeltest.Answer{Text: "It is painted red."}
	case strings.HasPrefix(task, "Take a step back"):
		return modeltest.Answer{Text: `{"query": "paint of steel"}`}
	case strings.HasPrefix(task, "Write 3 search queries"):
		return modeltest.Answer{Text: `{"queries": ["hue of the crossing"]}`}
	case strings.HasPrefix(task, "You order passages"):
		return modeltest.Answer{Text: `{"order": [2, 1]}`}
	}
	return modeltest.Answer{Status: 400}
}

// TestModelPlugins runs the plugins that ask models through the command, against a fake server.
func TestModelPlugins(t *testing.T) {
	if testing.Short() {
		t.Skip("short: builds guests")
	}
	plugins := filepath.ToSlash(testbuild.Examples(t, modelPlugins...))
	t.Parallel()
	server := modeltest.New(t, answerAsked)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"anchor.yaml": fmt.Sprintf(modelConfig, server.URL, plugins, filepath.ToSlash(testbuild.CacheDir(t))),
		"docs/a.md":   "It opened in 1890.\n", "docs/b.md": "The steel is painted red.\n", "docs/c.md": "A red hue of the paint.\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), testbuild.Command(t), append(args, "--config", "anchor.yaml")...)
		cmd.Dir = dir
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s%s", args, err, stderr.String(), out)
		}
		return string(out)
	}

	if said := run("ingest", "docs", "--collection", "docs"); !strings.Contains(said, "3 calls, 30 tokens in, 15 tokens out (placed)") {
		t.Errorf("ingest does not say what was asked:\n%s", said)
	}
	asked := len(server.Requests())
	if found := run("collections", "search", "docs", "forth crossing"); asked != 3 || !strings.Contains(found, "1890") {
		t.Errorf("after %d requests the context finds\n%s", asked, found)
	}
	if run("ingest", "docs", "--collection", "docs"); len(server.Requests()) != asked {
		t.Errorf("unchanged documents are asked for again")
	}

	built := run("build", "which colour?", "-o", "json", "--strict")
	seen := map[string]int{}
	for _, r := range server.Requests()[asked:] {
		seen[r.Path]++
	}
	if seen["chat/completions"] != 4 || seen["embeddings"] == 0 || !strings.Contains(built, "painted red") || !strings.Contains(built, "red hue") {
		t.Errorf("requests %v, built\n%s", seen, built)
	}
	for _, r := range server.Requests() {
		if strings.Contains(r.Body, "temperature") {
			t.Errorf("a temperature is sent that the operator does not state: %s", r.Body)
		}
	}
	if !strings.Contains(built, `"service":"embed"`) && !strings.Contains(built, `"service": "embed"`) {
		t.Errorf("the diagnostics do not say what was embedded:\n%s", built)
	}
}

// readmeBlock returns the code block of README.md that begins with a line.
func readmeBlock(t *testing.T, begins string) string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(readme), "\n"+begins)
	block, _, ended := strings.Cut(after, "\n```")
	if !found || !ended {
		t.Fatalf("README.md has no block that begins with %q", begins)
	}
	return begins + block
}

// What README.md says about measuring a plugin works: two configurations and a command.
func TestMeasuring(t *testing.T) {
	if testing.Short() {
		t.Skip("short: builds guests")
	}
	plugins := filepath.ToSlash(testbuild.Examples(t, modelPlugins...))
	t.Parallel()
	server := modeltest.New(t, answerAsked)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"without.yaml":  strings.ReplaceAll(readmeBlock(t, "# without.yaml"), "build/plugins", plugins),
		"with.yaml":     strings.NewReplacer("build/plugins", plugins, "http://localhost:11434/v1", server.URL).Replace(readmeBlock(t, "# with.yaml")),
		"corpus.jsonl":  "{\"_id\": \"1\", \"text\": \"red paint of steel bridges\"}\n{\"_id\": \"2\", \"text\": \"red paint\"}\n",
		"queries.jsonl": "{\"_id\": \"q\", \"text\": \"red paint\"}\n",
		"qrels.tsv":     "q\t1\t1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := strings.Fields(strings.ReplaceAll(readmeBlock(t, "build/anchor-host eval"), "\\\n", " "))
	cmd := exec.CommandContext(t.Context(), testbuild.Command(t), append(command[1:], "--cache-dir", testbuild.CacheDir(t), "-o", "json")...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || len(server.Requests()) != 1 || !strings.Contains(string(out), "ndcg@10") {
		t.Errorf("%v after %d requests\n%s", err, len(server.Requests()), out)
	}
}
