// Package sourcescmd implements "anchor-host ingest" and "anchor-host collections", which fill
// and manage the collections that retrievers search.
package sourcescmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// flags add the flags of every command that opens the store.
func flags(cmd *cobra.Command) {
	cli.ConfigFlag(cmd)
	cli.StoreFileFlag(cmd)
	cmd.Flags().String("tenant", "", "tenant that owns the collection")
}

type sessionFunc func(cmd *cobra.Command, args []string, app *anchor.App) error

// with opens the store, runs a command with it, and closes it.
func with(a *cli.App, access anchor.Access, f sessionFunc) func(*cobra.Command, []string) error {
	return a.Run(func(cmd *cobra.Command, args []string) error { return use(a, access, f, cmd, args) })
}

func use(a *cli.App, access anchor.Access, f sessionFunc, cmd *cobra.Command, args []string) (err error) {
	loaded, err := a.Load(cmd)
	if err != nil {
		return err
	}
	app, err := anchor.Open(cmd.Context(), loaded, anchor.Options{Access: access, Logger: a.Logger(&loaded.Config), Lazy: true})
	if err != nil {
		return err
	}
	defer func() {
		if closed := app.Close(context.WithoutCancel(cmd.Context())); err == nil {
			err = closed
		}
	}()
	return f(cmd, args, app)
}

// withToDelete is like with. On a full disk it uses the space that the store reserves for
// deleting.
func withToDelete(a *cli.App, f sessionFunc) func(*cobra.Command, []string) error {
	return a.Run(func(cmd *cobra.Command, args []string) error {
		err := use(a, anchor.ReadWrite, f, cmd, args)
		if !errors.Is(err, store.ErrFull) {
			return err
		}
		if again := use(a, anchor.DeleteOnly, f, cmd, args); !errors.Is(again, store.ErrFull) {
			return again
		}
		return err
	})
}

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
