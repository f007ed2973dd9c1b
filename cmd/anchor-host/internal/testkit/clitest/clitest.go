// Package clitest is for the tests of commands. It runs a command line in the process of the test,
// and makes what commands for plugins need: files, plugins without a toolchain, keys and a registry.
package clitest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// FixtureDir is the folder of the plugins that each have one quality, as an absolute path.
var FixtureDir = filepath.Join(testbuild.Root(), "testdata", "wasm")

// Run runs a command line as the program does whose only command is the one that command returns.
// ctx ends when the user interrupts.
func Run(ctx context.Context, command func(*cli.App) *cobra.Command, stdin string, args ...string) (code int, stdout, stderr string) {
	var out, messages bytes.Buffer
	a := cli.New(ctx, strings.NewReader(stdin), &out, &messages)
	a.Patience = await.Patience // no lines about what a busy machine takes long for
	root := &cobra.Command{Use: "anchor-host", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(command(a))
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(a.Err)
	cmd, err := root.ExecuteContextC(ctx)
	code = a.Finish(ctx, cmd, err)
	return code, out.String(), messages.String()
}

// Write writes files into a new folder and returns it.
func Write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Read returns the content of a file.
func Read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// RepeatCommand returns the first command in a report of "plugin test" that repeats a failed call,
// without the name of the program.
func RepeatCommand(t testing.TB, report string) []string {
	t.Helper()
	_, rest, found := strings.Cut(report, "  repeat with: anchor-host ")
	line, _, _ := strings.Cut(rest, "\n")
	if !found || strings.Contains(line, "'") {
		t.Fatalf("no command that this test can split: %s", report)
	}
	return strings.Fields(line)
}
