package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/config"
)

const unit = pages + "/anchor-host.service"

// exposure is the greatest value, in tenths, that systemd-analyze security may give the unit. It
// counts what a service of the network could do without; 0 is nothing.
const exposure = 15

// need returns the path of a program. Without it the test is skipped, but fails in CI.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%v (install it; .ci/run names its Debian package)", err)
	}
	t.Skipf("%v (install it)", err)
	return ""
}

func TestUnit(t *testing.T) {
	analyze := need(t, "systemd-analyze")
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	// verify wants the program to be there.
	file := filepath.Join(t.TempDir(), filepath.Base(unit))
	there := strings.ReplaceAll(string(text), "/usr/local/bin/anchor-host", "/bin/true")
	if err := os.WriteFile(file, []byte(there), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput()
	if err != nil || strings.Contains(string(out), filepath.Base(unit)) {
		t.Errorf("verify: %v: %s", err, out)
	}
	out, err = exec.Command(analyze, "security", "--offline=true", fmt.Sprintf("--threshold=%d", exposure), unit).CombinedOutput()
	if err != nil {
		t.Errorf("security: %v: %s", err, out)
	}
	t.Logf("%s", out[strings.LastIndex(strings.TrimSpace(string(out)), "\n")+1:])
	fallback := (&config.Server{}).WithDefaults()
	if stop, want := setting(t, text, "TimeoutStopSec"), time.Duration(fallback.DrainDelay)+time.Duration(fallback.DrainTimeout)+unconfigured; stop < want {
		t.Errorf("TimeoutStopSec: %v, and an end in order takes up to %v", stop, want)
	}
}

func setting(t *testing.T, unit []byte, name string) time.Duration {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + `=(\w+)$`).FindSubmatch(unit)
	if m == nil {
		t.Fatalf("no %s", name)
	}
	d, err := time.ParseDuration(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The filter of the unit allows every system call that the host makes. It is compared with what
// strace sees of a host that loads plugins, builds, reloads, backs up its store and ends.
func TestSystemCalls(t *testing.T) {
	analyze, strace := need(t, "systemd-analyze"), need(t, "strace")
	h := prepare(t)
	trace := filepath.Join(h.site, "data", "trace")
	for _, name := range []string{"data", "etc/anchor-host-keys/keys.yaml"} {
		if err := os.Chown(filepath.Join(h.site, name), user, user); err != nil {
			t.Fatal(err)
		}
	}
	out := h.run(t, exec.Command("unshare", "--net", "bash", "exercise.sh", h.site,
		need(t, "setpriv"), "--reuid=65532", "--regid=65532", "--clear-groups", strace, "-f", "-qq", "-A", "-o", trace, h.program))
	if !strings.Contains(out, "the end: 0") {
		t.Fatalf("%s", out)
	}
	allowed := filtered(t, analyze)
	log, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	// A call that a signal ended late has no name, and strace then writes its number.
	for _, m := range regexp.MustCompile(`(?m)^\d+ +([a-z_][a-z_0-9]*)\(`).FindAllSubmatch(log, -1) {
		if name := string(m[1]); !seen[name] && !allowed[name] && !strings.HasPrefix(name, "syscall_0x") {
			t.Errorf("the unit forbids the system call %s", name)
		}
		seen[string(m[1])] = true
	}
	if len(seen) < 30 {
		t.Errorf("only %d different system calls were seen", len(seen))
	}
}

// filtered returns the system calls that the unit allows.
func filtered(t *testing.T, analyze string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^SystemCallFilter=(~?)(.*)$`).FindAllStringSubmatch(string(text), -1) {
		for _, word := range strings.Fields(m[2]) {
			names := map[string]bool{word: true}
			if strings.HasPrefix(word, "@") {
				names = calls(t, analyze, word)
			}
			for name := range names {
				allowed[name] = m[1] == ""
			}
		}
	}
	return allowed
}

// calls expands a group of system calls.
func calls(t *testing.T, analyze, group string) map[string]bool {
	t.Helper()
	out, err := exec.Command(analyze, "syscall-filter", "--no-pager", group).Output()
	if err != nil {
		t.Fatalf("syscall-filter %s: %v", group, err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		name, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		switch {
		case !indented || strings.HasPrefix(name, "#"):
		case strings.HasPrefix(name, "@"):
			for more := range calls(t, analyze, name) {
				names[more] = true
			}
		default:
			names[name] = true
		}
	}
	return names
}
