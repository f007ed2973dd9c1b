package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// severalMistakes are those of one request.
var severalMistakes = []string{
	`stdin:1:11: query: want a string, got 1 (write "1")`,
	`stdin:2:38: items[0].source: unknown value "web" (want one of retrieval, memory, system, user, tool, conversation)`,
	`stdin:2:54: items[0].score: want 0 to 1, got 2`,
}

// The error documents of requests that cannot be built, in full.
func TestRequestErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	tests := []struct {
		name, request string
		code          int
		want          failure.Detail
	}{
		{"empty", "", codeInvalid, failure.Detail{Message: "stdin:1:1: the document is empty (want a JSON object)", Reason: "invalid_request"}},
		{"null", "null", codeInvalid, failure.Detail{Message: "stdin:1:1: want a map, got null", Reason: "invalid_request"}},
		{"no object", "[]", codeInvalid, failure.Detail{Message: "stdin:1:1: want a map, got a list", Reason: "invalid_request"}},
		{"no query", "{}", codeInvalid, failure.Detail{Message: `stdin:1:1: missing key "query"`, Reason: "invalid_request"}},
		{"unknown field", `{"query": "q", "step": []}`, codeInvalid,
			failure.Detail{Message: `stdin:1:16: step: unknown key (did you mean "steps"?)`, Reason: "invalid_request"}},
		{"unknown field of a step", `{"query": "q", "steps": [{"name": "a", "use": "sort", "topk": 1}]}`, codeInvalid,
			failure.Detail{Message: `stdin:1:55: steps[0].topk: unknown key (did you mean "top_k"?)`, Reason: "invalid_request"}},
		{"several mistakes", "{\"query\": 1,\n\"items\": [{\"content\": \"x\", \"source\": \"web\", \"score\": 2}]}", codeInvalid,
			failure.Detail{Message: strings.Join(severalMistakes, "; "), Reason: "invalid_request", Problems: severalMistakes}},
		{"trailing data", `{"query": "q"}{`, codeInvalid, failure.Detail{Message: "stdin:1:15: more data follows the document (send one document)", Reason: "invalid_request"}},
		{"builtin settings", `{"query": "q", "steps": [{"name": "a", "use": "filter", "settings": {"min": 1}}]}`, codeInvalid,
			failure.Detail{Message: `step "a": invalid: filter: settings: min: unknown key (want one of min_score, max_score, sources)`, Reason: "invalid_request", Step: "a"}},
		{"name of the items step", `{"query": "q", "items": [], "steps": [{"name": "items", "use": "sort"}]}`, codeInvalid,
			failure.Detail{Message: `invalid: steps[0]: the name "items" is reserved for the step that appends the given items (choose another)`, Reason: "invalid_request"}},
		{"two plugins at once", `{"query": "q", "steps": [{"name": "a", "use": "p", "builtin": "sort"}]}`, codeInvalid,
			failure.Detail{Message: `stdin:1:52: steps[0].builtin: unknown key (it is steps[0].use now)`, Reason: "invalid_request"}},
		{"missing plugin that must not fail", `{"query": "q", "steps": [{"name": "a", "use": "p", "operation": "filter", "must": true}]}`, codeNotFound,
			failure.Detail{Message: `step "a": plugin "p": filter: not_found: plugin directory plugins: open: no such file or directory (create it, or set plugins.dir)`,
				Reason: "not_found", Step: "a", Plugin: "p"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := run(t, tt.request, "build", "--request", "-")
			var doc failure.Document
			if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
				t.Fatalf("stdout is no JSON: %v\n%s", err, stdout)
			}
			if code != tt.code || !reflect.DeepEqual(doc.Error, tt.want) {
				t.Errorf("code %d, %+v\nwant %d, %+v", code, doc.Error, tt.code, tt.want)
			}
			if want := "anchor-host: " + tt.want.Message + "\n"; stderr != want {
				t.Errorf("stderr %q, want %q", stderr, want)
			}
		})
	}
}

// A time that is given is kept, however empty it looks. An empty id is none.
func TestRequestKeepsWhatIsGiven(t *testing.T) {
	t.Chdir(t.TempDir())
	request := `{"query": "q", "counting": {"tokenizer": "words"}, "items": [{"id": "", "content": "one", "source": "user", "created_at": "0001-01-01T00:00:00Z", "score": 0.9}, {"id": null, "content": "two", "source": "user", "created_at": "2026-01-02T03:04:05+02:00"}]}`
	code, stdout, stderr := run(t, request, "build", "--request", "-")
	if code != codeOK {
		t.Fatalf("code %d, %s", code, stderr)
	}
	var result struct {
		Window struct {
			Items []struct {
				ID      string `json:"id"`
				Created string `json:"created_at"`
			} `json:"items"`
		} `json:"window"`
	}
	if err := json.Unmarshal([]byte(stdout), &result); err != nil {
		t.Fatal(err)
	}
	same(t, "items", fmt.Sprint(result.Window.Items), "[{"+core.ContentID("one")+" 0001-01-01T00:00:00Z} {"+core.ContentID("two")+" 2026-01-02T03:04:05+02:00}]")
}

// What a request may not be combined with. A flag that is taken and changes nothing
// leaves its user with another window than the one that was asked for.
func TestRequestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"query"}, {"--max-tokens", "5"}, {"--format", "generic"}, {"--items", "-"}, {"--query-file", "-"}, {"-o", "text"}, {"--explain"},
		{"--model", "gpt-4o"}, {"--set", "counting.tokenizer=words"}, {"--set", "window.fit=exact"},
	} {
		code, stdout, stderr := run(t, `{"query": "q"}`, append([]string{"build", "--request", "-"}, args...)...)
		if code != codeUsage || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}

// A request with everything that needs no plugin.
func TestRequestBuiltins(t *testing.T) {
	t.Parallel()
	request := `{"query": {"query_str": "q", "metadata": {"tenant": 9007199254740993}, "chat_history": [{"role": "user", "content": "hi"}], "embedding": [0.5]}, "window": {"max_tokens": 100}, "counting": {"tokenizer": "words"}, "items": [{"id": "a", "content": "one", "source": "retrieval", "score": 0.2, "metadata": {"big": 9007199254740993}}, {"id": "b", "content": "two", "source": "retrieval", "score": 0.9}, {"id": "b", "content": "two again", "source": "retrieval", "score": 0.8}, {"id": "c", "content": "three", "source": "retrieval", "score": 0.7}, {"id": "d", "content": "four", "source": "memory", "score": 0.1}], "steps": [{"name": "once", "use": "dedupe_ids", "priority": 10}, {"name": "good", "use": "filter", "priority": 20, "settings": {"min_score": 0.2}}, {"name": "least", "use": "min_score", "priority": 30, "settings": {"min_score": 0.15}}, {"name": "old", "use": "sort", "priority": 40, "settings": {"by": "score", "order": "asc"}}, {"name": "best", "use": "rerank", "priority": 50, "top_k": 2}, {"name": "some", "use": "top_k", "priority": 60}]}`
	code, stdout, stderr := run(t, request, "build", "--request", "-")
	if code != codeOK || stderr != "" {
		t.Fatalf("code %d, %s", code, stderr)
	}
	var result map[string]any
	if err := json.Unmarshal([]byte(stdout), &result); err != nil {
		t.Fatal(err)
	}
	same(t, "window", windowIDs(result), []any{"b", "c", "d"})
	var after []any
	for _, s := range result["diagnostics"].(map[string]any)["steps"].([]any) {
		after = append(after, s.(map[string]any)["items_after"])
	}
	same(t, "items after the steps", after, []any{5.0, 4.0, 4.0, 4.0, 4.0, 3.0, 3.0})
}

func TestItemsAndQueryFromFiles(t *testing.T) {
	t.Chdir(write(t, map[string]string{
		"anchor.yaml": "counting: {tokenizer: words}\n",
		"list.json":   `[{"content": "from a list", "source": "user"}]`,
		"object.json": `{"items": [{"content": "from an object", "source": "user"}]}`,
		"bad.json":    `[{"content": "x", "source": "user", "scroe": 1}]`,
		"query.txt":   "the query\n",
	}))
	for args, want := range map[string]string{
		"--items list.json q":                                  "=== CONTEXT ===\nfrom a list\n\n=== QUESTION ===\nq\n",
		"--items object.json --query-file query.txt":           "=== CONTEXT ===\nfrom an object\n\n=== QUESTION ===\nthe query\n",
		"--items - q":                                          "=== CONTEXT ===\nfrom stdin\n\n=== QUESTION ===\nq\n",
		"--items list.json --format openai q":                  "{\n  \"messages\": [\n    {\n      \"role\": \"user\",\n      \"content\": \"Relevant context:\\n\\nfrom a list\\n\\nq\"\n    }\n  ]\n}\n",
		"--items list.json --max-tokens 2 --strict q":          "=== QUESTION ===\nq\n",
		"--items list.json --set window.include_query=false q": "=== CONTEXT ===\nfrom a list\n",
	} {
		code, stdout, stderr := run(t, `[{"content": "from stdin", "source": "user"}]`, append([]string{"build"}, strings.Fields(args)...)...)
		if code != codeOK || stdout != want {
			t.Errorf("%s: code %d, %q, want %q; %s", args, code, stdout, want, stderr)
		}
	}
	code, _, stderr := run(t, "", "build", "--items", "bad.json", "q")
	if want := "anchor-host: bad.json:1:37: items[0].scroe: unknown key (did you mean \"score\"?)\n"; code != codeInvalid || stderr != want {
		t.Errorf("code %d, %q, want %q", code, stderr, want)
	}
	code, _, stderr = run(t, "", "build", "--items", "-", "-")
	if code != codeUsage || !strings.Contains(stderr, "cannot both come from stdin") {
		t.Errorf("code %d, %q", code, stderr)
	}
}

// A request with --strict prints its result and still reports the degradation.
func TestRequestStrict(t *testing.T) {
	t.Chdir(t.TempDir())
	code, stdout, stderr := run(t, `{"query": "q", "steps": [{"name": "a", "use": "p", "operation": "filter"}]}`, "build", "--strict", "--request", "-")
	if code != codeDegraded || !strings.Contains(stdout, `"skipped_steps"`) || strings.Count(stderr, "(skipped)") != 1 {
		t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestRequestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "request.json")
	if err := os.WriteFile(path, []byte(`{"query": "q"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := run(t, "", "build", "--request", path); code != codeOK || !strings.Contains(stdout, `"format_type": "generic"`) {
		t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, _ := run(t, "", "build", "--request", path+".none")
	if code != codeNotFound || !strings.Contains(stdout, `"reason": "not_found"`) {
		t.Errorf("code %d\n%s", code, stdout)
	}
}
