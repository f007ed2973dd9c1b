package main

import (
	"strings"
	"testing"
)

// A flag for text without a value, as from a variable that is not set, is refused by every
// command, except where an empty text means something.
func TestEmptyFlagsAreRefused(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\n", "m.json": `[]`}))
	for _, flag := range []string{"pipeline", "store", "config", "plugins", "cache-dir", "items", "previous", "query-file", "request", "tenant", "format", "conversation", "only-steps"} {
		refusesEmpty(t, "build --"+flag+"= q", "--"+flag)
	}
	const set = " --corpus c --queries q --qrels r"
	for _, line := range []string{
		"eval --compare=" + set, "eval --html=" + set, "eval --mount=" + set, "eval --corpus= --queries q --qrels r", "assemble --store= m.json", "assemble --config= m.json", "assemble --plugins= m.json",
		"assemble --run= m.json", "assemble --phase= m.json", "plugin call --link= p f", "plugin bench --save= p", "doctor --plugins=", "config show --config=",
	} {
		refusesEmpty(t, line, line[strings.Index(line, "--"):strings.Index(line, "=")])
	}
	for _, line := range []string{"eval --id-cut=" + set, "plugin call --input= gone f"} {
		if _, _, stderr := run(t, "", strings.Fields(line)...); strings.Contains(stderr, "the value is empty") {
			t.Errorf("%s: %s", line, stderr)
		}
	}
}

func refusesEmpty(t *testing.T, line, flag string) {
	t.Helper()
	code, stdout, stderr := run(t, "", strings.Fields(line)...)
	if want := "flag " + flag + ": the value is empty (leave the flag out, or give it a value)"; code != codeUsage || stdout != "" || !strings.Contains(stderr, want) {
		t.Errorf("%s: code %d, %s%s, want %q", line, code, stdout, stderr, want)
	}
}

// A flag that does not take its value says what it takes.
func TestWrongNumbersOfFlags(t *testing.T) {
	for line, want := range map[string]string{
		"build --max-tokens x q":                    `flag --max-tokens: want a whole number, got "x"`,
		"build --max-tokens 99999999999999999999 q": `flag --max-tokens: want a whole number that is nearer to 0, got "99999999999999999999"`,
		"build --strict=perhaps q":                  `flag --strict: want true or false, got "perhaps"`,
		"memory add --relevance much x":             `flag --relevance: want a number such as 0.5, got "much"`,
	} {
		code, _, stderr := run(t, "", strings.Fields(line)...)
		if code != codeUsage || !strings.Contains(stderr, want) || strings.Contains(stderr, "strconv") {
			t.Errorf("%s: code %d, %s, want %q", line, code, stderr, want)
		}
	}
}

// Flags that a request states are refused in the words of the one table, and a request that
// names a pipeline of a file that was not read says how it is read.
func TestRefusalsBesideARequest(t *testing.T) {
	t.Chdir(write(t, map[string]string{
		"anchor.yaml": "counting: {tokenizer: words}\npipelines: {short: {window: {max_tokens: 9}}}\n", "r.json": `{"query": "q"}`, "p.json": `{"query": "q", "pipeline": "short"}`,
	}))
	for _, flag := range []string{"--items=r.json", "--query-file=r.json", "--max-tokens=9"} {
		name, _, _ := strings.Cut(flag, "=")
		code, _, stderr := run(t, "", "build", "--request", "r.json", flag)
		if want := name + " and --request exclude each other ("; code != codeUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: code %d, %s, want %q", flag, code, stderr, want)
		}
	}
	code, stdout, _ := run(t, "", "build", "--request", "p.json")
	if code != codeInvalid || !strings.Contains(stdout, "name the one that has it with --config") {
		t.Errorf("code %d, %s", code, stdout)
	}
	if code, stdout, _ := run(t, "", "build", "--request", "p.json", "-c", "anchor.yaml"); code != codeOK {
		t.Errorf("code %d, %s", code, stdout)
	}
}

// A window too small for its preset says which key is too small, and what is enough.
func TestWindowTooSmallForItsPreset(t *testing.T) {
	t.Chdir(t.TempDir())
	code, _, stderr := run(t, "", "build", "--set", "counting.tokenizer=words", "--set", "window.budget.preset=rag", "--max-tokens", "19", "q")
	if want := "window.max_tokens: preset rag of 19 tokens: invalid value (want 20 or more)"; code != codeInvalid || !strings.Contains(stderr, want) {
		t.Errorf("code %d, %s, want %q", code, stderr, want)
	}
	if code, _, stderr := run(t, "", "build", "--set", "counting.tokenizer=words", "--set", "window.budget.preset=rag", "--max-tokens", "20", "q"); code != codeOK {
		t.Errorf("20: code %d, %s", code, stderr)
	}
}

// What contradicts itself in the input of assemble is refused.
func TestContradictionsInAssembleInput(t *testing.T) {
	t.Chdir(t.TempDir())
	for input, want := range map[string]string{
		`{"messages": [], "phase": "llm", "budget": {"phase": "synthesize"}}`: `phase: "llm" contradicts budget.phase, which is "synthesize" (keep one)`,
		`{"messages": [], "state": {"run_id": "other"}}`:                      `the state is that of run "other", not of run "r"`,
	} {
		code, _, stderr := run(t, input, "assemble", "--store", "s.db", "--run", "r")
		if code != codeInvalid || !strings.Contains(stderr, want) {
			t.Errorf("%s: code %d, %s, want %q", input, code, stderr, want)
		}
	}
	if code, _, stderr := run(t, `{"messages": [], "phase": "llm", "budget": {"phase": "llm"}, "state": {"run_id": "r"}}`, "assemble", "--store", "s.db", "--run", "r"); code != codeOK {
		t.Errorf("code %d, %s", code, stderr)
	}
}

// An init that exceeds a limit ends with the code that a call has that exceeds it.
func TestCodeOfALimitDuringInit(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"memory": "plugins: {instances: {i: {plugin: index, limits: {memory: 16MiB}}}}\n", "fuel": "plugins: {instances: {i: {plugin: init-spins, limits: {fuel: 1000000}}}}\n",
		"time": "plugins: {instances: {i: {plugin: init-spins, limits: {init_timeout: 100ms}}}}\n",
	} {
		dir := write(t, map[string]string{"anchor.yaml": text + "counting: {tokenizer: words}\nsteps: [{name: s, use: i, must: true}]\n"})
		code, _, stderr := run(t, "", "build", "-c", dir+"/anchor.yaml", "--plugins", fixtureDir, "--cache-dir", "off", "q")
		if code != codeLimit || !strings.Contains(stderr, "init_failed") {
			t.Errorf("%s: code %d, %s", name, code, stderr)
		}
	}
	dir := write(t, map[string]string{"anchor.yaml": "plugins: {instances: {i: {plugin: init-fails}}}\ncounting: {tokenizer: words}\nsteps: [{name: s, use: i, must: true}]\n"})
	if code, _, stderr := run(t, "", "build", "-c", dir+"/anchor.yaml", "--plugins", fixtureDir, "--cache-dir", "off", "q"); code != codeFailure {
		t.Errorf("a trap: code %d, %s", code, stderr)
	}
}
