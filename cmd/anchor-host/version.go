package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
)

// versionLine is what version and --version print.
func versionLine(v cli.BuildInfo) string {
	return fmt.Sprintf("anchor-host %s (ABI %d, %s, wazero %s, %s)\n", v.Version, v.ABI, v.Go, v.Wazero, v.Platform)
}

// versionFlag adds --version. Cobra's own needs a template, with which the linker keeps every exported method.
// Without a command cobra asks for the help.
func (a *app) versionFlag(root *cobra.Command) {
	flags := root.Flags()
	version := flags.BoolP("version", "v", false, "version for "+root.Name())
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd != root || !*version || flags.Changed("help") {
			help(cmd, args)
			return
		}
		_, _ = fmt.Fprint(cmd.OutOrStdout(), versionLine(cli.ReadBuildInfo()))
	})
}

func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    `Print the version of anchor-host, of the plugin contract (ABI), Go and wazero.`,
		Example: `  anchor-host version -o json`,
		Args:    cobra.NoArgs,
	}
	format := cli.FormatFlag(cmd, "text", "json", "yaml")
	cmd.RunE = a.Run(func(*cobra.Command, []string) error {
		v := cli.ReadBuildInfo()
		if *format != "text" {
			return a.Print(*format, cli.Listing{Data: v})
		}
		return a.EmitText(bytes.NewBufferString(versionLine(v)))
	})
	return cmd
}
