package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
			return fmt.Errorf("missing argument %s (want %s)", names[n], want)
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
	PluginsFlag(cmd)
	cmd.Flags().String("cache-dir", "", "folder of compiled plugins; off keeps none")
	cmd.Flags().String("log-level", "", "lowest level of printed log lines: debug, info, warn, error")
}

// PluginsFlag adds --plugins.
func PluginsFlag(cmd *cobra.Command) { cmd.Flags().String("plugins", "", "plugin folder") }

// StoreFileFlag adds --store.
func StoreFileFlag(cmd *cobra.Command) {
	cmd.Flags().String("store", "", "file of the store, or URL of its database (default: in the data folder of the user)")
}

// settingOf is the annotation of a flag that sets a different value than flags of the same
// name in other commands.
const settingOf = "setting"

// SettingFlag makes a flag set the value at a path of the configuration. It is for flags
// that set a different value in other commands. "" means that the flag sets none.
func SettingFlag(cmd *cobra.Command, flag, path string) {
	_ = cmd.Flags().SetAnnotation(flag, settingOf, []string{path}) // fails only for an unknown flag
}

// mayBeEmpty are the flags whose empty value means something, each after the command that
// has it.
var mayBeEmpty = []string{
	"anchor-host plugin call --input", // a call with no input
	"anchor-host eval --id-cut",       // ids are not cut; it may also be a space
}

// refuseEmpty refuses flags for text that are given but empty, as from a variable that is
// not set. Otherwise a command would ignore the flag, or work on everything.
func refuseEmpty(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && isEmpty(f) && !slices.Contains(mayBeEmpty, cmd.CommandPath()+" --"+f.Name) {
			err = Usagef(cmd, "flag --%s: the value is empty (leave the flag out, or give it a value)", f.Name)
		}
	})
	return err
}

// isEmpty says whether the value of a flag for text is empty, or one of several is.
func isEmpty(f *pflag.Flag) bool {
	blank := func(s string) bool { return strings.TrimSpace(s) == "" }
	switch f.Value.Type() {
	case "string":
		return blank(f.Value.String())
	case "stringSlice", "stringArray":
		list, ok := f.Value.(pflag.SliceValue)
		return ok && (len(list.GetSlice()) == 0 || slices.ContainsFunc(list.GetSlice(), blank))
	}
	return false
}

// wantedValues are what flags take, by their types.
var wantedValues = map[string]string{
	"int": "a whole number", "int64": "a whole number",
	"uint": "a whole number, 0 or more", "uint32": "a whole number, 0 or more", "uint64": "a whole number, 0 or more",
	"intSlice": "whole numbers with commas between them", "float64": "a number such as 0.5",
	"bool": "true or false", "duration": "a time span such as 2s",
}

// plainValue words the error of a flag that does not take its value. It returns other errors
// as they are.
func plainValue(err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	want := wantedValues[wrong.GetFlag().Value.Type()]
	switch {
	case want == "":
		return err
	case errors.Is(err, strconv.ErrRange):
		want += " that is nearer to 0"
	}
	return fmt.Errorf("flag --%s: want %s, got %.100q", wrong.GetFlag().Name, want, wrong.GetValue())
}
