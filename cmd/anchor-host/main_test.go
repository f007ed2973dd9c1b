package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// patience is how long a test waits for what must happen at once, on a machine that is busy.
const patience = 5 * time.Minute

// run runs a command line with an empty environment of settings.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runContext(t.Context(), stdin, args...)
}

func runContext(ctx context.Context, stdin string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = doMain(ctx, args, strings.NewReader(stdin), &out, &err)
	return code, out.String(), err.String()
}

// write writes files into a new folder and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestExitCodes(t *testing.T) {
	t.Chdir(write(t, map[string]string{
		"good.yaml":   "steps: [{name: best, use: top_k}]",
		"typo.yaml":   "timeot: 1s",
		"budget.yaml": "window: {max_tokens: 10, answer: 10}",
		"gone.yaml":   "steps: [{name: x, use: gone, operation: filter}]",
		"must.yaml":   "steps: [{name: x, use: gone, operation: filter, must: true}]",
		"need.yaml":   "plugins: {instances: {i: {plugin: gone, must: true}}}",
		"slow.yaml":   "timeout: 1ns",
		"notwasm.bin": "nothing of the kind",
		"a/bad.wasm":  "nothing of the kind",
		"plugins/x":   "",
	}))
	tests := []struct {
		name   string
		args   []string
		code   int
		stderr string
	}{
		{"ok", []string{"build", "-c", "good.yaml", "q"}, codeOK, ""},
		{"unknown command", []string{"biuld"}, codeUsage, `anchor-host: unknown command "biuld" (did you mean "build"?) (see: anchor-host --help)`},
		{"unknown sub-command", []string{"plugin", "lst"}, codeUsage, `anchor-host: unknown command "lst" (did you mean "list"?) (see: anchor-host plugin --help)`},
		{"unknown document", []string{"plugin", "schema", "Change"}, codeUsage,
			`anchor-host: document "Change": there is no schema (did you mean "Changes"?) (see: anchor-host plugin schema --help)`},
		{"document", []string{"plugin", "schema", "Changes"}, codeOK, ""},
		{"unknown flag", []string{"build", "--nope"}, codeUsage, `anchor-host: unknown flag: --nope (see: anchor-host build --help)`},
		{"no query", []string{"build", "-c", "good.yaml"}, codeUsage,
			`anchor-host: no query (give one as argument, with --query-file, or "-" for stdin) (see: anchor-host build --help)`},
		{"bad output format", []string{"build", "-o", "xml", "q"}, codeUsage,
			`anchor-host: flag --output: want one of text, json, got "xml" (see: anchor-host build --help)`},
		{"bad flag value", []string{"build", "--set", "window.budget.preset=raag", "q"}, codeUsage,
			`anchor-host: flag --set: window.budget.preset: unknown value "raag" (did you mean "rag"?) (see: anchor-host build --help)`},
		{"typo in the configuration", []string{"build", "-c", "typo.yaml", "q"}, codeInvalid,
			`anchor-host: typo.yaml:1:1: timeot: unknown key (did you mean "timeout"?)`},
		{"no room left", []string{"build", "-c", "budget.yaml", "q"}, codeInvalid,
			`anchor-host: invalid: window.answer: 10 tokens leave nothing of the 10 of window.max_tokens: budget exceeded (lower it, or raise window.max_tokens)`},
		{"no configuration", []string{"build", "-c", "none.yaml", "q"}, codeNotFound,
			`anchor-host: read configuration: open none.yaml: no such file or directory (write one with: anchor-host init)`},
		{"missing plugin, skip", []string{"build", "-c", "gone.yaml", "--max-tokens", "5", "q"}, codeOK,
			`anchor-host: step "x": plugin "gone": filter: not_found: plugins/gone/plugin.wasm: file does not exist (build or copy the plugin there, or remove the step) (skipped)`},
		{"missing plugin, strict", []string{"build", "-c", "gone.yaml", "--strict", "q"}, codeDegraded,
			`anchor-host: degraded: skipped: x (--strict)`},
		{"missing plugin, raise", []string{"build", "-c", "must.yaml", "q"}, codeNotFound,
			`anchor-host: step "x": plugin "gone": filter: not_found: plugins/gone/plugin.wasm: file does not exist (build or copy the plugin there, or remove the step)`},
		{"missing plugin, required", []string{"build", "-c", "need.yaml", "q"}, codeNotFound,
			`anchor-host: plugins.instances.i: plugin "i": not_found: plugins/gone/plugin.wasm: file does not exist (build or copy the plugin there, or remove the step)`},
		{"deadline", []string{"build", "-c", "slow.yaml", "q"}, codeLimit, `anchor-host: query: context deadline exceeded (all of it may take 1ns: raise timeout)`},
		{"inspect what is not there", []string{"plugin", "inspect", "x"}, codeNotFound, `anchor-host: plugin "x" in plugins: file does not exist (build or copy it there, or give the path of a module, such as ./plugin.wasm)`},
		{"validate a missing plugin", []string{"config", "validate", "-c", "gone.yaml"}, codeOK,
			`anchor-host: warning: gone.yaml:1:9: steps[0]: plugin "gone": not_found: plugins/gone/plugin.wasm: file does not exist (build or copy the plugin there, or remove the step); it is skipped (add must: true to refuse a start without it)`},
		{"validate a missing plugin that must answer", []string{"config", "validate", "-c", "must.yaml"}, codeInvalid,
			`anchor-host: must.yaml:1:9: steps[0]: plugin "gone": not_found: plugins/gone/plugin.wasm: file does not exist (build or copy the plugin there, or remove the step)`},
		{"schema takes no argument", []string{"config", "schema", "x"}, codeUsage, `anchor-host: unknown command "x" for "anchor-host config schema" (see: anchor-host config schema --help)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, stderr := run(t, "", tt.args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d; stderr:\n%s", code, tt.code, stderr)
			}
			if !strings.Contains("\n"+stderr, "\n"+tt.stderr) {
				t.Errorf("stderr:\n%s\nwant the line\n%s", stderr, tt.stderr)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Chdir(t.TempDir())
	code, stdout, stderr := runContext(ctx, "", "build", "q")
	if code != codeInterrupted || stdout != "" || stderr != "anchor-host: interrupted\n" {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// init writes a set-up that finds something, and writes over nothing unless it is asked to.
func TestInit(t *testing.T) {
	t.Chdir(t.TempDir())
	code, stdout, stderr := run(t, "", "init", "here")
	if code != codeOK || !strings.Contains(stderr, "files written; next:\n  cd here\n  anchor-host build \""+sampleQuestion) {
		t.Fatalf("init: %d, %s", code, stderr)
	}
	for path := range strings.Lines(stdout) {
		if _, err := os.Stat(strings.TrimSpace(path)); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{"anchor.yaml", "plugins/keep-best/README.md"} {
		if err := os.Remove(filepath.Join("here", path)); err != nil {
			t.Fatal(err)
		}
	}
	code, _, stderr = run(t, "", "init", "here")
	for _, want := range []string{"anchor-host: here/plugins/README.md, here/sample-docs/diagnosis.md, ", ", here/plugins/keep-best/plugin.yaml: file already exists (overwrite with --force, or name another folder)\n"} {
		if code != codeFailure || !strings.Contains(stderr, want) {
			t.Errorf("second init: %d, %q, want %q", code, stderr, want)
		}
	}
	if _, err := os.Stat("here/anchor.yaml"); err == nil {
		t.Error("an init that failed has written anchor.yaml")
	}
	if code, _, stderr := run(t, "", "init", "--force", "here"); code != codeOK {
		t.Errorf("init --force: %d, %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "config", "validate", "-c", "here/anchor.yaml"); code != codeOK || stderr != "" {
		t.Errorf("validate: %d, %s", code, stderr)
	}
	code, stdout, stderr = run(t, "", "build", "--strict", "-c", "here/anchor.yaml", sampleQuestion)
	if want := "=== CONTEXT ===\nLimits of plugins > Limit a plugin's memory\n\nGive the plugin an entry"; code != codeOK || !strings.Contains(stdout, want) {
		t.Errorf("build: %d, %q, %s", code, stdout, stderr)
	}
}

// Each sample document is the best answer to a question.
func TestSampleDocuments(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, _, stderr := run(t, "", "init"); code != codeOK {
		t.Fatalf("init: %d, %s", code, stderr)
	}
	for question, want := range map[string]string{
		sampleQuestion:                          "Limits of plugins > Limit a plugin's memory",
		"Which files and folders are searched?": "Search your own documents > Choose the documents to search",
		"Which exit codes are there?":           "Find out what happened in a build > Exit codes",
		"Why is an item not in the window?":     "Find out what happened in a build > Why is an item in the window or not?",
		"How do I back up the store?":           "Conversations and facts > Back up the store",
		"May a plugin call a server?":           "Permissions of plugins > Let a plugin call a server",
		"How are tokens counted?":               "Tokens and the size of the window > How tokens are counted",
		"What happens when a step fails?":       "Steps and pipelines > What happens when a step fails",
		"Can one file hold several pipelines?":  "Steps and pipelines > Several pipelines in one file",
		"How do I write a plugin?":              "Write and install plugins > Write a plugin",
	} {
		code, stdout, stderr := run(t, "", "build", question)
		if _, context, _ := strings.Cut(stdout, "=== CONTEXT ===\n"); code != codeOK || !strings.HasPrefix(context, want+"\n") {
			t.Errorf("%s: %d, %.80q, want %q; %s", question, code, context, want, stderr)
		}
	}
}

func TestInitMinimal(t *testing.T) {
	t.Chdir(t.TempDir())
	code, stdout, stderr := run(t, "", "init", "--minimal")
	if code != codeOK || stdout != "anchor.yaml\nplugins/README.md\n" {
		t.Fatalf("init: %d, %q, %s", code, stdout, stderr)
	}
	if code, _, stderr := run(t, "", "config", "validate"); code != codeOK || stderr != "" {
		t.Errorf("validate: %d, %s", code, stderr)
	}
	code, stdout, stderr = run(t, "", "build", "hello")
	if want := "=== SYSTEM ===\nAnswer from the context, and say when it does not hold the answer.\n\n=== QUESTION ===\nhello\n"; code != codeOK || stdout != want {
		t.Errorf("build: %d, %q, %s", code, stdout, stderr)
	}
	if !strings.HasPrefix(stderr, "anchor-host: 16 of 3400 tokens (0 %); items: 1 in, 0 left out; ") {
		t.Errorf("summary: %q", stderr)
	}
}

func TestPrecedence(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "window: {max_tokens: 100}\n"}))
	effective := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := run(t, "", append([]string{"config", "show", "--origin", "-o", "json"}, args...)...)
		if code != codeOK {
			t.Fatalf("%d: %s", code, stderr)
		}
		var settings []struct {
			Path, Origin string
			Value        any
		}
		if err := json.Unmarshal([]byte(stdout), &settings); err != nil {
			t.Fatal(err)
		}
		for _, s := range settings {
			if s.Path == "window.max_tokens" {
				return fmt.Sprint(s.Value) + " from " + s.Origin
			}
		}
		return "nothing"
	}
	if got, want := effective(), "100 from anchor.yaml:1"; got != want {
		t.Errorf("file: %s, want %s", got, want)
	}
	t.Setenv("ANCHOR_HOST_WINDOW_MAX_TOKENS", "200")
	if got, want := effective(), "200 from environment ANCHOR_HOST_WINDOW_MAX_TOKENS"; got != want {
		t.Errorf("environment: %s, want %s", got, want)
	}
	if got, want := effective("--max-tokens", "300"), "300 from flag --max-tokens"; got != want {
		t.Errorf("flag: %s, want %s", got, want)
	}
	if err := os.Remove("anchor.yaml"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ANCHOR_HOST_WINDOW_MAX_TOKENS", "")
	if got, want := effective(), "8192 from default"; got != want {
		t.Errorf("default: %s, want %s", got, want)
	}
	t.Setenv("ANCHOR_HOST_WINDOW_MAX_TOKENS", "many")
	code, _, stderr := run(t, "", "config", "show")
	want := "anchor-host: invalid: environment ANCHOR_HOST_WINDOW_MAX_TOKENS: want a whole number, got the string \"many\"\n"
	if code != codeInvalid || stderr != want {
		t.Errorf("%d, %q, want %q", code, stderr, want)
	}
}

// Listings for programs have the types of the values.
func TestConfigShowTypes(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": `
window: {max_tokens: 100}
timeout: 2s
format_options: {caching: true}
memory: {facts: {min_score: 0.5, tags: [a, "7"]}}
steps: [{name: "8", use: sort, settings: {by: score}, priority: 3}]
`}))
	for format, want := range map[string][]string{
		"json": {`"value": 100`, `"value": "2s"`, `"value": true`, `"value": 0.5`, `"value": "8"`, `"value": 3`, `"value": "score"`,
			"\"value\": [\n      \"a\",\n      \"7\"\n    ]"},
		"yaml":  {"value: 100\n", "value: 2s\n", "value: true\n", "value: 0.5\n", "value: \"8\"\n", "    - \"7\"\n"},
		"table": {"facts.tags ", " a, 7\n"},
	} {
		code, stdout, stderr := run(t, "", "config", "show", "-o", format)
		if code != codeOK {
			t.Fatalf("%d: %s", code, stderr)
		}
		for _, line := range want {
			if !strings.Contains(stdout, line) {
				t.Errorf("%s lacks %q:\n%s", format, line, stdout)
			}
		}
	}
}

// Every command explains itself in at most ten lines, with an example; docs has the rest.
func TestHelp(t *testing.T) {
	t.Parallel()
	for todo := []*cobra.Command{newApp(t.Context(), nil, nil, nil).rootCommand()}; len(todo) > 0; todo = todo[1:] {
		cmd := todo[0]
		if cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s: no long help or no example", cmd.CommandPath())
		}
		if n := strings.Count(cmd.Long, "\n") + 1; n > 10 {
			t.Errorf("%s: its help has %d lines, want at most 10", cmd.CommandPath(), n)
		}
		todo = append(todo, cmd.Commands()...)
	}
	code, stdout, _ := run(t, "", "--help")
	if code != codeOK || !strings.Contains(stdout, "Exit codes: 0 ok, 1 failure, 2 wrong usage, 3 invalid") {
		t.Errorf("root help (%d) lacks the exit codes:\n%s", code, stdout)
	}
	for _, args := range [][]string{{"build", "--help"}, {"config"}, {"plugin"}, {"completion", "bash"}} {
		if code, stdout, stderr := run(t, "", args...); code != codeOK || stdout == "" || stderr != "" {
			t.Errorf("%v: %d, stderr %q", args, code, stderr)
		}
	}
}

// Every command refuses a form of the output that it does not have, before it does anything.
func TestUnknownFormsOfTheOutput(t *testing.T) {
	found := 0
	for todo := newApp(t.Context(), nil, nil, nil).rootCommand().Commands(); len(todo) > 0; todo = todo[1:] {
		cmd := todo[0]
		todo = append(todo, cmd.Commands()...)
		files := []string{"anchor-host plugin build"} // there -o names a file
		if cmd.Flags().ShorthandLookup("o") == nil || slices.Contains(files, cmd.CommandPath()) {
			continue
		}
		found++
		if err := cmd.Flags().Set("output", "no such form"); err != nil {
			t.Fatal(err)
		}
		if err := cmd.RunE(cmd, nil); err == nil || !strings.Contains(err.Error(), "flag --output: want one of ") {
			t.Errorf("%s: error %v", cmd.CommandPath(), err)
		}
	}
	if found < 40 {
		t.Errorf("%d commands have forms of the output", found)
	}
	store := filepath.Join(t.TempDir(), "s.db")
	code, _, stderr := run(t, "", "memory", "add", "--store", store, "-o", "xml", "a fact")
	if _, err := os.Stat(store); code != codeUsage || !strings.Contains(stderr, `flag --output: want one of table, json, yaml, got "xml"`) || err == nil {
		t.Errorf("code %d, %s%v", code, stderr, err)
	}
}

// Ctrl-C stops a guest that would run for long, and nothing is printed.
func TestInterruptedInAGuest(t *testing.T) {
	fixtures, err := filepath.Abs(fixtureDir)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(write(t, map[string]string{"anchor.yaml": `
counting: {tokenizer: words}
window: {system_prompts: [{content: hi}]}
plugins: {instances: {s: {plugin: spin-forever, limits: {timeout: 10m}}}}
steps: [{name: spin, use: s}]
`}))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // stands for the user's patience
	defer cancel()
	code, stdout, stderr := runContext(ctx, "", "build", "--plugins", fixtures, "--cache-dir", "off", "q")
	if code != codeInterrupted || stdout != "" || !strings.HasSuffix(stderr, "anchor-host: interrupted\n") {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// The help of every command, in full.
func TestHelpGolden(t *testing.T) {
	t.Parallel()
	const golden = "testdata/help.golden"
	var b strings.Builder
	for _, command := range []string{
		"", "init", "build", "assemble",
		"memory", "memory add", "memory list", "memory search", "memory forget", "memory export", "memory import", "memory gc",
		"frames", "frames push", "frames list", "frames window", "plugin", "plugin list", "plugin inspect", "plugin call",
		"config", "config validate", "config show", "config schema", "doctor", "version",
	} {
		code, stdout, stderr := run(t, "", append(strings.Fields(command), "--help")...)
		if code != codeOK || stderr != "" {
			t.Errorf("%s: code %d, %s", command, code, stderr)
		}
		b.WriteString("$ anchor-host " + strings.TrimSpace(command+" --help") + "\n" + stdout + "\n")
	}
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("help differs from %s (if it is right: go test -update):\n%s", golden, b.String())
	}
}

// A value of a flag that does not fit the others is a wrong command line. A variable that is no setting is not
// ignored in silence.
func TestOverridesThatHaveNoEffect(t *testing.T) {
	t.Chdir(t.TempDir())
	for args, want := range map[string]int{
		"build --set counting.calibration=x q": codeUsage, "build --set window.fit=odd q": codeUsage, "config show": codeOK,
	} {
		if code, _, stderr := run(t, "", strings.Fields(args)...); code != want {
			t.Errorf("%s: code %d, want %d: %s", args, code, want, stderr)
		}
	}
	t.Setenv("ANCHOR_HOST_SERVER_LISTEN", "127.0.0.1:7000")
	t.Setenv("ANCHOR_HOST_SERVER_LISTN", "127.0.0.1:7001")
	code, stdout, stderr := run(t, "", "config", "show", "--origin")
	if code != codeOK || strings.Count(stderr, "warning: ANCHOR_HOST_SERVER_LISTN is no setting (did you mean ANCHOR_HOST_SERVER_LISTEN?)") != 1 || strings.Contains(stdout, "7001") ||
		!strings.Contains(stdout, "environment ANCHOR_HOST_SERVER_LISTEN") {
		t.Errorf("code %d, %s\n%s", code, stderr, stdout)
	}
}
