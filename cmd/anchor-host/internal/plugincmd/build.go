package plugincmd

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/authoring"
)

func buildCommand(a *cli.App) *cobra.Command {
	var o authoring.BuildOptions
	cmd := &cobra.Command{
		Use:   "build [flags] [FOLDER | MODULE [MANIFEST]]",
		Short: "Build a plugin project into one .wasm",
		Long: `Build the plugin project in FOLDER (default: here) with the toolchain of its language,
embed plugin.yaml in the module, and check the result as a host does before it loads the
plugin. The source files decide the language, or a line "# language: tinygo" in
plugin.yaml, or --lang; docs/languages lists them.

For a MODULE that another tool has built, only the manifest is embedded, and the result
checked: MANIFEST, or plugin.yaml beside it. The module must export what the manifest
declares (abi/ABI.md).`,
		Example: `  anchor-host plugin build keep-best
  anchor-host plugin build -v --lang tinygo -o plugins/keep-best.wasm keep-best
  anchor-host plugin build target/wasm32-unknown-unknown/release/short.wasm plugin.yaml -o build/`,
		Args: cobra.MaximumNArgs(2),
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.Output, "output", "o", "", "file or folder for the module (default: build/<name>.wasm in the project, or <name>.wasm beside MODULE)")
	flags.StringVar(&o.Language, "lang", "", "language: "+authoring.LanguageList())
	flags.BoolVar(&o.KeepManifest, "keep-manifest-file", false, "also write plugin.yaml next to the module")
	flags.BoolVar(&o.Debug, "debug", false, "keep the names of functions and the lines of source, for call stacks (without effect in JavaScript, whose errors name the lines of the script)")
	flags.DurationVar(&o.Timeout, "timeout", authoring.DefaultBuildTimeout, "how long each command of the toolchain may take")
	flags.BoolVarP(&o.Verbose, "verbose", "v", false, "show the commands and their output")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && (len(args) == 2 || strings.HasSuffix(args[0], ".wasm")) {
			return pack(a, cmd, o.Output, args)
		}
		if len(args) == 1 {
			o.Dir = args[0]
		}
		if o.Timeout <= 0 {
			return cli.Usagef(cmd, "flag --timeout: %v (want more than 0, such as 30m)", o.Timeout)
		}
		if o.Language != "" {
			if _, err := authoring.Lookup(o.Language); err != nil {
				return cli.Usagef(cmd, "flag --lang: %w", err)
			}
		}
		return buildPlugin(a, cmd, o)
	})
	return cmd
}

func buildPlugin(a *cli.App, cmd *cobra.Command, o authoring.BuildOptions) error {
	progress := cli.NewProgress(a)
	defer progress.Stop()
	progress.Off = o.Verbose
	o.Messages = a.Err
	o.Commands = func(c authoring.Command) {
		if o.Verbose {
			fmt.Fprintf(a.Err, "+ %s\n", c)
		}
		progress.Start("running " + c.Name())
	}
	built, err := authoring.Build(cmd.Context(), o)
	progress.Stop()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	spec := built.Spec
	cli.Table(&b, nil, [][]string{
		{"plugin", spec.Name + " " + spec.Manifest.Version + ", in " + built.Title},
		{"file", built.Path},
		{"size", sizeText(spec.Size)},
		{"time", built.Time.Round(10 * time.Millisecond).String()},
		{"digest", spec.Digest},
	})
	warnings := spec.Warnings
	if file := filepath.Base(built.Path); file != spec.Name+".wasm" && file != "plugin.wasm" {
		warnings = append(warnings, fmt.Sprintf("in a plugin folder the file must be %s.wasm, or plugin.wasm in a folder %s", spec.Name, spec.Name))
	}
	for _, w := range warnings {
		a.Say("warning: %s", cli.OneCell(w))
	}
	return a.EmitText(&b)
}
