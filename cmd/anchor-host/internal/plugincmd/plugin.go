// Package plugincmd implements "anchor-host plugin" with its sub-commands: new, build, pack, dev, publish, diff, list,
// inspect, compile, call, test, bench, schema, types and failures.
package plugincmd

import (
	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/failurescmd"
)

// Command returns "plugin" with its sub-commands.
func Command(a *cli.App) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "plugin",
		Short: "Write, test, publish, find, install and inspect plugins",
		Long: `Write, test, publish, find, install and inspect plugins. A plugin is a folder with
plugin.wasm, or a file <name>.wasm, in the plugin folder.`,
		Example: `  anchor-host plugin new keep-best
  anchor-host plugin search rerank
  anchor-host plugin inspect bm25-retriever`,
	})
	cmd.AddCommand(
		newCommand(a), buildCommand(a), devCommand(a), publishCommand(a), diffCommand(a),
		listCommand(a), inspectCommand(a), compileCommand(a), callCommand(a), testCommand(a), benchCommand(a), schemaCommand(a), typesCommand(a), failurescmd.Command(a),
	)
	return cmd
}
