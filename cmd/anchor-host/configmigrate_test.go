package main

import (
	"os"
	"strings"
	"testing"
)

// The command prints the new file, writes it where it is told, and names what it cannot keep.
func TestConfigMigrate(t *testing.T) {
	const former, now = "# Mine\nmax_tokens: 60 # small\nagent: {phase: llm, plan: true}\nnothing: 1\n", "# Mine\nwindow:\n  max_tokens: 60 # small\nagent: {plan: true}\nnothing: 1\n"
	t.Chdir(write(t, map[string]string{"anchor.yaml": former}))
	if err := os.Chmod("anchor.yaml", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"config", "migrate"}, {"config", "migrate", "anchor.yaml", "--to", "new.yaml"}, {"config", "migrate", "--write"}} {
		code, stdout, stderr := run(t, "", args...)
		if code != codeOK || !strings.Contains(stderr, "note: agent.phase was removed, and is left out") || !strings.Contains(stderr, "anchor.yaml:5:1: nothing: unknown key") {
			t.Errorf("%q: code %d: %s", args, code, stderr)
		}
		if want := map[bool]string{true: now}[len(args) == 2]; stdout != want {
			t.Errorf("%q: %q, want %q", args, stdout, want)
		}
	}
	for _, name := range []string{"new.yaml", "anchor.yaml"} {
		if data, err := os.ReadFile(name); err != nil || string(data) != now {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if info, err := os.Stat("anchor.yaml"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if code, stdout, _ := run(t, former, "config", "migrate", "-"); code != codeOK || stdout != now {
		t.Errorf("stdin: code %d, %q", code, stdout)
	}
	if list, err := os.ReadDir("."); err != nil || len(list) != 2 {
		t.Errorf("files stay: %v, %v", list, err)
	}
	for want, args := range map[string][]string{
		"--write needs a file":      {"config", "migrate", "-", "--write"},
		"no such file or directory": {"config", "migrate", "none.yaml"},
	} {
		if code, _, stderr := run(t, former, args...); code == codeOK || !strings.Contains(stderr, want) {
			t.Errorf("%q: code %d: %s", args, code, stderr)
		}
	}
}
