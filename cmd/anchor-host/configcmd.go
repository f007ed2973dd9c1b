package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/parts"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/startup"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
)

func (a *app) configCommand() *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "config",
		Short: "Check, show and rewrite the configuration",
		Long: `Check, show and describe anchor.yaml. Every key is described by
"anchor-host config schema".`,
		Example: `  anchor-host config validate
  anchor-host config show --origin`,
	})
	cmd.AddCommand(a.configValidateCommand(), a.configShowCommand(), a.configSchemaCommand(), a.configMigrateCommand())
	return cmd
}

func (a *app) configValidateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check anchor.yaml and what it names",
		Long: `Check every key and value of anchor.yaml and the plugins it names. Settings are
compared with the schemas of the plugins, grants with the permissions they ask
for, and steps with the operations they offer. All errors are reported, each
with file, line and column. No plugin is run.

What serve reads at its start is read as serve reads it: variables and secrets, prices,
the file of the keys, addresses and certificates, the audit log and the store. What
would stop serve is reported with the same message and exit code. Nothing is written,
and no lock is taken, so it can run beside the service.`,
		Example: `  anchor-host config validate --config anchor.yaml`,
		Args:    cobra.NoArgs,
	}
	cli.HostFlags(cmd)
	cli.StoreFileFlag(cmd)
	cmd.RunE = a.Run(func(cmd *cobra.Command, _ []string) error {
		loaded, err := a.Load(cmd)
		if err != nil {
			return err
		}
		warnings, err := assemble.Validate(loaded, loaded.PluginDir(), parts.Checks(loaded))
		for _, w := range warnings {
			a.Say("%s", w)
		}
		ready, failed := startup.Read(cmd.Context(), loaded, a.Logger(&loaded.Config))
		ready.Close(cmd.Context())
		if err := errors.Join(err, failed); err != nil {
			return err
		}
		name := cmp.Or(loaded.File, "no file, defaults only")
		var b bytes.Buffer
		fmt.Fprintf(&b, "%s: ok (%s, %s)\n", name, cli.Count(len(loaded.Plugins.Instances), "instance"), cli.Count(len(loaded.Steps), "step"))
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
printed. The shares of a budget preset are printed as tokens of each source.`,
		Example: `  ANCHOR_HOST_WINDOW_MAX_TOKENS=4000 anchor-host config show --origin`,
		Args:    cobra.NoArgs,
	}
	cli.HostFlags(cmd)
	cli.WindowFlags(cmd)
	records.Flags(cmd)
	origin := cmd.Flags().Bool("origin", false, "print where each setting comes from")
	return a.Command(cmd, func(cmd *cobra.Command, _ []string) (cli.Listing, error) {
		loaded, err := a.Load(cmd)
		if err != nil {
			return cli.Listing{}, err
		}
		return settingsListing(assemble.Effective(loaded), *origin), nil
	})
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
