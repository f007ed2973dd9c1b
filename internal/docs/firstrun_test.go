package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The two commands of the first run find something on a machine that has nothing but the
// command: no Go, no home folder, no cache.
func TestFirstRun(t *testing.T) {
	if testing.Short() {
		t.Skip("short: builds the command")
	}
	bin, site := t.TempDir(), t.TempDir()
	command := filepath.Join(bin, "anchor-host")
	if runtime.GOOS == "windows" {
		command += ".exe"
	}
	build := exec.Command("go", "build", "-o", command, "./cmd/anchor-host")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	began := time.Now()
	var out []byte
	for _, args := range [][]string{{"init"}, {"build", "How do I limit a plugin's memory?"}} {
		cmd := exec.Command(command, args...)
		cmd.Dir = site
		cmd.Env = []string{"PATH=" + bin}
		var err error
		if out, err = cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	t.Logf("from init to the answer: %v", time.Since(began).Round(time.Millisecond))
	_, window, _ := strings.Cut(string(out), "=== CONTEXT ===\n")
	if !strings.HasPrefix(window, "Limits of plugins > Limit a plugin's memory\n") {
		t.Errorf("the first build prints\n%s", out)
	}
}
