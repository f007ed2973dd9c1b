package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cluster"
)

// The life of a rollout on the command line: what is broken is refused before anything is written, the first
// version is for all, a second one can be paused, moved on and aborted, and nothing that is over can be changed.
func TestRolloutCommands(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	file := func(name, text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return at(name)
	}
	const text = "counting: {tokenizer: words}\nstore: {path: s.db}\nserver: {follow: true}\n"
	own := file("anchor.yaml", text)
	rollout := func(code int, args ...string) (stdout, stderr string) {
		t.Helper()
		got, stdout, stderr := run(t, "", append([]string{"rollout", args[0], "--config", own}, args[1:]...)...)
		if got != code {
			t.Errorf("%v: code %d, want %d\n%s%s", args, got, code, stdout, stderr)
		}
		return stdout, stderr
	}
	if out, _ := rollout(0, "status"); !strings.Contains(out, "there was no rollout yet") {
		t.Error(out)
	}
	rollout(6, "abort")
	if err := os.CopyFS(at("locked/plugins"), os.DirFS("../../testdata/wasm/keep-first")); err != nil {
		t.Fatal(err)
	}
	for broken, want := range map[string]string{
		"counting: {tokenizr: words}\n":                                            "tokenizr",
		"steps: [{name: s, use: none, must: true}]\n":                              "none",
		"models: {m: {api: openai, model: x, key: '${env:NO_SUCH_VARIABLE_X}'}}\n": "NO_SUCH_VARIABLE_X",
	} {
		if _, stderr := rollout(3, "start", file("broken/anchor.yaml", broken)); !strings.Contains(stderr, want) {
			t.Errorf("%s: %s", broken, stderr)
		}
	}
	file("unlocked/anchor.yaml", text+"steps: [{name: s, use: keep-first, operation: filter}]\n")
	if err := os.CopyFS(at("unlocked/plugins/keep-first"), os.DirFS("../../testdata/wasm/keep-first")); err != nil {
		t.Fatal(err)
	}
	if _, stderr := rollout(3, "start", at("unlocked/anchor.yaml")); !strings.Contains(stderr, "plugin approve keep-first") {
		t.Error(stderr)
	}
	if out, _ := rollout(0, "status"); !strings.Contains(out, "there was no rollout yet") {
		t.Error("something was written: " + out)
	}
	if out, _ := rollout(0, "start", own); !strings.Contains(out, "generation 1: version") {
		t.Error(out)
	}
	must(t, "", "plugin", "approve", "--yes", "keep-first", "--config", at("unlocked/anchor.yaml"))
	rollout(0, "start", at("unlocked/anchor.yaml"), "--steps", "5,100", "--reason", "a filter")
	if _, stderr := rollout(1, "start", at("unlocked/anchor.yaml")); !strings.Contains(stderr, "rollout abort") {
		t.Error(stderr)
	}
	rollout(1, "resume")
	rollout(0, "pause", "--reason", "lunch")
	rollout(0, "resume", "--next")
	out, _ := rollout(0, "status", "-o", "json")
	var st cluster.Status
	if err := json.Unmarshal([]byte(out), &st); err != nil || st.Share != 5 || st.Desired.Generation != 4 || st.Candidate == "" || st.Leader != "" || len(st.Hosts) != 0 || st.Waits == "" {
		t.Errorf("%v %s", err, out)
	}
	if out, _ := rollout(0, "status"); !strings.Contains(out, "5 % of the conversations") || !strings.Contains(out, "waits for a host that leads") {
		t.Error(out)
	}
	rollout(0, "abort")
	if _, stderr := rollout(1, "abort"); !strings.Contains(stderr, "settled") {
		t.Error(stderr)
	}
	rollout(2, "start")

	// The keys of a file that follows are in the store.
	id := strings.Split(must(t, "", "keys", "add", "--config", own, "--tenant", "acme", "--scopes", "build"), "_")[1]
	must(t, "", "keys", "revoke", "--config", own, id)
	if list := must(t, "", "keys", "list", "--config", own); !strings.Contains(list, id) || !strings.Contains(list, "revoked") {
		t.Error(list)
	}
	if code, _, stderr := run(t, "", "keys", "add", "--config", own, "--tenant", "#cluster", "--scopes", "build"); code != 3 || !strings.Contains(stderr, "reserved") {
		t.Errorf("code %d: %s", code, stderr)
	}
}
