package plugincmd

import (
	"os"
	"os/exec"
	"testing"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/registrycmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

func TestMain(m *testing.M) {
	testbuild.SetConfigDir()
	os.Exit(m.Run())
}

// run runs a command line. "plugin" has all of its sub-commands: some tests push what others look at.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return clitest.Run(t.Context(), func(a *cli.App) *cobra.Command {
		plugin := Command(a)
		plugin.AddCommand(registrycmd.Commands(a)...)
		return plugin
	}, stdin, args...)
}

// runCached runs a command line that compiles a plugin in Go: the tests share what was compiled.
func runCached(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return run(t, "", append(args, "--cache-dir", testbuild.CacheDir(t))...)
}

// program is anchor-host in a process of its own, with the folder where tests keep compiled plugins.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testbuild.Command(t), args...)
	cmd.Env = append(os.Environ(), "ANCHOR_HOST_PLUGINS_CACHE_DIR="+testbuild.CacheDir(t))
	return cmd
}

// must runs a command line that succeeds, and returns what it prints.
func must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	code, stdout, stderr := run(t, stdin, args...)
	if code != cli.CodeOK {
		t.Fatalf("%q: code %d: %s%s", args, code, stdout, stderr)
	}
	return stdout
}
