package examples_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

func TestMain(m *testing.M) {
	testbuild.SetConfigDir()
	os.Exit(m.Run())
}

// needGuests returns the folder of the samples, built as the README says, or of all examples in Go
// where all are wanted.
func needGuests(t *testing.T) (plugins string) {
	t.Helper()
	if testing.Short() {
		t.Skip("building the guests takes half a minute")
	}
	if os.Getenv("ANCHOR_THOROUGH") != "" {
		return testbuild.Examples(t)
	}
	return testbuild.Examples(t, samples...)
}

// guest returns the module of one example.
func guest(t *testing.T, name string) string {
	t.Helper()
	if slices.Contains(samples, name) || os.Getenv("ANCHOR_THOROUGH") != "" {
		return filepath.Join(needGuests(t), name, "plugin.wasm")
	}
	return filepath.Join(testbuild.Examples(t, name), name, "plugin.wasm")
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
	args = append([]string{"build", "--strict", "--plugins", needGuests(t), "--cache-dir", testbuild.CacheDir(t)}, args...)
	cmd := exec.CommandContext(t.Context(), testbuild.Command(t), args...)
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
			needThorough(t, c.plugin)
			t.Parallel()
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
			if len(ids) == 0 || strings.Join(ids, " ") != c.want || !strings.Contains(got.Window.Items[0].Content, c.content) {
				t.Errorf("window %+v, want the items %s, the first with %q", got.Window.Items, c.want, c.content)
			}
		})
	}
}
