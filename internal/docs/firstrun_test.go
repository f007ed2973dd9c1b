package docs_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// The two commands of the first run find something on a machine that has nothing but the
// command: no Go, no home folder, no cache.
func TestFirstRun(t *testing.T) {
	command, site := testbuild.Command(t), t.TempDir()
	began := time.Now()
	var out []byte
	for _, args := range [][]string{{"init"}, {"build", "How do I limit a plugin's memory?"}} {
		cmd := exec.CommandContext(t.Context(), command, args...)
		cmd.Dir = site
		cmd.Env = []string{"PATH=" + filepath.Dir(command)}
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
