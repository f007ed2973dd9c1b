// Package openstore opens the store of a configuration for a command, and closes it after the
// command.
package openstore

import (
	"context"
	"errors"
	"sync"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/store"
)

// Flags adds the flags of every command that opens the store, but --config. The text says what a
// tenant owns there, such as "the collection".
func Flags(cmd *cobra.Command, owned string) {
	cli.StoreFileFlag(cmd)
	cmd.Flags().String("tenant", "", "tenant that owns "+owned)
}

// Work is what a command does with the App of the open store.
type Work func(app *anchor.App) error

// Do opens the store, does the work and closes the store. Plugins are loaded when they are needed.
// Each damaged fact is said once on stderr.
func Do(a *cli.App, cmd *cobra.Command, access anchor.Access, work Work) (err error) {
	loaded, err := a.Load(cmd)
	if err != nil {
		return err
	}
	app, err := anchor.Open(cmd.Context(), loaded, anchor.Options{
		Access: access, Logger: a.Logger(&loaded.Config), OnDamaged: damaged(a), Lazy: true,
	})
	if err != nil {
		return err
	}
	defer func() {
		if closed := app.Close(context.WithoutCancel(cmd.Context())); err == nil {
			err = closed
		}
	}()
	return work(app)
}

// Delete is like Do, for work that frees space. On a full disk it uses the space that the store
// reserves for deleting.
func Delete(a *cli.App, cmd *cobra.Command, work Work) error {
	err := Do(a, cmd, anchor.ReadWrite, work)
	if !errors.Is(err, store.ErrFull) {
		return err
	}
	if again := Do(a, cmd, anchor.DeleteOnly, work); !errors.Is(again, store.ErrFull) {
		return again
	}
	return err
}

// damaged returns a function that reports each damaged fact once.
func damaged(a *cli.App) func(tenant, fact string, err error) {
	var mu sync.Mutex
	said := map[string]bool{}
	return func(_, id string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if !said[id] {
			a.Say("warning: fact %.100q is damaged and left out: %v", id, err)
		}
		said[id] = true
	}
}
