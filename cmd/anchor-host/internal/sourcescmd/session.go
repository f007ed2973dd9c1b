// Package sourcescmd implements "anchor-host ingest" and "anchor-host collections", which fill
// and manage the collections that retrievers search.
package sourcescmd

import (
	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// embedderFlag adds the flag that names an embedder.
func embedderFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "embedder", "", "embedder of the configuration that makes vectors (default: that of the collection)")
}

// embedderOf returns the embedder that a flag names, nil if it names none.
func embedderOf(app *anchor.App, name string) (retrieve.Embedder, error) {
	if name == "" {
		return nil, nil
	}
	return app.Embedder(name)
}

// named returns a collection of the tenant that the configuration or a flag names.
func named(name string) retrieve.Collection { return retrieve.Collection{Name: name} }
