//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// machine is a folder that a process sees as its computer: it has a home, a cache and a temporary
// folder of its own, another time zone, and no network.
type machine struct {
	t    *testing.T
	home string
	env  []string
}

func newMachine(t *testing.T, env ...string) *machine {
	m := &machine{t: t, home: t.TempDir()}
	tmp := filepath.Join(m.home, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	m.env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.home, "TMPDIR=" + tmp, "HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1"}, env...)
	return m
}

// run runs a command in the home of the machine.
func (m *machine) run(args ...string) (code int, stdout, stderr string) {
	m.t.Helper()
	var errors strings.Builder
	cmd := exec.CommandContext(m.t.Context(), testbuild.Command(m.t), args...)
	cmd.Dir, cmd.Env, cmd.Stderr = m.home, m.env, &errors
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		m.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out), errors.String()
}

// put copies a file or a folder to a path on the machine.
func (m *machine) put(from, path string) {
	m.t.Helper()
	to := filepath.Join(m.home, path)
	info, err := os.Stat(from)
	if err != nil {
		m.t.Fatal(err)
	}
	if info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else {
		var data []byte
		if data, err = os.ReadFile(from); err == nil {
			m.write(path, string(data))
		}
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) write(path, text string) {
	m.t.Helper()
	to := filepath.Join(m.home, path)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// replayed is a configuration with plugins in Go, Zig and WebAssembly text, a conversation and facts.
const replayed = `counting: {tokenizer: words}
window: {max_tokens: 200}
store: {path: agent.db}
memory: {conversation: {id: chat}, facts: {}}
format: {use: all}
plugins:
  instances:
    all:
      plugin: allops
      settings: {greeting: hi}
      grants:
        files: [{host: docs, guest: /docs, mode: ro}]
        services: [count_tokens]
enricher: {use: all}
callbacks: [{use: all}]
steps:
  - {name: more, use: all, operation: retrieve, priority: 10, top_k: 5}
  - {name: files, use: all, operation: retrieve, priority: 20, settings: {mode: file, path: /docs/a.txt}}
  - {name: best, use: keep-best, priority: 30}
  - {name: first, use: keep-first, operation: filter, priority: 40}
`

// A recording is the same byte for byte on another machine: with another home, time zone,
// environment, path of the plugins, and without the store. If a plugin is another one, it is named
// with what to do, and then the first step that differs.
func TestReplayOnAnotherMachine(t *testing.T) {
	t.Parallel()
	compiled := []string{"XDG_CONFIG_HOME=" + os.Getenv("XDG_CONFIG_HOME"), "ANCHOR_HOST_PLUGINS_CACHE_DIR=" + testbuild.CacheDir(t)}
	here := newMachine(t, append(compiled, "TZ=America/New_York", "LANG=de_DE.UTF-8", "ANCHOR_HOST_WINDOW_MAX_TOKENS=150")...)
	here.write("anchor.yaml", replayed)
	here.write("docs/a.txt", "text of a")
	here.put(testbuild.Guest(t, "testdata/guests/allops"), "plugins/allops")
	here.put("../../plugins/starter/keep-best", "plugins/keep-best")
	here.put(filepath.Join(fixtureDir, "keep-first"), "plugins/keep-first")
	for _, args := range [][]string{
		{"memory", "add", "trains leave at nine", "--config", "anchor.yaml"},
		{"build", "--record", "rec", "--remember", "--explain", "-o", "json", "when do trains leave"},
		{"build", "--record", "rec2", "--max-tokens", "120", "-o", "json", "when do trains leave"}, // with a turn
	} {
		if code, stdout, stderr := here.run(args...); code != codeOK || strings.Contains(stderr, "skipped") {
			t.Fatalf("%q: code %d: %s%s", args, code, stdout, stderr)
		}
	}
	there := newMachine(t, "TZ=Pacific/Auckland", "LC_ALL=C", "ANCHOR_HOST_TELEMETRY_LOG_LEVEL=debug", "GOMAXPROCS=1")
	if os.Getenv("ANCHOR_THOROUGH") == "" { // else it compiles the plugins again
		there.env = append(there.env, compiled...)
	}
	for path, from := range map[string]string{"site.yaml": "anchor.yaml", "docs": "docs", "opt/wasm": "plugins", "in/rec": "rec", "in/rec2": "rec2"} {
		there.put(filepath.Join(here.home, from), path)
	}
	replay := func(want int, more ...string) string {
		t.Helper()
		code, stdout, stderr := there.run(append([]string{"replay", "--config", "site.yaml"}, more...)...)
		if code != want {
			t.Errorf("%q: code %d, want %d: %s%s", more, code, want, stdout, stderr)
		}
		return stdout
	}
	for _, rec := range []string{"in/rec", "in/rec2"} {
		if got := replay(codeOK, "--plugins", "opt/wasm", rec); !strings.HasPrefix(got, "the same, byte for byte\n") {
			t.Errorf("%s: %s", rec, got)
		}
	}
	if _, err := os.Stat(filepath.Join(there.home, "agent.db")); err == nil {
		t.Error("a replay made a store")
	}
	// The build of a request without a configuration, replayed beside one.
	here.write("request.json", `{"query": "q", "counting": {"tokenizer": "words"}, "conversation": [{"role": "user", "content": "hi"}], "items": [{"content": "a", "source": "tool"}]}`)
	if code, _, stderr := here.run("build", "--request", "request.json", "--record", "rec3"); code != codeOK {
		t.Fatal(stderr)
	}
	there.put(filepath.Join(here.home, "rec3"), "in/rec3")
	there.put(filepath.Join(there.home, "site.yaml"), "anchor.yaml")
	if code, stdout, stderr := there.run("replay", "in/rec3"); code != codeOK {
		t.Errorf("a request without a configuration: code %d: %s%s", code, stdout, stderr)
	}
	const remedy = "(give the folder that has the recorded module with --plugins)"
	// The same plugin with another digest: it is named although the result is the same.
	module, err := os.ReadFile(filepath.Join(there.home, "opt/wasm/keep-first/plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	there.put(filepath.Join(here.home, "plugins"), "opt/newer")
	there.write("opt/newer/keep-first/plugin.wasm", string(module)+"\x00\x02\x01x") // a custom section
	got := replay(codeFailure, "--plugins", "opt/newer", "in/rec2")
	if !strings.HasPrefix(got, `plugin "keep-first": its module is sha256:`) || strings.Count(got, "\n") != 1+strings.Count(got, "note: ") || !strings.Contains(got, remedy) {
		t.Errorf("another digest: %s", got)
	}
	// A plugin that answers otherwise: its step is named.
	there.put(filepath.Join(here.home, "plugins"), "opt/other")
	there.put(filepath.Join(fixtureDir, "no-change", "plugin.wasm"), "opt/other/keep-first/plugin.wasm")
	got = replay(codeFailure, "--plugins", "opt/other", "in/rec2")
	if lines := strings.Split(got, "\n"); len(lines) < 3 || !strings.HasPrefix(lines[0], `plugin "keep-first": `) || !strings.HasPrefix(lines[1], `step "first": the list has `) || !strings.HasPrefix(lines[2], `result "`) {
		t.Errorf("another answer: %s", got)
	}
	// A plugin that is not there.
	there.put(filepath.Join(here.home, "plugins"), "opt/less")
	if err := os.RemoveAll(filepath.Join(there.home, "opt/less/keep-first")); err != nil {
		t.Fatal(err)
	}
	got = replay(codeFailure, "--plugins", "opt/less", "in/rec2")
	if !strings.HasPrefix(got, `plugin "keep-first": it was not loaded`) || !strings.Contains(got, remedy) || !strings.Contains(got, `step "first": its error is `) {
		t.Errorf("no plugin: %s", got)
	}
}
