package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/modeltest"
)

// factFolder moves into a folder with a configuration that takes facts with allops, and a
// store of its own.
func factFolder(t *testing.T, extract string) (flags []string) {
	t.Helper()
	flags = buildFolder(t, "counting: {tokenizer: words}\nmemory: {facts: {user: ann, extract: "+extract+"}, conversation: {id: c}}\n")
	t.Setenv("ANCHOR_HOST_STORE_PATH", filepath.Join(t.TempDir(), "store.db"))
	return flags
}

// Turns become facts, facts are changed, and put in order, each once.
func TestPromoteAndConsolidate(t *testing.T) {
	flags := factFolder(t, "{use: allops}")
	promote := func(args ...string) (string, string) {
		t.Helper()
		code, stdout, stderr := run(t, "", append(append([]string{"memory"}, args...), flags...)...)
		if code != codeOK {
			t.Fatalf("%v: code %d: %s", args, code, stderr)
		}
		return stdout, stderr
	}
	say := func(text string) { must(t, "", "memory", "add", "--conversation", "c", text) }
	say("I drink tea")
	say("good morning")
	out, summary := promote("promote", "--conversation", "c")
	if !strings.Contains(out, "added") || !strings.Contains(out, "I drink tea") || !strings.Contains(summary, "turns: 2; facts added: 1, updated: 0") {
		t.Errorf("%s%s", out, summary)
	}
	if _, summary = promote("promote", "--conversation", "c"); !strings.Contains(summary, "turns: 0;") {
		t.Errorf("again: %s", summary)
	}
	say("I drink coffee")
	if out, summary = promote("promote", "--conversation", "c"); !strings.Contains(out, "updated") || !strings.Contains(summary, "turns: 1; facts added: 0, updated: 1") {
		t.Errorf("%s%s", out, summary)
	}
	if code, _, stderr := run(t, "", append([]string{"memory", "promote", "--conversation", "typo"}, flags...)...); code != codeNotFound || !strings.Contains(stderr, `conversation "typo" of tenant "default": no such conversation`) {
		t.Errorf("a conversation that does not exist: code %d: %s", code, stderr)
	}
	must(t, "", "memory", "add", "--user", "ann", "coffee")
	must(t, "", "memory", "add", "--user", "bob", "coffee")
	must(t, "", "memory", "add", "--user", "ann", "I drink coffee with milk")
	if out, _ = promote("consolidate", "--user", "ann"); !strings.Contains(out, "removed") {
		t.Errorf("%s", out)
	}
	list := must(t, "", "memory", "list")
	if got := column(t, list, "USER"); fmt.Sprint(got) != "[bob ann]" {
		t.Errorf("owners %v of\n%s", got, list)
	}
	if got := must(t, "", "memory", "list", "-o", "json", "--user", "ann"); !strings.Contains(got, `"I drink coffee with milk"`) {
		t.Errorf("%s", got)
	}
	must(t, "", "memory", "forget", "--conversation", "c", "--all")
	if got := must(t, "", "memory", "export"); strings.Contains(got, `"through"`) {
		t.Errorf("left of the conversation: %s", got)
	}
}

// A build that remembers promotes when enough turns were added, and never fails for it.
func TestBuildsPromote(t *testing.T) {
	flags := factFolder(t, "{use: allops, every: 2, known: 0}")
	ask := func(text string) string {
		t.Helper()
		code, _, stderr := run(t, "", append([]string{"build", "--remember", text}, flags...)...)
		if code != codeOK {
			t.Fatalf("code %d: %s", code, stderr)
		}
		return stderr
	}
	ask("I drink tea")
	if got := must(t, "", "memory", "list"); strings.Contains(got, "tea") {
		t.Errorf("after one turn: %s", got)
	}
	ask("I live here")
	if got := column(t, must(t, "", "memory", "list"), "TEXT"); fmt.Sprint(got) != "[I drink tea I live here]" {
		t.Errorf("facts %q", got)
	}
	flags = factFolder(t, "{use: allops, every: 1, settings: {mode: unknown}}")
	if stderr := ask("I drink tea"); !strings.Contains(stderr, `msg="turns were not promoted" conversation=c`) || !strings.Contains(stderr, `the request has no fact \"unknown\"`) {
		t.Errorf("stderr %s", stderr)
	}
	flags = factFolder(t, "{use: gone, every: 1}")
	if stderr := ask("I drink tea"); !strings.Contains(stderr, "turns were not promoted") || !strings.Contains(stderr, "not_found") {
		t.Errorf("stderr %s", stderr)
	}
}

// Facts from one conversation are not offered to another one.
func TestExtractedFactsStayInTheirConversation(t *testing.T) {
	flags := factFolder(t, "{use: allops, every: 1}")
	must(t, "", "memory", "add", "tea is for all")
	if err := os.WriteFile("anchor.yaml", []byte("counting: {tokenizer: words}\nmemory: {facts: {max_items: 50, extract: {use: allops, every: 1}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	window := func(args ...string) string {
		t.Helper()
		return must(t, "", append(append([]string{"build"}, args...), flags...)...)
	}
	window("--conversation", "mine", "--remember", "I drink tea")
	if got := must(t, "", "memory", "list", "-o", "json", "--session", "mine"); !strings.Contains(got, "I drink tea") {
		t.Errorf("facts of the session %s", got)
	}
	must(t, "", "memory", "forget", "--conversation", "mine", "--all")
	for conversation, want := range map[string]bool{"mine": true, "stranger": false, "": false} {
		args := []string{"what tea?"}
		if conversation != "" {
			args = append(args, "--conversation", conversation)
		}
		if got := window(args...); strings.Contains(got, "I drink tea") != want || !strings.Contains(got, "tea is for all") {
			t.Errorf("conversation %q: %s", conversation, got)
		}
	}
}

// onWrite calls a function when something is written.
type onWrite struct{ f func() }

func (w onWrite) Write(p []byte) (int, error) {
	w.f()
	return len(p), nil
}

// The window is printed before facts are extracted, and an interrupt ends the extraction.
func TestAPromotionDoesNotDelayTheWindow(t *testing.T) {
	flags := factFolder(t, "{use: allops, every: 1, timeout: 10m, settings: {mode: spin}}")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stderr bytes.Buffer
	code := doMain(ctx, append([]string{"build", "--remember", "I drink tea"}, flags...), strings.NewReader(""), onWrite{cancel}, &stderr)
	if code != codeOK || strings.Contains(stderr.String(), "timeout") {
		t.Errorf("code %d, want %d and no timeout: %s", code, codeOK, stderr.String())
	}
}

func TestPromoteSaysWhatIsMissing(t *testing.T) {
	flags := buildFolder(t, "memory: {facts: {}}\n")
	t.Setenv("ANCHOR_HOST_STORE_PATH", filepath.Join(t.TempDir(), "store.db"))
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"promote", codeUsage, "name the conversation (--conversation ID)"},
		{"promote --conversation c", codeInvalid, "memory.facts.extract is not set (add extract: {use: NAME}"},
		{"consolidate", codeInvalid, "neither memory.facts.consolidate nor memory.facts.extract is set"},
		{"consolidate --user=", codeUsage, "flag --user: the value is empty"},
	} {
		code, _, stderr := run(t, "", append(append([]string{"memory"}, strings.Fields(tt.args)...), flags...)...)
		if code != tt.code || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: code %d, want %d: %s", tt.args, code, tt.code, stderr)
		}
	}
}

// Facts are imported, embedded and found by their meaning; a model is asked for facts.
func TestFactsWithModels(t *testing.T) {
	s := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: `{"add":[{"content":"Ann has a cat.","tags":["pets"]}],"update":[],"remove":[]}`}
	})
	t.Chdir(write(t, map[string]string{"anchor.yaml": fmt.Sprintf("memory: {facts: {embedder: e, extract: {model: small}}}\nmodels: {small: {api: openai, base_url: %q, model: m}}\nembedders: {e: {http: {base_url: %q, model: v, retries: 0}}}\n", s.URL, s.URL)}))
	t.Setenv("ANCHOR_HOST_STORE_PATH", filepath.Join(t.TempDir(), "store.db"))
	lines := `{"kind":"fact","id":"a","data":{"content":"Ann drinks tea."}}` + "\n" + `{"kind":"fact","id":"b","data":{"content":"Bob repairs engines."}}` + "\n"
	do := func(stdin, want string, args ...string) {
		t.Helper()
		code, stdout, stderr := run(t, stdin, append([]string{"memory"}, args...)...)
		if code != codeOK || !strings.Contains(stdout+stderr, want) {
			t.Errorf("%s: code %d: %s%s", args, code, stdout, stderr)
		}
	}
	do(lines, `"embedded": 2`, "import", "-o", "json", "-")
	do(lines, "imported: 2", "import", "-")
	do("", "Bob repairs engines.", "search", "--semantic", "--top-k", "1", "Bob repairs engines.")
	do("", "", "add", "--conversation", "c", "I have a cat")
	do("", "asked llm small: 1 call, 10 tokens in", "promote", "--conversation", "c")
	do("", "Ann has a cat.", "search", "cat")
	if code, _, stderr := run(t, "", "memory", "search", "--semantic", "--contains", "x"); code != codeUsage {
		t.Errorf("two ways to search: code %d: %s", code, stderr)
	}
	if code, _, stderr := run(t, lines+"{\"kind\":\"fact\",\"id\":\"c\",\"data\":5}\n", "memory", "import", "-"); code != codeInvalid || !strings.Contains(stderr, "line 3") {
		t.Errorf("a bad line: code %d: %s", code, stderr)
	}
}
