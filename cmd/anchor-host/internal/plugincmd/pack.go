package plugincmd

import (
	"bytes"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/authoring"
)

func packCommand(a *cli.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "pack [flags] MODULE [MANIFEST]",
		Short: "Make a plugin of a .wasm that another tool has built",
		Long: `Embed the manifest in the module, check the result as a host does before it loads the
plugin, and write it. This is the last step of "plugin build", for toolchains that
it does not support. MANIFEST is plugin.yaml beside MODULE unless you name it.

MODULE must export what the manifest declares: "anchor_abi_1", and a function such
as "anchor_filter" for each operation (abi/ABI.md). A foreign module, whose
functions steps call by name, needs no manifest and no packing.`,
		Example: `  anchor-host plugin pack target/wasm32-unknown-unknown/release/short.wasm plugin.yaml -o build/
  anchor-host plugin pack out/plugin.wasm --output plugins/short.wasm`,
		Args: cobra.RangeArgs(1, 2),
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "file or folder for the plugin (default: <name>.wasm beside MODULE)")
	cmd.RunE = a.Run(func(_ *cobra.Command, args []string) error {
		manifest := ""
		if len(args) == 2 {
			manifest = args[1]
		}
		spec, path, err := authoring.Pack(args[0], manifest, output)
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
	})
	return cmd
}
