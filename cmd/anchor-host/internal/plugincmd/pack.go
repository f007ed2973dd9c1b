package plugincmd

import (
	"bytes"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/authoring"
)

// pack makes a plugin of a module that another tool has built.
func pack(a *cli.App, cmd *cobra.Command, output string, args []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "output" {
			err = cli.Usagef(cmd, "flag --%s: a MODULE is built already (leave it out, or name the folder of a project)", f.Name)
		}
	})
	if err != nil {
		return err
	}
	manifest := ""
	if len(args) == 2 {
		manifest = args[1]
	}
	spec, path, err := authoring.Pack(cmd.Context(), args[0], manifest, output)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	cli.Table(&b, nil, [][]string{
		{"plugin", spec.Name + " " + spec.Manifest.Version}, {"file", path}, {"size", sizeText(spec.Size)}, {"digest", spec.Digest},
	})
	for _, w := range spec.Warnings {
		a.Say("warning: %s", cli.OneCell(w))
	}
	return a.EmitText(&b)
}
