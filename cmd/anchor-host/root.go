package main

import (
	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/doctorcmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/explaincmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/plugincmd"
)

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "anchor-host",
		Short: "Build token-budgeted context windows with sandboxed plugins",
		Long: `anchor-host turns a query into a token-budgeted context window for a language
model. The steps that retrieve, filter and rerank are plugins compiled to
WebAssembly, run in a sandbox with limits and permissions.

Data goes to stdout, messages to stderr. Control characters in messages and tables
are shown as escapes such as \u001b, those in data on a terminal alone. A value is taken from the flag, else
from the environment, else from anchor.yaml, else from the default; "anchor-host
config show --origin" says which. The variable of a key such as agent.max_tokens
is ANCHOR_HOST_AGENT_MAX_TOKENS. Lists and named entries have none.

` + cli.ExitHelp,
		Example: `  anchor-host init
  anchor-host build "` + sampleQuestion + `"`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(
		a.initCommand(), a.buildCommand(), explaincmd.Command(a.App), a.evalCommand(), a.assembleCommand(), plugincmd.Command(a.App), a.configCommand(),
		a.memoryCommand(), a.framesCommand(), doctorcmd.Command(a.App), a.versionCommand(),
	)
	cli.Group(root)
	return root
}
