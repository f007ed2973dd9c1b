package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// limited runs the command in a folder with a bound on its address space in KiB, and returns its exit
// code and what it wrote to stderr.
func limited(t *testing.T, dir string, kib int, args ...string) (code int, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", fmt.Sprintf(`ulimit -v %d && exec "$0" "$@"`, kib), testbuild.Command(t)}, args...)...)
	var b bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &b
	_ = cmd.Run() // the state says how it ended
	return cmd.ProcessState.ExitCode(), b.String()
}

// With few addresses a command that runs plugins either works or says in one line what it
// needs. It never ends as the Go runtime ends it.
func TestFewAddresses(t *testing.T) {
	t.Parallel()
	fixtures, err := filepath.Abs(fixtureDir)
	if err != nil {
		t.Fatal(err)
	}
	dir := write(t, map[string]string{"anchor.yaml": everyPart, "docs/a.txt": "text of a"})
	commands := map[string][]string{
		"call":  {"plugin", "call", filepath.Join(fixtures, "foreign", "plugin.wasm"), "echo", "--input", "hello"},
		"build": append([]string{"build", "q"}, allopsFlags(t)...),
		"greedy": {"plugin", "call", filepath.Join(fixtures, "memory-hog", "plugin.wasm"), "anchor_filter", "--cache-dir", "off",
			"--memory-max", "4GiB", "--timeout", "10m"},
	}
	const least = 2 << 20
	sizes, times := []int{1000_000, 1800_000, least}, 1
	if os.Getenv("ANCHOR_THOROUGH") != "" {
		sizes, times = []int{1000_000, 1100_000, 1200_000, 1400_000, 1800_000, least, 2200_000, 3000_000}, 2
	}
	for _, kib := range sizes {
		// What runs no plugin needs no more than Go does, which takes from 1.15 to 1.3 GB so
		// much for itself that it gets nowhere.
		if code, stderr := limited(t, dir, kib, "version"); code != codeOK && kib >= 1150_000 && kib <= 1300_000 {
			t.Logf("with %d KiB no Go program starts: %.80q", kib, stderr)
			continue
		} else if code != codeOK {
			t.Errorf("version with %d KiB: code %d\n%.300s", kib, code, stderr)
		}
		for name, args := range commands {
			for range times {
				code, stderr := limited(t, dir, kib, args...)
				refused := code == codeLimit && strings.Count(stderr, "\n") == 1 && strings.Contains(stderr, "at least 2GiB are needed: raise ulimit -v")
				worked := code == codeOK || name == "greedy" && code == codeLimit && strings.Contains(stderr, "memory")
				if kib < least && !refused || kib >= least && !worked {
					t.Errorf("%s with %d KiB: code %d\n%.600s", name, kib, code, stderr)
				}
			}
		}
	}
}
