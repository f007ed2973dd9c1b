// Package helpercmd implements "anchor-host plugin update-helper".
package helpercmd

import (
	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/authoring"
)

// Command returns "update-helper".
func Command(a *cli.App) *cobra.Command {
	o := authoring.HelperOptions{Version: cli.ReadBuildInfo().Version}
	cmd := &cobra.Command{
		Use:   "update-helper [flags] [FOLDER]",
		Short: "Bring the helper library of a plugin project up to date",
		Long: `Replace the copy of the helper library, in the folder anchor of the project in FOLDER,
by that of this program, and list the files that change. The default is the current
folder. Files that were edited, and a copy of a newer version, are kept without --force.`,
		Example: `  anchor-host plugin update-helper --dry-run
  anchor-host plugin update-helper plugins/keep-best`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "only list what would change")
	cmd.Flags().BoolVar(&o.Force, "force", false, "overwrite edited files too, and newer versions")
	return a.Command(cmd, func(_ *cobra.Command, args []string) (l cli.Listing, err error) {
		o.Dir = "."
		if len(args) == 1 {
			o.Dir = args[0]
		}
		u, err := authoring.UpdateHelper(o)
		if err != nil {
			return l, err
		}
		said := "helper library: %s -> %s"
		if o.DryRun {
			said += "; nothing was written"
		}
		a.Say(said, u.From, u.To)
		l = cli.Listing{Data: u}
		if len(u.Files) > 0 {
			l.Header = []string{"CHANGE", "FILE", "EDITED"}
		}
		for _, f := range u.Files {
			l.Rows = append(l.Rows, []string{f.Change, f.Path, map[bool]string{true: "yes", false: "no"}[f.Edited]})
		}
		if len(u.Files) == 0 {
			a.Say("no file changes")
		}
		return l, nil
	})
}
