// Package connectcmd is the command connect, which writes our hooks and server into the settings of coding agents.
package connectcmd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/agents/connect"
	"github.com/anchor-host/anchor-host/internal/agentstore"
)

type flags struct {
	user, project, dryRun, remove, files bool
}

// Command returns the command.
func Command(a *cli.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "connect claude|codex|copilot|cursor|vscode [flags]",
		Short: "Connect a coding agent: hooks and the MCP server",
		Long: `Write the hooks (claude, codex, copilot) and the MCP server into the settings of a coding
agent, or take them out again. The difference is printed first. What others wrote in the
settings stays as it is, comments included; settings that are broken, read-only or a link
are refused. --remove restores the bytes from before, unless somebody changed the file
since: then it takes out our entries only.`,
		Example: `  anchor-host connect claude --dry-run
  anchor-host connect codex --files
  anchor-host connect vscode --project
  anchor-host connect claude --remove`,
		Args: cli.Exactly("CLIENT"),
	}
	cli.ConfigFlag(cmd)
	cmd.Flags().BoolVar(&f.user, "user", false, "change the settings of the user (default)")
	cmd.Flags().BoolVar(&f.project, "project", false, "change the settings of the project in the current folder")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the difference and change nothing")
	cmd.Flags().BoolVar(&f.remove, "remove", false, "take hooks and server out again")
	cmd.Flags().BoolVar(&f.files, "files", false, "also read the files of the project in the current folder, so that prompts find them; with --remove, forget them")
	cmd.MarkFlagsMutuallyExclusive("user", "project")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error { return run(a, cmd, &f, args[0]) })
	return cmd
}

func run(a *cli.App, cmd *cobra.Command, f *flags, client string) error {
	o, err := options(cmd, f)
	if err != nil {
		return err
	}
	plan, err := connect.New(client, o)
	if err != nil {
		return cli.Usagef(cmd, "%w", err)
	}
	changes := plan.Connect
	if f.remove {
		changes = plan.Remove
	}
	list, err := changes()
	if err != nil {
		return err
	}
	for i := range list {
		if err := a.EmitText(bytes.NewBufferString(list[i].Diff())); err != nil {
			return err
		}
		if f.dryRun {
			continue
		}
		if err := list[i].Apply(); err != nil {
			return fmt.Errorf("%w (%d of %d files were changed before)", err, i, len(list))
		}
	}
	a.Say("%s", outcome(client, f, plan.Next, len(list)))
	if f.files && !f.dryRun {
		return files(a, cmd, f.remove)
	}
	return nil
}

// outcome says in one line what happened.
func outcome(client string, f *flags, next string, changed int) string {
	state := "connected"
	if f.remove {
		state = "removed"
	}
	switch {
	case changed == 0 && next == "":
		return client + ": nothing to change"
	case changed == 0:
		return client + ": nothing to change. " + next
	case f.dryRun:
		return fmt.Sprintf("%s: %d files would change; nothing was written (--dry-run)", client, changed)
	case next != "" && !f.remove:
		return fmt.Sprintf("%s: %s, %d files changed. %s", client, state, changed, next)
	}
	return fmt.Sprintf("%s: %s, %d files changed", client, state, changed)
}

// options returns where to write, and what.
func options(cmd *cobra.Command, f *flags) (o connect.Options, err error) {
	if o.Command, err = program(); err != nil {
		return o, fmt.Errorf("connect: find this program: %w", err)
	}
	if path, _ := cmd.Flags().GetString("config"); path != "" {
		if o.Config, err = filepath.Abs(path); err == nil {
			_, err = os.Stat(o.Config)
		}
		if err != nil {
			return o, fmt.Errorf("connect: configuration: %w", err)
		}
	}
	if f.project {
		if o.Project, err = os.Getwd(); err != nil {
			return o, fmt.Errorf("connect: %w", err)
		}
	}
	store, err := agentstore.Path("")
	if err != nil {
		return o, err
	}
	o.Receipts = filepath.Join(filepath.Dir(store), "connected")
	return o, nil
}

// program returns the path under which this program will also be found after an upgrade: as the shell finds it, if
// that is this program, and without following links.
func program() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	paths := []string{os.Args[0]}
	if found, err := exec.LookPath(filepath.Base(self)); err == nil {
		paths = []string{found, os.Args[0]}
	}
	mine, err := os.Stat(self)
	if err != nil {
		return "", err
	}
	for _, path := range paths {
		if !strings.ContainsRune(path, filepath.Separator) {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			continue
		}
		if info, err := os.Stat(path); err == nil && os.SameFile(info, mine) {
			return path, nil
		}
	}
	return self, nil
}
