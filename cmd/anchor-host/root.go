package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/auditcmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/buildscmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/doctorcmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/evalcmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/explaincmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/keyscmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/plugincmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/registrycmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/replaycmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/servecmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/sourcescmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/storecmd"
)

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "anchor-host",
		Short: "Build token-budgeted context windows with sandboxed plugins",
		Long: `anchor-host turns a query into a token-budgeted context window for a language
model. The steps that retrieve, filter and rerank are plugins compiled to
WebAssembly. They run in a sandbox with limits and permissions.

Data goes to stdout, messages to stderr. Messages and tables show control
characters as escapes such as \u001b; data does so only on a terminal. A value
comes from the flag, else from the environment, else from anchor.yaml, else from
the default; "anchor-host config show --origin" prints the origin. The variable
for a key such as agent.max_tokens is ANCHOR_HOST_AGENT_MAX_TOKENS. Lists and
named entries have no variables.

` + cli.ExitHelp,
		Example: `  anchor-host init
  anchor-host build "` + sampleQuestion + `"`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.Version = "set" // cobra adds --version, which prints the template
	root.SetVersionTemplate(versionLine(cli.ReadBuildInfo()))
	plugin := plugincmd.Command(a.App)
	plugin.AddCommand(registrycmd.Commands(a.App)...)
	groupPlugin(plugin)
	root.AddCommand(
		a.initCommand(), a.buildCommand(), explaincmd.Command(a.App), buildscmd.Command(a.App), replaycmd.Command(a.App), evalcmd.Command(a.App), a.assembleCommand(), plugin, a.configCommand(),
		sourcescmd.Ingest(a.App), sourcescmd.Collections(a.App), servecmd.Command(a.App), keyscmd.Command(a.App), auditcmd.Command(a.App), storecmd.Command(a.App), a.memoryCommand(), a.framesCommand(), doctorcmd.Command(a.App), a.versionCommand(),
	)
	cli.Group(root)
	return root
}

// groupPlugin lists the commands of "plugin" by who needs them.
func groupPlugin(plugin *cobra.Command) {
	for _, g := range []struct{ title, names string }{
		{"Write a plugin", "new build dev test bench diff schema types pack"},
		{"Publish it", "publish keygen sign push index"},
		{"Find and install plugins", "search install update outdated approve remove verify"},
		{"Look at plugins", "list inspect call"},
		{"Move and keep artifacts", "pull save load prune"},
	} {
		plugin.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, cmd := range plugin.Commands() {
			if slices.Contains(strings.Fields(g.names), cmd.Name()) {
				cmd.GroupID = g.title
			}
		}
	}
}
