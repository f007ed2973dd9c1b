package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/strict"
)

// setFlag is the flag that sets any value of the configuration.
const setFlag = "set"

// SetFlag adds --set, for values of the configuration that have no flag of their own.
func SetFlag(cmd *cobra.Command) {
	cmd.Flags().StringArray(setFlag, nil, "KEY=VALUE of the configuration, such as window.fit=exact (repeatable)")
	SettingFlag(cmd, setFlag, setFlag)
}

// WindowFlags adds the flags that override settings of the window.
func WindowFlags(cmd *cobra.Command) {
	cmd.Flags().Int("max-tokens", 0, "size of the window in tokens")
	cmd.Flags().String("model", "", "target model, such as gpt-4o; it selects how tokens are counted")
	last := len(config.Formats) - 1
	cmd.Flags().String("format", "", strings.Join(config.Formats[:last], ", ")+" or "+config.Formats[last])
	cmd.Flags().String("timeout", "", "time limit of the whole build, such as 10s")
	SetFlag(cmd)
}

// overrideSet applies --set to a configuration.
func overrideSet(cmd *cobra.Command, loaded *config.Loaded) error {
	flag := cmd.Flags().Lookup(setFlag)
	if flag == nil || flag.Annotations[settingOf] == nil { // another command has a flag of this name
		return nil
	}
	pairs, err := cmd.Flags().GetStringArray(setFlag)
	if err != nil {
		return err
	}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		i := slices.IndexFunc(config.Overrides, func(o config.Override) bool { return o.Path == key })
		switch {
		case !ok:
			return Usagef(cmd, "flag --set: want KEY=VALUE such as window.fit=exact, got %.100q", pair)
		case i < 0:
			paths := make([]string, len(config.Overrides))
			for i, o := range config.Overrides {
				paths[i] = o.Path
			}
			return Usagef(cmd, "flag --set: unknown key %.100q, or one that holds a list or a map%s", key, strict.Hint(key, paths))
		case key == "counting.tokenizer" && cmd.Flags().Changed("model") && !strings.HasPrefix(value, "file:"):
			return Usagef(cmd, "--model and %s exclude each other (only file:PATH, the tokenizer.json of the model, may stand beside it)", key)
		}
		if err := loaded.Override(config.Overrides[i], value, "flag --set"); err != nil {
			return Usagef(cmd, "flag --set: %s: %w", key, err)
		}
	}
	return nil
}
