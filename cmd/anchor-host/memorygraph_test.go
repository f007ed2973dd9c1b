package main

import (
	"fmt"
	"strings"
	"testing"
)

// What the graph says about the entities of a query is in the window, once.
func TestGraphLeadsToFacts(t *testing.T) {
	storeFolder(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\nmemory: {facts: {max_items: 1, graph: {max_depth: 1}}}\n"})
	for id, text := range map[string]string{"f1": "Ann likes the night train", "f2": "the launch is in May", "f3": "far away"} {
		must(t, "", "memory", "add", "--id", id, text)
	}
	for _, args := range [][]string{{"Ann", "works on", "Apollo"}, {"Apollo", "part of", "NASA"}, {"ann", "--fact", "f1"}, {"Apollo", "--fact", "f2"}, {"NASA", "--fact", "f3"}} {
		must(t, "", append([]string{"memory", "graph", "add"}, args...)...)
	}
	code, stdout, stderr := run(t, "", "build", "what does ANN do?")
	if code != codeOK || strings.Count(stdout, "night train") != 1 || !strings.Contains(stdout, "in May") || strings.Contains(stdout, "far away") {
		t.Errorf("code %d, %q\n%s", code, stdout, stderr)
	}
	if code, stdout, stderr = run(t, "", "build", "--set", "window.include_query=false", "and the annex?"); code != codeOK || strings.Count(stdout, "\n") != 2 { // max_items alone
		t.Errorf("no entity: code %d, %q\n%s", code, stdout, stderr)
	}
	out := must(t, "", "memory", "graph", "list", "--depth", "1", "ann")
	if got := column(t, out, "ENTITY"); fmt.Sprint(got) != "[Ann Apollo]" {
		t.Errorf("around Ann: %s", out)
	}
	if got := must(t, "", "memory", "graph", "list", "nasa", "--depth", "0", "-o", "json"); !strings.Contains(got, `"content": "far away"`) {
		t.Errorf("facts of an entity: %s", got)
	}
	exported := must(t, "", "memory", "export")
	must(t, exported, "memory", "import", "--tenant", "copy", "-")
	if got := must(t, "", "memory", "graph", "list", "--tenant", "copy"); got != must(t, "", "memory", "graph", "list") || len(column(t, got, "SOURCE")) != 5 {
		t.Errorf("the copy has\n%s", got)
	}
	must(t, "", "memory", "graph", "remove", "Apollo", "--fact", "f2")
	must(t, "", "memory", "graph", "remove", "--fact", "f3")
	must(t, "", "memory", "graph", "remove", "NASA")
	out = must(t, "", "memory", "graph", "list")
	if got := column(t, out, "TARGET"); fmt.Sprint(got) != "[Apollo -]" {
		t.Errorf("left: %s", out)
	}
}

func TestGraphMistakes(t *testing.T) {
	storeFolder(t, nil)
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"add Ann", codeUsage, "want SOURCE RELATION TARGET, or ENTITY and --fact"},
		{"add a b c --fact f", codeUsage, "want SOURCE RELATION TARGET, or ENTITY and --fact"},
		{"add Ann --fact=", codeUsage, "flag --fact: the value is empty"},
		{"add Ann --fact gone", codeNotFound, `"gone"`},
		{"list Ann", codeNotFound, `entity "Ann"`},
		{"list Ann --depth -1", codeUsage, "flag --depth: want 0 or more"},
		{"remove Ann", codeNotFound, "nothing to remove"},
		{"remove a b", codeUsage, "want SOURCE RELATION TARGET"},
	} {
		code, _, stderr := run(t, "", append([]string{"memory", "graph"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: code %d, want %d: %s", tt.args, code, tt.code, stderr)
		}
	}
}
