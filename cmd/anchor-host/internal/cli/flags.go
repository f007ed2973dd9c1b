package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// Group makes a command that only has sub-commands. Without a sub-command it prints its
// help, and it refuses unknown names.
func Group(cmd *cobra.Command) *cobra.Command {
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

// Exactly checks that there is one argument for each name. The usage line has the same names.
func Exactly(names ...string) cobra.PositionalArgs {
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

// ConfigFlag adds --config.
func ConfigFlag(cmd *cobra.Command) {
	cmd.Flags().StringP("config", "c", "", "configuration file (default: anchor.yaml, if there is one)")
}

// HostFlags adds the flags of every command that opens plugins.
func HostFlags(cmd *cobra.Command) {
	ConfigFlag(cmd)
	cmd.Flags().String("plugins", "", "plugin folder")
	cmd.Flags().String("cache-dir", "", "folder of compiled plugins; off keeps none")
	cmd.Flags().String("log-level", "", "lowest level of printed log lines: debug, info, warn, error")
}

// StoreFileFlag adds --store.
func StoreFileFlag(cmd *cobra.Command) {
	cmd.Flags().String("store", "", "file of the store (default: in the data folder of the user)")
}

// settingOf is the annotation of a flag that sets a different value than flags of the same
// name in other commands.
const settingOf = "setting"

// SettingFlag makes a flag set the value at a path of the configuration. It is for flags
// that set a different value in other commands. "" means that the flag sets none.
func SettingFlag(cmd *cobra.Command, flag, path string) {
	_ = cmd.Flags().SetAnnotation(flag, settingOf, []string{path}) // fails only for an unknown flag
}
