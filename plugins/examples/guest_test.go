package examples_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	for _, folder := range []string{work, commandFolder} {
		if folder != "" {
			_ = os.RemoveAll(folder) // a leftover in the temporary folder is no failure
		}
	}
	os.Exit(code)
}

// work is the folder of what the tests build, if they build.
var work string

// built makes the command and all examples, with stock Go as the README says.
var built = sync.OnceValue(func() error {
	var err error
	if work, err = os.MkdirTemp("", "anchor-host-examples-*"); err != nil {
		return err
	}
	if err := goBuild(nil, "-o", filepath.Join(work, "anchor-host"), "../../cmd/anchor-host"); err != nil {
		return err
	}
	sources, err := filepath.Glob("*/main.go")
	if err != nil {
		return err
	}
	for _, source := range sources {
		name := filepath.Dir(source)
		folder := filepath.Join(work, "plugins", name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		manifest, err := os.ReadFile(filepath.Join(name, "plugin.yaml"))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, "plugin.yaml"), manifest, 0o600); err != nil {
			return err
		}
		err = goBuild([]string{"GOOS=wasip1", "GOARCH=wasm"}, "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w",
			"-o", filepath.Join(folder, "plugin.wasm"), "./"+name)
		if err != nil {
			return err
		}
	}
	return nil
})

func goBuild(env []string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.New(string(out))
	}
	return nil
}

func needGuests(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("building the guests takes half a minute")
	}
	if err := built(); err != nil {
		t.Fatal(err)
	}
}

// result is as much of a build's result as the tests compare.
type result struct {
	Window struct {
		Items []struct {
			ID      string  `json:"id"`
			Content string  `json:"content"`
			Score   float64 `json:"score"`
		} `json:"items"`
	} `json:"window"`
}

// build runs the command as the README of a plugin says.
func build(t *testing.T, args ...string) (r result) {
	t.Helper()
	args = append([]string{"build", "--strict", "--plugins", filepath.Join(work, "plugins"), "--cache-dir", filepath.Join(work, "cache")}, args...)
	cmd := exec.Command(filepath.Join(work, "anchor-host"), args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, stderr.String(), out)
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return r
}

// TestExampleBuilds runs the example.json or example.yaml of every plugin.
func TestExampleBuilds(t *testing.T) {
	needGuests(t)
	for _, c := range []struct {
		plugin, query string
		want          string // ids in the window; for files only the first
		content       string // in the first item
	}{
		{plugin: "score-filter", want: "high"},
		{plugin: "dedupe", want: "best other"},
		{plugin: "mmr-reranker", want: "first new"},
		{plugin: "recency-rerank", want: "new old"},
		{plugin: "pii-redact", want: "mail", content: "Write to [EMAIL] or call [PHONE]."},
		{plugin: "bm25-retriever", query: "How do I get rid of aphids on roses?", want: "docs:garden.md#2", content: "Garden › Roses\n\nPrune"},
		{plugin: "field-reranker", query: "How do I get rid of aphids on roses?", want: "docs:garden.md#2", content: "Garden › Roses"},
		{plugin: "query-expand", query: "greenfly", want: "docs:garden.md#2", content: "Aphids"},
		{plugin: "intent-classifier", query: "How do I cook tomatoes?", want: "recipes:soup", content: "Tomato soup\n\nSimmer"},
		{plugin: "intent-classifier", query: "When do I water tomatoes?", want: "garden:garden.md", content: "even watering"},
	} {
		t.Run(c.plugin+" "+c.query, func(t *testing.T) {
			var got result
			if c.query == "" {
				got = build(t, "--request", c.plugin+"/example.json")
			} else {
				got = build(t, "--config", c.plugin+"/example.yaml", "-o", "json", c.query)
			}
			var ids []string
			for _, item := range got.Window.Items {
				ids = append(ids, item.ID)
			}
			if c.query != "" && len(ids) > 1 {
				ids = ids[:1]
			}
			if strings.Join(ids, " ") != c.want || !strings.Contains(got.Window.Items[0].Content, c.content) {
				t.Errorf("got %s, want %s with %q in %q", ids, c.want, c.content, got.Window.Items[0].Content)
			}
		})
	}
}
