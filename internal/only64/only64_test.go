package only64

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// goFor runs the go command for a platform.
func goFor(arch string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A build for a 32-bit platform fails with one line that says why.
func TestOneLine(t *testing.T) {
	for _, arch := range []string{"386", "arm", "mips", "mipsle"} {
		out, err := goFor(arch, "build", ".")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if err == nil || len(lines) != 2 || !strings.HasPrefix(lines[0], "# ") || !strings.HasSuffix(lines[1], ": undefined: anchor_host_needs_a_64_bit_platform") {
			t.Errorf("%s: %v\n%s", arch, err, out)
		}
	}
	if out, err := goFor("arm64", "build", "."); err != nil {
		t.Errorf("arm64: %v\n%s", err, out)
	}
}

// Everything that runs plugins or builds windows imports this package.
func TestWhoImportsIt(t *testing.T) {
	const module = "github.com/anchor-host/anchor-host/"
	for _, p := range []string{"pipeline", "pipeline/frames", "host", "host/conform", "cmd/anchor-host"} {
		out, err := goFor("386", "list", "-deps", module+p)
		if err != nil || !strings.Contains(out, module+"internal/only64\n") {
			t.Errorf("%s does not import it: %v", p, err)
		}
	}
}
