package records

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/store"
)

// Flags adds the flags that say whose records a command works on, and in which store.
func Flags(cmd *cobra.Command) {
	cli.StoreFileFlag(cmd)
	cmd.Flags().String("tenant", "", "tenant that owns the records")
}

// open opens the store, does the work and closes the store. Plugins are loaded when they are needed.
// Each damaged fact is said once on stderr.
func open(a *cli.App, cmd *cobra.Command, access anchor.Access, work func(*anchor.App) error) (err error) {
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
	defer func() { err = cmp.Or(err, app.Close(context.WithoutCancel(cmd.Context()))) }()
	return work(app)
}

// With opens the store to read, for a command that needs it for some of its arguments only. A store that is not there
// is not made, since an argument may be the mistyped name of something else.
func With(a *cli.App, cmd *cobra.Command, work func(*anchor.App) error) error {
	return open(a, cmd, anchor.ReadExisting, work)
}

// openToDelete is like open, for work that frees space. On a full disk it uses the space that the
// store reserves for deleting.
func openToDelete(a *cli.App, cmd *cobra.Command, work func(*anchor.App) error) error {
	err := open(a, cmd, anchor.ReadWrite, work)
	if !errors.Is(err, store.ErrFull) {
		return err
	}
	if again := open(a, cmd, anchor.DeleteOnly, work); !errors.Is(again, store.ErrFull) {
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
