// Package mcpcmd is the command mcp: package mcpserver on stdin and stdout.
package mcpcmd

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/parts"
	"github.com/anchor-host/anchor-host/internal/agents/mcpserver"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/server"
)

// closeTime bounds the end of the plugins.
const closeTime = 10 * time.Second

// Command returns the command.
func Command(a *cli.App) *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "mcp [flags]",
		Short: "Answer an MCP client on stdin and stdout",
		Long: `Be a server of the Model Context Protocol for one client, such as Claude Code or Codex,
which starts this command and writes to its stdin. The tools build_context, search,
search_memory, save_fact, recall and explain work on the store and the pipelines of the
configuration. A running service has the same at /mcp, for keys with the scope build.

Both ages of the protocol are spoken: 2026-07-28 and 2025-11-25. The command ends when the
client closes stdin. Messages go to stderr. anchor.yaml is read only if --config or
ANCHOR_HOST_CONFIG names it, as the one in the current folder may be of somebody else.`,
		Example: `  anchor-host mcp
  anchor-host mcp --config anchor.yaml --user ann
  claude mcp add anchor -- anchor-host mcp`,
		Args: cobra.NoArgs,
	}
	cli.HostFlags(cmd)
	cli.StoreFileFlag(cmd)
	cmd.Flags().String("tenant", "", "tenant that owns the records")
	cmd.Flags().StringVar(&user, "user", "", "user whose facts and conversations the tools use")
	cmd.AddCommand(approveCommand(a))
	cmd.RunE = a.Run(func(cmd *cobra.Command, _ []string) error { return run(cmd, a, user) })
	return cmd
}

func run(cmd *cobra.Command, a *cli.App, user string) (err error) {
	ctx := cmd.Context()
	loaded, err := a.LoadNamed(cmd) // a client starts it in folders of others
	if err != nil {
		return err
	}
	log := a.Logger(&loaded.Config)
	app, err := anchor.Open(ctx, loaded, anchor.Options{Logger: log, Lazy: true, Components: parts.Components(loaded)})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		err = cmp.Or(err, app.Close(ctx))
	}()
	version := cli.ReadBuildInfo().Version
	api, err := server.New(app, server.Options{Logger: log, Version: version, Logged: true})
	if err != nil {
		return err
	}
	defer api.Close()
	memory, err := openMemory(ctx, app, user)
	if err != nil {
		return err
	}
	s, err := mcpserver.New(mcpserver.Options{API: api.Handler(), Version: version, User: user, Memory: memory, Plugins: parts.Tools(func() *config.Loaded { return loaded }), Logger: log})
	if err != nil {
		return err
	}
	return s.Serve(ctx, io.NopCloser(a.In), nopCloser{a.Out})
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
