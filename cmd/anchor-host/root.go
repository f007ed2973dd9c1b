package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/auditcmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/buildscmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/connectcmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/doctorcmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/evalcmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/explaincmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/framescmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/helpercmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/hookcmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/jobscmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/keyscmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/mcpcmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/memorycmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/plugincmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/registrycmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/replaycmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/rolloutcmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/servecmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/sourcescmd"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/storecmd"
)

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "anchor-host",
		Short: "Build token-budgeted context windows with sandboxed plugins",
		Long: `anchor-host turns a query into a token-budgeted context window for a language model. The
steps that retrieve, filter and rerank are plugins compiled to WebAssembly, which run in
a sandbox with limits and permissions.

Data goes to stdout, messages to stderr. A value comes from the flag, else from the
environment (ANCHOR_HOST_AGENT_MAX_TOKENS sets agent.max_tokens), else from anchor.yaml,
else from the default. Exit codes: 0 ok, 1 failure, 2 wrong usage, 3 invalid
configuration, request or plugin, 5 permission refused, 6 not found, 7 deadline or limit
exceeded, 8 degraded under --strict, 130 interrupted.`,
		Example: `  anchor-host init
  anchor-host build "` + sampleQuestion + `"`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	a.versionFlag(root)
	plugin := plugincmd.Command(a.App)
	plugin.AddCommand(registrycmd.Commands(a.App)...)
	plugin.AddCommand(helpercmd.Command(a.App))
	groupPlugin(plugin)
	root.AddCommand(
		a.initCommand(), a.buildCommand(), explaincmd.Command(a.App), buildscmd.Command(a.App), replaycmd.Command(a.App), evalcmd.Command(a.App), a.assembleCommand(), plugin, a.configCommand(),
		sourcescmd.Ingest(a.App), sourcescmd.Collections(a.App), jobscmd.Command(a.App), servecmd.Command(a.App), rolloutcmd.Command(a.App), keyscmd.Command(a.App), auditcmd.Command(a.App), storecmd.Command(a.App), memorycmd.Command(a.App), framescmd.Command(a.App), connectcmd.Command(a.App), hookcmd.Command(a.App), mcpcmd.Command(a.App), doctorcmd.Command(a.App), a.versionCommand(),
	)
	cli.Group(root)
	a.completion(root)
	return root
}

// completion adds the commands that cobra has for completion, with short help.
func (a *app) completion(root *cobra.Command) {
	root.SetOut(a.Out) // the commands keep it
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Example = "  anchor-host completion bash > ~/.local/share/bash-completion/completions/anchor-host"
		for _, shell := range cmd.Commands() {
			shell.Long = "Print the script that completes commands and flags in " + shell.Name() + ". Load it from the start-up file of the shell."
			shell.Example = "  anchor-host completion " + shell.Name()
		}
	}
}

// groupPlugin lists the commands of "plugin" by who needs them.
func groupPlugin(plugin *cobra.Command) {
	for _, g := range []struct{ title, names string }{
		{"Write a plugin", "new build dev test bench diff schema types update-helper"},
		{"Publish it", "publish keygen sign index"},
		{"Find and install plugins", "search install update approve remove verify"},
		{"Look at plugins", "list inspect call"},
		{"Move and keep artifacts", "save prune"},
	} {
		plugin.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, cmd := range plugin.Commands() {
			if slices.Contains(strings.Fields(g.names), cmd.Name()) {
				cmd.GroupID = g.title
			}
		}
	}
}
