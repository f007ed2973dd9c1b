package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/providers"
)

// storeFolder moves into an empty folder with a store of its own.
func storeFolder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(write(t, files))
	t.Setenv("ANCHOR_HOST_STORE_PATH", filepath.Join(t.TempDir(), "store.db"))
}

// must runs a command line that succeeds and returns what it prints.
func must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	code, stdout, stderr := run(t, stdin, args...)
	if code != codeOK {
		t.Fatalf("%v: code %d: %s", args, code, stderr)
	}
	return stdout
}

// decode reads the JSON that a command prints.
func decode[T any](t *testing.T, stdout string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatalf("%v in\n%s", err, stdout)
	}
	return v
}

// column returns one column of a table, without its header.
func column(t *testing.T, table, header string) (cells []string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
	at := strings.Index(lines[0], header)
	if at < 0 {
		t.Fatalf("no column %s in\n%s", header, table)
	}
	for _, line := range lines[1:] {
		cell, _, _ := strings.Cut(line[at:], "  ")
		cells = append(cells, cell)
	}
	return cells
}

type factDocument struct {
	ID, Content, Type string
	User              string `json:"user_id"`
}

func TestFacts(t *testing.T) {
	storeFolder(t, nil)
	must(t, "", "memory", "add", "--id", "f1", "--user", "ann", "--tag", "travel", "--type", "episodic", "Ann took the night train")
	must(t, "Bob likes tea\n", "memory", "add", "--id", "f2", "--user", "bob", "--expires", "720h", "-")
	if _, _, stderr := run(t, "", "memory", "add", "--user", "bob", "Bob likes tea"); stderr != "anchor-host: the fact exists already\n" {
		t.Errorf("the same fact again: %q", stderr)
	}
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"list"}, []string{"f1", "f2"}},
		{[]string{"list", "--user", "bob"}, []string{"f2"}},
		{[]string{"list", "--type", "episodic", "--tag", "travel"}, []string{"f1"}},
		{[]string{"list", "--tenant", "other"}, nil},
		{[]string{"search", "what about the night train?"}, []string{"f1", "f2"}},
		{[]string{"search", "--top-k", "1", "tea"}, []string{"f2"}},
		{[]string{"search", "--contains", "NIGHT"}, []string{"f1"}},
	} {
		if got := column(t, must(t, "", append([]string{"memory"}, tt.args...)...), "ID"); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%v: %v, want %v", tt.args, got, tt.want)
		}
	}
	facts := decode[[]factDocument](t, must(t, "", "memory", "list", "-o", "json"))
	if want := (factDocument{ID: "f2", Content: "Bob likes tea", User: "bob"}); len(facts) != 2 || facts[1] != want {
		t.Errorf("got %+v", facts)
	}
	code, stdout, stderr := run(t, "", "memory", "forget", "f1", "f9")
	if want := "anchor-host: 1 of the facts: not found (list them with: anchor-host memory list)\n"; code != codeNotFound || stdout != "forgotten: 1\n" || stderr != want {
		t.Errorf("forget: %d, %q, %q", code, stdout, stderr)
	}
	if got := must(t, "", "memory", "forget", "--all", "--user", "bob"); got != "forgotten: 1\n" {
		t.Errorf("forget --all: %q", got)
	}
}

func TestTurns(t *testing.T) {
	storeFolder(t, nil)
	for _, turn := range [][]string{{"user", "when do we leave?"}, {"assistant", "At nine."}, {"user", "from where?"}} {
		must(t, "", "memory", "add", "--conversation", "c", "--role", turn[0], turn[1])
	}
	if got := column(t, must(t, "", "memory", "list", "--conversation", "c"), "TEXT"); !reflect.DeepEqual(got, []string{"when do we leave?", "At nine.", "from where?"}) {
		t.Errorf("turns %v", got)
	}
	if got := column(t, must(t, "", "memory", "list", "--conversations"), "CONVERSATION"); !reflect.DeepEqual(got, []string{"c"}) {
		t.Errorf("conversations %v", got)
	}
	if got := column(t, must(t, "", "memory", "search", "--conversation", "c", "NINE"), "TURN"); !reflect.DeepEqual(got, []string{"2"}) {
		t.Errorf("found %v", got)
	}
	must(t, "", "memory", "forget", "--conversation", "c", "2")
	if got := column(t, must(t, "", "memory", "list", "--conversation", "c"), "TURN"); !reflect.DeepEqual(got, []string{"1", "3"}) {
		t.Errorf("after forgetting: %v", got)
	}
	must(t, "", "memory", "forget", "--conversation", "c", "--all")
	if got := column(t, must(t, "", "memory", "list", "--conversation", "c"), "TURN"); got != nil {
		t.Errorf("after forgetting all: %v", got)
	}
}

// What one tenant exports another one imports, whole, and importing twice changes
// nothing.
func TestExportImport(t *testing.T) {
	storeFolder(t, nil)
	must(t, "", "memory", "add", "--id", "f1", "a fact")
	must(t, "", "memory", "add", "--conversation", "c", "a turn")
	must(t, "", "frames", "push", "--run", "r", "--kind", "checkpoint", "a frame")
	must(t, `[{"role": "user", "content": "a message"}]`, "assemble", "--run", "r")
	must(t, "", "memory", "export", "--file", "out.jsonl")
	exported, err := os.ReadFile("out.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if stdout := must(t, "", "memory", "export"); stdout != string(exported) || strings.Count(stdout, "\n") != 5 {
		t.Errorf("exported\n%s\nto a file\n%s", stdout, exported)
	}
	for range 2 {
		if got := must(t, string(exported), "memory", "import", "--tenant", "copy", "-"); got != "imported: 5\n" {
			t.Errorf("import: %q", got)
		}
	}
	copied := must(t, "", "memory", "export", "--tenant", "copy")
	if want := strings.ReplaceAll(string(exported), `"tenant":"default"`, `"tenant":"copy"`); copied != want {
		t.Errorf("the copy is\n%s\nwant\n%s", copied, want)
	}
	if got := column(t, must(t, "", "frames", "window", "--tenant", "copy", "--run", "r"), "SUMMARY"); !reflect.DeepEqual(got, []string{"a frame"}) {
		t.Errorf("frames of the copy: %v", got)
	}
	if code, _, stderr := run(t, "", "memory", "export", "--file", "out.jsonl"); code != codeFailure || !strings.Contains(stderr, "file exists") {
		t.Errorf("a file that is there: %d, %s", code, stderr)
	}
}

func TestCollect(t *testing.T) {
	storeFolder(t, nil)
	old := `{"kind":"fact","id":"%","data":{"id":"%","content":"%","last_accessed":"2020-01-01T00:00:00Z","created_at":"2020-01-01T00:00:00Z"`
	lines := strings.ReplaceAll(old, "%", "faded") + "}}\n" + strings.ReplaceAll(old, "%", "expired") + `,"expires_at":"2020-02-01T00:00:00Z"}}` + "\n"
	must(t, lines, "memory", "import", "-")
	must(t, "", "memory", "add", "--id", "new", "new")
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"--dry-run"}, []string{"expired", "-"}},
		{[]string{"--dry-run", "--threshold", "0.1"}, []string{"expired", "faded", "-"}},
		{nil, []string{"expired", "-"}},
		{[]string{"--threshold", "0.5", "--decay", "ebbinghaus"}, []string{"faded", "-"}},
	} {
		if got := column(t, must(t, "", append([]string{"memory", "gc"}, tt.args...)...), "FACT"); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("gc %v: %v, want %v", tt.args, got, tt.want)
		}
	}
	if got := column(t, must(t, "", "memory", "list", "--expired"), "ID"); !reflect.DeepEqual(got, []string{"new"}) {
		t.Errorf("left: %v", got)
	}
}

func TestFrames(t *testing.T) {
	storeFolder(t, nil)
	push := func(args ...string) {
		t.Helper()
		must(t, "", append([]string{"frames", "push", "--run", "r"}, args...)...)
	}
	push("--kind", "intent_analysis", "--tokens", "5", "--max-frames", "3", "make it fast")
	for _, summary := range []string{"one", "two", "three"} {
		push("--kind", "step_summary", "--data", `{"ok": true}`, "--count", summary)
	}
	push("--kind", "other:note", "--global-summary", "it is fast now", "four")
	if got := column(t, must(t, "", "frames", "list", "--run", "r"), "SUMMARY"); !reflect.DeepEqual(got, []string{"make it fast", "one", "two", "three", "four"}) {
		t.Errorf("log %v", got)
	}
	if got := column(t, must(t, "", "frames", "list", "--run", "r", "--cursor", "1", "--limit", "2"), "FRAME"); !reflect.DeepEqual(got, []string{"1", "2"}) {
		t.Errorf("part of the log %v", got)
	}
	if got := column(t, must(t, "", "frames", "window", "--run", "r"), "FRAME"); !reflect.DeepEqual(got, []string{"0", "3", "4"}) {
		t.Errorf("window %v", got)
	}
	if got := column(t, must(t, "", "frames", "window", "--run", "r", "--max-frames", "2"), "KIND"); !reflect.DeepEqual(got, []string{"intent_analysis", "note"}) {
		t.Errorf("narrow window %v", got)
	}
	if got := column(t, must(t, "", "frames", "list"), "RUN"); !reflect.DeepEqual(got, []string{"r"}) {
		t.Errorf("runs %v", got)
	}
	type window struct {
		Run    string
		Global string `json:"global_summary"`
		Limits struct {
			Max int `json:"max_frames"`
		}
		Frames  []struct{ Data json.RawMessage }
		Next    int `json:"next_frame_id"`
		Version int `json:"schema_version"`
	}
	w := decode[window](t, must(t, "", "frames", "window", "--run", "r", "-o", "json"))
	if w.Run != "r" || w.Global != "it is fast now" || w.Limits.Max != 3 || len(w.Frames) != 3 || w.Frames[1].Data == nil {
		t.Errorf("got %+v", w)
	}
	if d := decode[window](t, must(t, "", "frames", "window", "--run", "r", "-o", "document")); d.Next != 5 || d.Version != 1 {
		t.Errorf("document %+v", d)
	}
}

// A conversation of the store fills the window, and facts come with it.
func TestBuildWithConversation(t *testing.T) {
	storeFolder(t, map[string]string{
		"anchor.yaml": "counting: {tokenizer: words}\nmemory: {conversation: {id: c, tokens: 8}}\n",
		"facts.yaml":  "counting: {tokenizer: words}\nmemory: {facts: {user: ann, max_items: 1}}\n",
	})
	if out := must(t, "", "build", "--remember", "one two three"); out != "=== QUESTION ===\none two three\n" {
		t.Errorf("a new conversation: %q", out)
	}
	must(t, "", "memory", "add", "--conversation", "c", "--role", "assistant", "four five")
	if out, want := must(t, "", "build", "--remember", "six seven eight nine"), "=== MEMORY ===\none two three\nfour five\n\n=== QUESTION ===\nsix seven eight nine\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	if out, want := must(t, "", "build", "ten"), "=== MEMORY ===\nfour five\nsix seven eight nine\n\n=== QUESTION ===\nten\n"; out != want {
		t.Errorf("the oldest turn has left: got %q, want %q", out, want)
	}
	if out := must(t, "", "build", "--conversation", "another", "ten"); out != "=== QUESTION ===\nten\n" {
		t.Errorf("another conversation: %q", out)
	}
	must(t, "", "memory", "add", "--user", "ann", "Ann likes tea")
	must(t, "", "memory", "add", "--user", "bob", "Bob likes tea")
	if out, want := must(t, "", "build", "-c", "facts.yaml", "tea"), "=== MEMORY ===\nAnn likes tea\n\n=== QUESTION ===\ntea\n"; out != want {
		t.Errorf("facts: got %q, want %q", out, want)
	}
}

func TestStoreErrors(t *testing.T) {
	storeFolder(t, map[string]string{
		"both.yaml":      "memory: {conversation: {id: c, turns: [{role: user, content: x}]}}",
		"keep.yaml":      "agent: {compaction: {high_water: 5, low_water: 5}}",
		"names.yaml":     "agent: {providers: [{use: observation, priority: 1}, {use: a, priority: 1}, {use: a, priority: 2}]}",
		"priority.yaml":  "agent: {providers: [{use: a}]}",
		"tenant.yaml":    `tenant: "a\nb"`,
		"required.yaml":  "plugins: {instances: {i: {plugin: gone, must: true}}}",
		"gone.yaml":      "agent: {compaction: {high_water: 4, compact: {use: lost}}, providers: [{use: gone, priority: 15}]}",
		"not-a-store.db": "nothing of the kind, and longer than the header of a file of the database engine, which has 100 bytes.",
	})
	for _, tt := range []struct {
		name, stdin string
		args        []string
		code        int
		stderr      string
	}{
		{"id and turns", "", []string{"build", "-c", "both.yaml", "q"}, codeInvalid,
			"both.yaml:1:24: memory.conversation: id and turns exclude each other (the turns of a stored conversation are in the store)"},
		{"keep", "[]", []string{"assemble", "-c", "keep.yaml"}, codeInvalid,
			"keep.yaml:1:48: agent.compaction.low_water: want less than high_water 5, got 5"},
		{"reserved name", "[]", []string{"assemble", "-c", "names.yaml"}, codeInvalid,
			`names.yaml:1:21: agent.providers[0]: the name "observation" belongs to a built-in provider (set a different name)`},
		{"name twice", "[]", []string{"assemble", "-c", "names.yaml"}, codeInvalid,
			`names.yaml:1:77: agent.providers[2]: the name "a" is already used by agent.providers[1] (set a different name)`},
		{"no priority", "[]", []string{"assemble", "-c", "priority.yaml"}, codeInvalid, `priority.yaml:1:21: agent.providers[0]: missing key "priority"`},
		{"bad tenant", "", []string{"memory", "list", "-c", "tenant.yaml"}, codeInvalid,
			`tenant.yaml:1:9: tenant: want a name of at most 256 bytes without control characters, got "a\nb"`},
		{"bad flag", "", []string{"memory", "list", "--tenant", ""}, codeUsage, "flag --tenant: the value is empty (leave the flag out, or give it a value) (see: anchor-host memory list --help)"},
		{"required instance", "[]", []string{"assemble", "-c", "required.yaml"}, codeNotFound,
			`plugins.instances.i: plugin "i": not_found: plugin directory plugins: open: no such file or directory (create it, or set plugins.dir)`},
		{"missing provider", `[{"role": "user", "content": "hi"}]`, []string{"assemble", "-c", "gone.yaml"}, codeOK,
			`provider "gone": plugin "gone": provide: not_found: plugin directory plugins: open: no such file or directory (create it, or set plugins.dir) (left out)`},
		{"missing provider, strict", `[{"role": "user", "content": "hi"}]`, []string{"assemble", "-c", "gone.yaml", "--strict"}, codeDegraded,
			"degraded: 1 of the providers left out (--strict)"},
		{"missing compactor", `[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]`,
			[]string{"assemble", "-c", "gone.yaml"}, codeOK, `provider "compaction": compact 2 messages: agent.compaction.compact: plugin "lost": compact: not_found: `},
		{"no messages", "", []string{"assemble"}, codeInvalid, "stdin:1:1: the document is empty (want a JSON object)"},
		{"no file", "", []string{"assemble", "none.json"}, codeNotFound, "read messages: open none.json: no such file or directory"},
		{"bad phase", "[]", []string{"assemble", "--phase", "x"}, codeUsage, `flag --phase: unknown value "x" (want one of llm, synthesize) (see: anchor-host assemble --help)`},
		{"bad budget", "[]", []string{"assemble", "--max-tokens", "0"}, codeUsage, `flag --max-tokens: want 1 or more, got 0 (see: anchor-host assemble --help)`},
		{"bad output", "[]", []string{"assemble", "-o", "xml"}, codeUsage, `flag --output: want one of messages, json, got "xml" (see: anchor-host assemble --help)`},
		{"over budget", `[{"role": "user", "content": "one two three"}]`, []string{"assemble", "--set", "counting.tokenizer=words", "--max-tokens", "2", "--strict"}, codeDegraded,
			"degraded: the budget is exceeded (--strict)"},
		{"no frames", "", []string{"frames", "window", "--run", "x"}, codeNotFound,
			`run "x" of tenant "default": no frames: not found (push one with: anchor-host frames push)`},
		{"no run", "", []string{"frames", "push", "--kind", "checkpoint", "x"}, codeUsage, `required flag(s) "run" not set (see: anchor-host frames push --help)`},
		{"bad data", "", []string{"frames", "push", "--run", "r", "--kind", "checkpoint", "--data", "{", "x"}, codeUsage,
			"flag --data: want a JSON value, got { (see: anchor-host frames push --help)"},
		{"nothing to forget", "", []string{"memory", "forget"}, codeUsage, "want ids, or --all (see: anchor-host memory forget --help)"},
		{"fact flags on turns", "", []string{"memory", "list", "--conversation", "c", "--user", "u"}, codeUsage,
			"--user and --conversation exclude each other (turns have none) (see: anchor-host memory list --help)"},
		{"bad type", "", []string{"memory", "add", "--type", "x", "t"}, codeUsage,
			`flag --type: want one of semantic, episodic, procedural, conversation, got "x" (see: anchor-host memory add --help)`},
		{"bad expiry", "", []string{"memory", "add", "--expires", "2001-01-01T00:00:00Z", "t"}, codeUsage,
			`flag --expires: want a time span such as 720h, or a future time such as 2030-01-02T15:04:05Z, got "2001-01-01T00:00:00Z" (see: anchor-host memory add --help)`},
		{"bad threshold", "", []string{"memory", "gc", "--threshold", "2"}, codeUsage, "flag --threshold: want 0 to 1, got 2 (see: anchor-host memory gc --help)"},
		{"bad line", `{"x": 1}`, []string{"memory", "import", "-"}, codeInvalid, `stdin: import: line 1: `},
		{"remember nothing", "", []string{"build", "--remember", "q"}, codeUsage,
			"--remember needs a conversation (name one with --conversation) (see: anchor-host build --help)"},
		{"not a store", "", []string{"memory", "list", "--store", "not-a-store.db"}, codeFailure, "open store not-a-store.db: store is corrupt: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, _, stderr := run(t, tt.stdin, tt.args...)
			if code != tt.code || !strings.Contains("\n"+stderr, "\nanchor-host: "+tt.stderr) {
				t.Errorf("code %d, want %d; stderr:\n%s\nwant the line\nanchor-host: %s", code, tt.code, stderr, tt.stderr)
			}
		})
	}
}

// The flag counts before the input, the input before the file.
func TestAssembleBudget(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\nagent: {max_tokens: 100, max_messages: 9}\n"}))
	input := `{"messages": [{"role": "user", "content": "hi"}], "budget": {"max_tokens": 50}, "phase": "synthesize"}`
	type budget struct {
		Diagnostics struct {
			Budget struct {
				Tokens   int `json:"max_tokens"`
				Messages int `json:"max_messages"`
				Phase    string
			}
		}
	}
	for _, tt := range []struct {
		args             []string
		tokens, messages int
		phase            string
	}{
		{nil, 50, 9, "synthesize"},
		{[]string{"--max-tokens", "20", "--max-messages", "3", "--phase", "llm"}, 20, 3, "llm"},
	} {
		b := decode[budget](t, must(t, input, append([]string{"assemble", "-o", "json"}, tt.args...)...)).Diagnostics.Budget
		if b.Tokens != tt.tokens || b.Messages != tt.messages || b.Phase != tt.phase {
			t.Errorf("%v: %+v", tt.args, b)
		}
	}
}

// What is written back lasts from call to call, what is truncated is not lost.
func TestAssembleKeepsState(t *testing.T) {
	storeFolder(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\nagent: {max_tokens: 30}\n"})
	must(t, "", "frames", "push", "--run", "r", "--kind", "step_summary", "the past")
	type result struct {
		Messages []struct{ Content string }
		State    struct {
			Run          string `json:"run_id"`
			Observations []string
			Messages     []json.RawMessage
		}
	}
	for n := 1; n <= 6; n++ {
		got := decode[result](t, must(t, `[{"role": "user", "content": "one two three"}]`, "assemble", "--run", "r", "-o", "json"))
		if got.State.Run != "r" || len(got.State.Observations) != 1 || len(got.State.Messages) != n+1 || !strings.HasPrefix(got.Messages[0].Content, providers.DefaultObservationHeader) {
			t.Errorf("call %d: %+v", n, got)
		}
	}
	got := decode[result](t, must(t, "", "assemble", "--run", "r", "--phase", "synthesize", "-o", "json"))
	if len(got.State.Messages) != 7 || len(got.Messages) >= 7 {
		t.Errorf("%d messages of %d: want fewer than all, and all in the state", len(got.Messages), len(got.State.Messages))
	}
}
