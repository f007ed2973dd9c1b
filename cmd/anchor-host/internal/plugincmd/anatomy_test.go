package plugincmd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
	"github.com/anchor-host/anchor-host/host/spec"
)

// What a module is made of, and what its author could do better.
func TestPluginInspectAnatomy(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := run(t, "", "plugin", "inspect", "keep-first", "--plugins", clitest.FixtureDir)
	if code != cli.CodeOK {
		t.Fatalf("code %d, %s", code, stderr)
	}
	for _, want := range []string{
		"memory       64KiB at the start, no maximum\n", "module       3 functions, ", " of data\n", "sections     name (",
		"\nadvice\n  filter has no batch lane: items travel as JSON, many times slower for a thousand of them (export \"anchor_batch_filter\")\n",
		"  the memory has no maximum and plugin.yaml no limits.memory: 64MiB is the bound (state what the plugin needs as limits.memory)\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the report lacks %q:\n%s", want, stdout)
		}
	}
	code, stdout, stderr = run(t, "", "plugin", "inspect", "http-ungranted", "--plugins", clitest.FixtureDir, "-o", "json")
	var report struct {
		Anatomy spec.Anatomy
		Advice  []string
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != cli.CodeOK {
		t.Fatalf("code %d, %v, %s", code, err, stderr)
	}
	if report.Anatomy.Functions == 0 || report.Anatomy.Memory != 64<<10 || report.Anatomy.MaxMemory != 0 || len(report.Advice) == 0 {
		t.Errorf("the report says %+v, %q", report.Anatomy, report.Advice)
	}
}

// A foreign module has no contract to be advised about.
func TestPluginInspectForeign(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := run(t, "", "plugin", "inspect", "foreign", "--plugins", clitest.FixtureDir)
	if code != cli.CodeOK || !strings.Contains(stdout, "\nadvice: none\n") {
		t.Errorf("code %d, %s%s", code, stdout, stderr)
	}
}
