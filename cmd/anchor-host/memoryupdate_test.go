package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestUpdateFact(t *testing.T) {
	storeFolder(t, nil)
	must(t, "", "memory", "add", "--id", "f", "--tag", "a", "--metadata", "n=9007199254740993", "--metadata", "by=ann", "old")
	must(t, "", "memory", "update", "f", "new")
	must(t, "", "memory", "update", "f", "--tag", "b,c", "--metadata", `list=[1, "x"]`, "--relevance", "0.9", "--type", "episodic", "--expires", "24h")
	var e struct {
		Content, MemoryType string
		Tags                []string
		Metadata            map[string]json.RawMessage
	}
	out := must(t, "", "memory", "update", "f", "--expires", "never", "-o", "json")
	if err := json.Unmarshal([]byte(out), &e); err != nil {
		t.Fatal(err)
	}
	if e.Content != "new" || fmt.Sprint(e.Tags) != "[b c]" || string(e.Metadata["n"]) != "9007199254740993" || string(e.Metadata["by"]) != `"ann"` || len(e.Metadata) != 3 ||
		!strings.Contains(out, `"memory_type": "episodic"`) || !strings.Contains(out, `"relevance_score": 0.9`) || !strings.Contains(out, `"expires_at": null`) {
		t.Errorf("got %s", out)
	}
	if got := column(t, must(t, "", "memory", "search", "new"), "ID"); fmt.Sprint(got) != "[f]" {
		t.Errorf("found %v", got)
	}
	for args, want := range map[string]string{
		"f":                        "nothing to change (give a text, or a flag such as --tag)",
		"f  ":                      "nothing to change",
		"f --type truth":           "flag --type: want one of",
		"f --relevance 2":          "flag --relevance: want 0 to 1, got 2",
		"f --expires soon":         `got "soon", or never`,
		"f --metadata =1":          `flag --metadata: want KEY=VALUE, got "=1"`,
		"f --metadata importance ": `flag --metadata: want KEY=VALUE, got "importance"`,
	} {
		code, _, stderr := run(t, "", append([]string{"memory", "update"}, strings.Fields(args)...)...)
		if code != codeUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: code %d: %s", args, code, stderr)
		}
	}
	if code, _, stderr := run(t, "", "memory", "update", "gone", "x"); code != codeNotFound {
		t.Errorf("a fact that is not there: code %d: %s", code, stderr)
	}
}

// What matters stays in the window, what does not leaves first.
func TestImportanceDecidesWhoLeaves(t *testing.T) {
	storeFolder(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\nmemory: {conversation: {id: c, tokens: 2, eviction: importance}}\n"})
	for _, turn := range [][]string{{"first", "importance=0.9"}, {"second", "importance=0.1"}, {"third", "importance=0.2"}} {
		must(t, "", "memory", "add", "--conversation", "c", "--metadata", turn[1], turn[0])
	}
	code, stdout, stderr := run(t, "", "build", "--remember", "q")
	if code != codeOK || !strings.Contains(stdout, "first\nthird\n") || strings.Contains(stdout, "second") {
		t.Errorf("code %d, %q, %s", code, stdout, stderr)
	}
	if code, stdout, stderr = run(t, "", "build", "again"); code != codeOK || !strings.Contains(stdout, "first\nq\n") || strings.Contains(stdout, "third") {
		t.Errorf("code %d, %q, %s", code, stdout, stderr)
	}
	stated := `{"query": "q", "counting": {"tokenizer": "words"}, "window": {"max_tokens": 100}, "conversation": [{"role": "user", "content": "first", "metadata": {"importance": 1}}, {"role": "user", "content": "second"}]}`
	if code, stdout, stderr = run(t, stated, "build", "--request", "-"); code != codeOK || !strings.Contains(stdout, `"importance": 1`) {
		t.Errorf("code %d, %s, %s", code, stdout, stderr)
	}
}
