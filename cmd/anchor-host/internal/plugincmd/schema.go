package plugincmd

import (
	"bytes"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/abi/schemas"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
)

func schemaCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "schema DOCUMENT",
		Short: "Print the JSON Schema of a document that plugins read or write",
		Long: `Print the JSON Schema (2020-12) of a document that plugins read or write, for
code generators and for editors that complete and check plugin.yaml (Manifest).

The documents are ` + strings.Join(schemas.Documents, ", ") + `.`,
		Example: `  anchor-host plugin schema ItemsRequest
  anchor-host plugin schema Manifest > plugin.schema.json`,
		Args:      cli.Exactly("DOCUMENT"),
		ValidArgs: schemas.Documents,
		RunE: a.Run(func(cmd *cobra.Command, args []string) error {
			text, err := schemas.Of(args[0])
			if err != nil {
				return cli.Usagef(cmd, "%s", err)
			}
			return a.Emit(bytes.NewBuffer(text))
		}),
	}
}
