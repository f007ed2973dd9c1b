package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/internal/strict"
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

` + exitHelp,
		Example: `  anchor-host init
  anchor-host build "how do I cancel a request?"`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(
		a.initCommand(), a.buildCommand(), a.explainCommand(), a.evalCommand(), a.assembleCommand(), a.pluginCommand(), a.configCommand(),
		a.memoryCommand(), a.framesCommand(), a.doctorCommand(), a.versionCommand(),
	)
	group(root)
	return root
}

// group makes a command that only has sub-commands print its help, and refuse
// what is none of them.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var names []string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		return fmt.Errorf("unknown command %q%s", args[0], strict.Hint(args[0], names))
	}
	return cmd
}

// exactly takes one argument for each of the names, which are those of the usage
// line.
func exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch n, want := len(args), strings.Join(names, " "); {
		case n < len(names):
			return fmt.Errorf("no %s (want %s)", names[n], want)
		case n > len(names):
			return fmt.Errorf("unexpected argument %q (want %s)", args[len(names)], want)
		}
		return nil
	}
}

// configFlag adds --config.
func configFlag(cmd *cobra.Command) {
	cmd.Flags().StringP("config", "c", "", "configuration file (default: anchor.yaml, if there is one)")
}

// hostFlags add the flags of every command that opens plugins.
func hostFlags(cmd *cobra.Command) {
	configFlag(cmd)
	cmd.Flags().String("plugins", "", "plugin folder")
	cmd.Flags().String("cache-dir", "", "folder of compiled plugins, or off")
	cmd.Flags().String("log-level", "", "least level of log lines: debug, info, warn, error")
}
