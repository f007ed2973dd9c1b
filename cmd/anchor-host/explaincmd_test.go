package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
)

// explainedItems are what the builds of these tests begin with.
const explainedItems = `
    {"id": "a", "content": "alpha alpha alpha", "source": "retrieval", "score": 0.9, "created_at": "2026-01-01T00:00:00Z"},
    {"id": "b", "content": "beta beta", "source": "retrieval", "score": 0.7, "created_at": "2026-01-01T00:00:00Z"},
    {"id": "c", "content": "gamma gamma gamma gamma", "source": "tool", "score": 0.5, "priority": 6, "created_at": "2026-01-01T00:00:00Z"},
    {"id": "d", "content": "delta", "source": "retrieval", "score": 0.1, "created_at": "2026-01-01T00:00:00Z"}`

// explained builds a request and writes its result into a file of the current folder.
func explained(t *testing.T, file, doc string) {
	t.Helper()
	code, stdout, stderr := run(t, doc, "build", "--request", "-")
	if code != codeOK {
		t.Fatalf("%s: code %d: %s", file, code, stderr)
	}
	if err := os.WriteFile(file, []byte(stdout), 0o600); err != nil {
		t.Fatal(err)
	}
}

func explainedBuilds(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	explained(t, "a.json", `{"query": "q", "window": {"include_query": false, "max_tokens": 10, "system_prompts": [{"content": "be brief"}]}, "explain": true, "counting": {"tokenizer": "words"},
  "steps": [{"name": "good", "use": "min_score", "settings": {"min_score": 0.2}}], "items": [`+explainedItems+`]}`)
	explained(t, "b.json", `{"query": "q", "window": {"include_query": false, "max_tokens": 10, "system_prompts": [{"content": "be brief"}]}, "explain": true, "counting": {"tokenizer": "words"},
  "steps": [{"name": "best", "use": "sort", "settings": {"by": "score", "order": "asc"}}],
  "items": [`+strings.Replace(explainedItems, `"alpha alpha alpha"`, `"alpha alpha omega"`, 1)+`,
    {"id": "new", "content": "new one", "source": "user", "score": 1, "created_at": "2026-01-01T00:00:00Z"}]}`)
	explained(t, "plain.json", `{"query": "q", "window": {"include_query": false, "max_tokens": 10}, "counting": {"tokenizer": "words"}, "items": [`+explainedItems+`]}`)
}

func TestExplainGolden(t *testing.T) {
	explainedBuilds(t)
	for name, args := range map[string][]string{
		"explain-one.golden":        {"a.json"},
		"explain-one-json.golden":   {"-o", "json", "a.json"},
		"explain-two.golden":        {"a.json", "b.json"},
		"explain-two-json.golden":   {"-o", "json", "a.json", "b.json"},
		"explain-same.golden":       {"a.json", "a.json"},
		"explain-no-stories.golden": {"plain.json", "b.json"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(t, "", append([]string{"explain"}, args...)...)
			if code != codeOK || stderr != "" {
				t.Fatalf("code %d, %s", code, stderr)
			}
			golden(t, name, stdout)
		})
	}
	code, stdout, stderr := run(t, "", "explain", "--help")
	if code != codeOK || stderr != "" {
		t.Fatalf("code %d, %s", code, stderr)
	}
	golden(t, "explain-help.golden", stdout)
}

// Builds are drawn into a file beside the text, or to stdout in its place.
func TestExplainDraws(t *testing.T) {
	explainedBuilds(t)
	for name, tt := range map[string]struct {
		args []string
		text bool
		want []string
	}{
		"one":      {[]string{"--svg", "x.svg", "a.json"}, true, []string{"a.json: 5 items", "good: ", "tokens</title>"}},
		"two":      {[]string{"--svg", "x.svg", "a.json", "b.json"}, true, []string{"A: a.json", "B: b.json", "new, user, 2 tokens: came"}},
		"no trace": {[]string{"--svg", "x.svg", "plain.json"}, false, []string{"plain.json"}},
		"stdout":   {[]string{"--svg", "-", "a.json"}, true, []string{"a.json: 5 items"}},
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove("x.svg")
			code, stdout, stderr := run(t, "", append([]string{"explain"}, tt.args...)...)
			drawing := stdout
			if tt.args[1] != "-" {
				data, err := os.ReadFile("x.svg")
				if err != nil {
					t.Fatal(err, stderr)
				}
				drawing = string(data)
			}
			if code != codeOK || (stdout != "") != tt.text || !strings.HasPrefix(drawing, "<svg ") {
				t.Fatalf("code %d: %s%s", code, stdout, stderr)
			}
			for _, want := range tt.want {
				if !strings.Contains(drawing, want) {
					t.Errorf("lacks %q:\n%s", want, drawing)
				}
			}
		})
	}
	if code, _, stderr := run(t, "", "explain", "--svg", "no/such/x.svg", "a.json"); code == codeOK || !strings.Contains(stderr, "flag --svg: open no/such/x.svg") {
		t.Errorf("code %d: %s", code, stderr)
	}
}

// A request that does not ask for stories gets none, one that does finds them where
// explain reads them.
func TestExplainInRequests(t *testing.T) {
	explainedBuilds(t)
	for file, want := range map[string]int{"a.json": 5, "plain.json": 0} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct{ Diagnostics pipeline.Diagnostics }
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		if got := len(doc.Diagnostics.Items.All()); got != want {
			t.Errorf("%s: %d stories, want %d", file, got, want)
		}
	}
}

// A mistyped name of a file is taken for the ID of a record. No store is made for it.
func TestExplainMakesNoStore(t *testing.T) {
	t.Chdir(t.TempDir())
	code, _, stderr := run(t, "", "explain", "--store", "new/store.db", "bulid")
	if code != codeNotFound || !strings.Contains(stderr, `build "bulid": not found`) {
		t.Errorf("code %d, %s", code, stderr)
	}
	if _, err := os.Stat("new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("explain made a store: %v", err)
	}
}

func TestExplainErrors(t *testing.T) {
	explainedBuilds(t)
	story := `{"id": "a", "source": "user", "priority": 1, "score": 0, "tokens": 1, "excerpt": "", "fate": "%s", "events": [{"stage": "fill", "did": ["admitted"]}]}`
	result := func(items string) string {
		return `{"window": {"items": [], "max_tokens": 1, "used_tokens": 0}, "diagnostics": {"items": [` + items + `]}}`
	}
	tests := []struct {
		name, doc string
		code      int
		stderr    string
	}{
		{"no JSON", `nothing`, codeInvalid, `anchor-host: stdin:1:2: not valid JSON: invalid character 'o' in literal null (expecting 'u')`},
		{"a list", `[]`, codeInvalid, `anchor-host: stdin:1:1: no result of a build (write one with: anchor-host build --explain -o json)`},
		{"unknown key", "{\"window\": {},\n \"diagnostic\": {}}", codeInvalid, `anchor-host: stdin:2:2: diagnostic: unknown key (did you mean "diagnostics"?)`},
		{"repeated key", `{"window": {}, "window": {}}`, codeInvalid, `anchor-host: stdin:1:16: window: repeated key`},
		{"no window", `{"diagnostics": {}}`, codeInvalid, `anchor-host: stdin:1:1: window: missing (a result of anchor-host build -o json has it)`},
		{"no stories", `{"window": {"items": [], "max_tokens": 1, "used_tokens": 0}, "diagnostics": {}}`, codeInvalid, `anchor-host: invalid: stdin: no traces (build with --explain, or with "explain": true in the request)`},
		{"no place", result(strings.Replace(story, "%s", "in_window", 1)), codeInvalid,
			`anchor-host: invalid: stdin: diagnostics.items: item "a": its place is not in the window`},
		{"unknown fate", result(strings.Replace(story, "%s", "eaten", 1)), codeInvalid,
			`anchor-host: invalid: stdin: items[0]: item "a": fate "eaten": invalid value (want one of [in_window left_out dropped undecided])`},
		{"no events", result(`{"id": "a", "events": []}`), codeInvalid,
			`anchor-host: invalid: stdin: items[0]: item "a": no events: invalid value`},
		{"unknown event key", result(`{"id": "a", "evnts": []}`), codeInvalid,
			`anchor-host: invalid: stdin: items[0].evnts: unknown key: invalid value (did you mean "events"?)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := run(t, tt.doc, "explain", "-")
			if first, _, _ := strings.Cut(stderr, "\n"); code != tt.code || stdout != "" || first != tt.stderr {
				t.Errorf("code %d, %q\ngot  %s\nwant %s", code, stdout, first, tt.stderr)
			}
		})
	}
	if code, _, stderr := run(t, "", "explain", "gone.json"); code != codeNotFound || !strings.Contains(stderr, "read build: open gone.json") {
		t.Errorf("code %d, %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "explain", "-", "-"); code != codeUsage {
		t.Errorf("code %d, %s", code, stderr)
	}
}

// What explain prints of a hostile result never breaks out of its lines.
func TestExplainKeepsToItsLines(t *testing.T) {
	t.Chdir(t.TempDir())
	explained(t, "a.json", `{"query": "q", "window": {"include_query": false}, "explain": true, "counting": {"tokenizer": "words"}, "items": [{"id": "x\n    admitted", "content": "a\r\nb\u001b[2J", "source": "user"}]}`)
	code, stdout, stderr := run(t, "", "explain", "a.json")
	if code != codeOK || strings.ContainsAny(stdout, "\r\x1b") || strings.Count(stdout, "\n") != 5 {
		t.Errorf("code %d, %s\n%q", code, stderr, stdout)
	}
}
