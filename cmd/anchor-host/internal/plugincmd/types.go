package plugincmd

import (
	"bytes"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/authoring"
	"github.com/anchor-host/anchor-host/internal/strict"
)

func typesCommand(a *cli.App) *cobra.Command {
	var language string
	cmd := &cobra.Command{
		Use:   "types [flags] [FOLDER]",
		Short: "Print source code with types for the settings of a plugin",
		Long: `Print source code with one type for the settings of each operation, made of the
schemas in plugin.yaml of the project in FOLDER. The default is the current folder.
With these types a misspelt key does not compile. Objects and lists stay JSON.`,
		Example: `  anchor-host plugin types > settings.go
  anchor-host plugin types --lang rust keep-best > keep-best/src/settings.rs`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().StringVar(&language, "lang", "", "language: "+strings.Join(authoring.TypeLanguages, ", ")+" (default: that of the project)")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		dir := "."
		if len(args) == 1 {
			dir = args[0]
		}
		if language != "" && !slices.Contains(authoring.TypeLanguages, language) {
			return cli.Usagef(cmd, "flag --lang: unknown language %q%s", language, strict.Hint(language, authoring.TypeLanguages))
		}
		text, err := authoring.Types(dir, language)
		if err != nil {
			return err
		}
		return a.Emit(bytes.NewBufferString(text))
	})
	return cmd
}
