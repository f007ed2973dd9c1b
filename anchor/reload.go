package anchor

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/anchor-host/anchor-host/internal/config"
)

// Reload reads the configuration file again and loads its plugins. Builds that begin later
// use them. Builds that run end with what they began with. If Reload fails, everything
// stays as it is. What is under store cannot change.
func (a *App) Reload(ctx context.Context) error {
	if err := take(ctx, a.reloading); err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	defer func() { <-a.reloading }()
	old, err := a.use()
	if err != nil {
		return err
	}
	defer old.users.Done()
	loaded, err := old.loaded.Again()
	if err != nil {
		return wrong(err)
	}
	if err := a.sameStore(old.loaded, loaded); err != nil {
		return err
	}
	if err := a.mount(loaded); err != nil {
		return err
	}
	g, err := a.newGeneration(ctx, loaded)
	if err != nil {
		return err
	}
	if !a.replace(g) {
		_ = g.plugins.Close(context.WithoutCancel(ctx)) // the App was closed meanwhile
		return errAppClosed
	}
	return nil
}

// sameStore refuses another store: the one that is open may be in use.
func (a *App) sameStore(old, loaded *config.Loaded) error {
	if a.options.Store != nil {
		return nil // nothing is read from the configuration
	}
	for _, v := range []struct{ key, was, is string }{
		{"path", filepath.Clean(old.StorePath()), filepath.Clean(loaded.StorePath())},
		{"synchronous", cmp.Or(old.Store.Synchronous, "full"), cmp.Or(loaded.Store.Synchronous, "full")},
	} {
		if v.was != v.is {
			return fmt.Errorf("%w: store.%s: another store needs a start (it is %q, and was %q)", ErrInvalid, v.key, v.is, v.was)
		}
	}
	return nil
}
