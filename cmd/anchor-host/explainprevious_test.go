package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/explaincmd"
	"github.com/anchor-host/anchor-host/pipeline"
)

func TestBuildPrevious(t *testing.T) {
	t.Chdir(t.TempDir())
	doc := func(steps string) string {
		return `{"query": "q", "window": {"include_query": false, "system_prompts": [{"content": "be brief"}]}, "counting": {"tokenizer": "words"}, "format": "anthropic", "steps": [` + steps + `], "items": [` + explainedItems + `]}`
	}
	code, first, stderr := run(t, doc(""), "build", "--request", "-")
	if code != codeOK {
		t.Fatal(stderr)
	}
	var result struct {
		Output json.RawMessage `json:"formatted_output"`
	}
	if err := json.Unmarshal([]byte(first), &result); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"result.json": first, "output.json": string(result.Output), "text.txt": "be brief\n", "failed.json": `{"error": {}}`} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dropped := `{"name": "good", "use": "min_score", "settings": {"min_score": 0.8}}`
	tests := []struct {
		previous, steps string
		line            string
	}{
		{"result.json", "", "cache: the first 19 of the previous build's 19 tokens are the same"},
		{"output.json", "", "cache: the first 19 of the previous build's 19 tokens are the same"},
		{"result.json", dropped, `cache: the first 6 of the previous build's 19 tokens are the same; block 2 differs: item c removed by step "good"`},
		{"output.json", dropped, `cache: the first 6 of the previous build's 19 tokens are the same; block 2 differs: item a added by step "items"`},
		{"text.txt", "", "cache: the first 0 of the previous build's 2 tokens are the same; block 1 differs: item system-1 added by system prompts"},
	}
	for _, tt := range tests {
		code, stdout, stderr := run(t, doc(tt.steps), "build", "--request", "-", "--previous", tt.previous)
		var got struct{ Diagnostics pipeline.Diagnostics }
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != codeOK || stderr != "" {
			t.Fatalf("code %d, %v, %s", code, err, stderr)
		}
		if got.Diagnostics.Cache == nil || explaincmd.CacheLine(got.Diagnostics.Cache) != tt.line {
			t.Errorf("%s, %q: got %+v, want %s", tt.previous, tt.steps, got.Diagnostics.Cache, tt.line)
		}
		if got.Diagnostics.Items != nil {
			t.Error("stories that nobody asked for")
		}
	}
	code, _, stderr = run(t, doc(""), "build", "--request", "-", "--previous", "failed.json")
	if code != codeInvalid || !strings.Contains(stderr, "failed.json: that build failed and has no output") {
		t.Errorf("code %d, %s", code, stderr)
	}
	if code, _, _ = run(t, doc(""), "build", "--request", "-", "--previous", "gone.json"); code != codeNotFound {
		t.Errorf("code %d", code)
	}
	code, _, stderr = run(t, "", "build", "--previous", "text.txt", "q")
	if code != codeOK || !strings.Contains(stderr, "anchor-host: cache: the first 0 of the previous build's 2 tokens are the same; block 1 differs\n") {
		t.Errorf("code %d, %s", code, stderr)
	}
}
