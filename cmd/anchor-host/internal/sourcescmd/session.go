// Package sourcescmd implements "anchor-host ingest" and "anchor-host collections", which fill
// and manage the collections that retrievers search.
package sourcescmd

import (
	"context"
	"errors"
	"fmt"

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

// named returns a collection of the tenant that the configuration or a flag names.
func named(name string) retrieve.Collection { return retrieve.Collection{Name: name} }

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
