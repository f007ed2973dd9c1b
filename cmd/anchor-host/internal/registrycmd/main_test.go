package registrycmd

import (
	"os"
	"testing"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/plugincmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

func TestMain(m *testing.M) {
	testbuild.SetConfigDir()
	os.Exit(m.Run())
}

// run runs a command line.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return clitest.Run(t.Context(), func(a *cli.App) *cobra.Command {
		plugin := plugincmd.Command(a)
		plugin.AddCommand(Commands(a)...)
		return plugin
	}, stdin, args...)
}
