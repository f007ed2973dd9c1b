package plugincmd

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/authoring"
)

func newCommand(a *cli.App) *cobra.Command {
	p := authoring.Project{Version: cli.ReadBuildInfo().Version}
	cmd := &cobra.Command{
		Use:   "new [flags] NAME",
		Short: "Write a plugin project that builds as it is",
		Long: `Create a project with the source of a plugin, its plugin.yaml, a README and a copy
of the helper library, so that building it needs no unpublished package. The project
builds and passes "plugin test" without changes. A folder that is not empty is refused.`,
		Example: `  anchor-host plugin new keep-best --lang go --kind filter
  anchor-host plugin new by-words --lang rust --kind rerank --dir plugins/by-words`,
		Args: cli.Exactly("NAME"),
	}
	flags := cmd.Flags()
	flags.StringVar(&p.Language, "lang", "go", "language: "+authoring.LanguageList())
	flags.StringVar(&p.Kind, "kind", "filter", "operation that the plugin offers; docs/authoring.md lists those of each language")
	flags.StringVar(&p.Dir, "dir", "", "folder to write (default: NAME)")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		p.Name = args[0]
		dir, err := authoring.New(p)
		for _, mistake := range []error{authoring.ErrName, authoring.ErrLanguage, authoring.ErrKind} {
			if errors.Is(err, mistake) {
				return cli.UsageError(cmd, err)
			}
		}
		if err != nil {
			return err
		}
		a.Say("written to %s; next:", dir)
		a.Say("  %s", authoring.Command{Args: []string{"cd", dir}})
		a.Say("  anchor-host plugin build")
		a.Say("  anchor-host plugin test %s", filepath.Join("build", p.Name+".wasm"))
		_, err = fmt.Fprintln(a.Out, dir)
		return err
	})
	return cmd
}
