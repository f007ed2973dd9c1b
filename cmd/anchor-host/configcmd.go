package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
)

func (a *app) configCommand() *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "config",
		Short: "Check, show and describe the configuration",
		Long: `Check, show and describe anchor.yaml. Every key is described by
"anchor-host config schema".`,
		Example: `  anchor-host config validate
  anchor-host config show --origin`,
	})
	cmd.AddCommand(a.configValidateCommand(), a.configShowCommand(), a.configSchemaCommand())
	return cmd
}

func (a *app) configValidateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check anchor.yaml and the plugins it names",
		Long: `Check every key and value of anchor.yaml and the plugins it names. Settings are
compared with the schemas of the plugins, grants with the permissions they ask
for, and steps with the operations they offer. All mistakes are reported, each
with file, line and column. No plugin is run.`,
		Example: `  anchor-host config validate --config anchor.yaml`,
		Args:    cobra.NoArgs,
	}
	cli.HostFlags(cmd)
	cmd.RunE = a.Run(func(cmd *cobra.Command, _ []string) error {
		loaded, err := a.Load(cmd)
		if err != nil {
			return err
		}
		warnings, err := assemble.Validate(loaded, loaded.PluginDir())
		for _, w := range warnings {
			a.Say("%s", w)
		}
		if err != nil {
			return err
		}
		name := loaded.File
		if name == "" {
			name = "no file, defaults only"
		}
		var b bytes.Buffer
		fmt.Fprintf(&b, "%s: ok (%d instances, %d steps)\n", name, len(loaded.Instances), len(loaded.Steps))
		return a.EmitText(&b)
	})
	return cmd
}

func (a *app) configShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the effective settings",
		Long: `Print every setting that is set or has a default, after flags and environment
variables are applied. With --origin also print where each setting comes from: a
flag, an environment variable, file and line, or the default. Secrets are not
printed.`,
		Example: `  ANCHOR_HOST_MAX_TOKENS=4000 anchor-host config show --origin`,
		Args:    cobra.NoArgs,
	}
	cli.HostFlags(cmd)
	windowFlags(cmd)
	storeFlags(cmd)
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	origin := cmd.Flags().Bool("origin", false, "print where each setting comes from")
	cmd.RunE = a.Run(func(cmd *cobra.Command, _ []string) error {
		loaded, err := a.Load(cmd)
		if err != nil {
			return err
		}
		return a.Print(cmd, *format, settingsListing(loaded.Settings(), *origin))
	})
	return cmd
}

// either lists the values that a flag accepts, such as "a, b or c".
func either(values []string) string {
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// windowFlags adds the flags that override settings of the window.
func windowFlags(cmd *cobra.Command) {
	cmd.Flags().Int("max-tokens", 0, "size of the window in tokens")
	cmd.Flags().String("tokenizer", "", either(append(slices.Clone(config.Tokenizers), "file:PATH of a tokenizer.json")))
	cmd.Flags().String("model", "", "target model, such as gpt-4o; it selects how tokens are counted")
	cmd.Flags().String("fit", "", "what max_tokens bounds: items (the sum of their tokens) or exact (the formatted output)")
	cmd.Flags().String("fill", "", "first_fit, value_per_token or knapsack")
	cmd.Flags().String("truncate", "", "where to cut texts that do not fit: sentence, character, or none (no cutting)")
	cmd.Flags().String("order", "", "priority, lost_in_the_middle, chronological or cache_stable")
	cmd.Flags().Bool("include-query", true, "end the output with the query, as the message of the user")
	cmd.Flags().String("format", "", either(config.Formats))
	cmd.Flags().String("preset", "", "budget: chat, rag or agent")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		tokenizer, _ := cmd.Flags().GetString("tokenizer")
		if cmd.Flags().Changed("model") && cmd.Flags().Changed("tokenizer") && !strings.HasPrefix(tokenizer, "file:") {
			return cli.Usagef(cmd, "--model and --tokenizer exclude each other (only file:PATH, the tokenizer.json of the model, may stand beside it)")
		}
		return nil
	}
	cmd.Flags().String("timeout", "", "time limit of the whole build, such as 10s")
}

func settingsListing(settings []config.Setting, origin bool) cli.Listing {
	l := cli.Listing{Header: []string{"SETTING", "VALUE"}}
	if origin {
		l.Header = append(l.Header, "ORIGIN")
	}
	for i, s := range settings {
		row := []string{s.Path, cli.OneCell(s.Text)}
		if origin {
			row = append(row, s.Origin)
		} else {
			settings[i].Origin = ""
		}
		l.Rows = append(l.Rows, row)
	}
	l.Data = settings
	return l
}

func (a *app) configSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of anchor.yaml",
		Long: `Print the JSON Schema (2020-12) of anchor.yaml, for editors that complete and
check YAML.`,
		Example: `  anchor-host config schema > anchor.schema.json`,
		Args:    cobra.NoArgs,
		RunE: a.Run(func(*cobra.Command, []string) error {
			var b bytes.Buffer
			if err := cli.WriteJSON(&b, config.Schema()); err != nil {
				return err
			}
			return a.Emit(&b)
		}),
	}
}
