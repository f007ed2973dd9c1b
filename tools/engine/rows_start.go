package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/host"
)

// startPlugins are the example plugins that the build of startConfig uses.
var startPlugins = []string{
	"bm25-retriever", "query-expand", "intent-classifier", "dedupe", "field-reranker", "mmr-reranker",
	"pii-redact", "recency-rerank", "score-filter", "turn-summary",
}

// startConfig is a build with ten plugins over a folder of documents.
const startConfig = `plugins:
  dir: %[1]q
  instances:
    documents:
      plugin: bm25-retriever
      grants: {files: [{host: %[3]q, guest: /docs, mode: ro}]}
    fields:
      plugin: field-reranker
      settings: {statistics: items}
  cache_dir: %[2]q
counting: {tokenizer: words}
window: {max_tokens: 4000}
format: generic
memory:
  conversation:
    tokens: 100
    compact: {use: turn-summary}
    turns:
      - {role: user, content: %[4]q}
      - {role: assistant, content: %[4]q}
      - {role: user, content: "And how does it end?"}
steps:
  - {name: variants, use: query-expand, priority: 10, retrievers: [{use: documents}], settings: {synonyms: {window: [context]}}}
  - name: routes
    use: intent-classifier
    priority: 11
    settings: {rules: [{label: code, keywords: [func]}], default: general}
    routes: {general: {use: documents}}
    default: general
  - {name: dedupe, use: dedupe, priority: 20}
  - {name: scores, use: score-filter, priority: 25, settings: {min_score: 0.01}}
  - {name: fields, use: fields, priority: 30}
  - {name: recent, use: recency-rerank, priority: 40}
  - {name: diverse, use: mmr-reranker, priority: 50}
  - {name: redact, use: pii-redact, priority: 60}
`

// startRows run the command itself. Its files are in the caches of the system and of the host.
func (s *suite) startRows() []row {
	return []row{{
		name: "start", what: "process start to first build, ten plugins", state: host.StateReset, lane: laneBatch,
		target: atMost(milliseconds, 300, 150), needs: needCommand,
		run: func(ctx context.Context) (reading, error) {
			file, err := s.writeStart()
			if err != nil {
				return reading{}, err
			}
			var times []time.Duration
			for i := range pick(s, 21, 2) + 1 { // the first fills the caches
				took, err := s.build(ctx, file)
				if err != nil {
					return reading{}, err
				}
				if i > 0 {
					times = append(times, took)
				}
			}
			median := quantile(times, 0.5)
			return reading{
				value:  float64(median.Nanoseconds()) / 1e6,
				detail: fmt.Sprintf("least %s, worst %s of %d", duration(times[0]), duration(times[len(times)-1]), len(times)),
			}, nil
		},
	}}
}

// writeStart writes documents and a configuration. The folder is always the same, so that
// processes find the files of earlier ones.
func (s *suite) writeStart() (string, error) {
	dir := filepath.Join(s.opts.root, "build", "engine", "start")
	docs := filepath.Join(dir, "docs")
	if err := os.MkdirAll(docs, 0o755); err != nil {
		return "", err
	}
	for i := range 50 {
		doc := fmt.Sprintf("# Document %d\n\n%s\n\nThe context window number %d ends there.\n", i, text(600+7*i), i)
		file := filepath.Join(docs, fmt.Sprintf("%02d.md", i))
		if old, err := os.ReadFile(file); err == nil && string(old) == doc {
			continue
		}
		if err := os.WriteFile(file, []byte(doc), 0o644); err != nil {
			return "", err
		}
	}
	file := filepath.Join(dir, "anchor.yaml")
	config := fmt.Sprintf(startConfig, s.pluginFolder(), filepath.Join(dir, "cache"), docs, strings.Repeat("A window ends where its tokens end. ", 12))
	return file, os.WriteFile(file, []byte(config), 0o644)
}

// pluginFolder returns the folder in which make builds the example plugins.
func (s *suite) pluginFolder() string { return filepath.Join(s.opts.root, "build", "plugins") }

func pluginFiles(dir string) []string {
	var files []string
	for _, name := range startPlugins {
		files = append(files, filepath.Join(dir, name, "plugin.wasm"))
	}
	return files
}

// build runs the command once and checks its result: no step is skipped, and documents are in
// the window.
func (s *suite) build(ctx context.Context, config string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, s.opts.binary, "build", "--config", config, "--strict", "-o", "json", "how does a context window end?")
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	took, err := timed(cmd.Run)
	if err != nil {
		return 0, fmt.Errorf("build: %w: %s", err, bytes.TrimSpace(msg.Bytes()))
	}
	var result struct {
		Window struct {
			Items []struct {
				Source string `json:"source"`
			} `json:"items"`
		} `json:"window"`
	}
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		return 0, err
	}
	found := 0
	for _, item := range result.Window.Items {
		if item.Source == "retrieval" {
			found++
		}
	}
	if found < 5 {
		return 0, fmt.Errorf("build: %d documents in the window, want 5 or more", found)
	}
	return took, nil
}
