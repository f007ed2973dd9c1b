package anchor

import (
	"context"
	"fmt"
	"path/filepath"
)

// Reload reads the configuration file anew and loads its plugins; then builds begin with
// them, while those that run end with what they began with. With an error everything
// stays as it is. Where the store is kept cannot change.
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
	if was, is := filepath.Clean(old.loaded.StorePath()), filepath.Clean(loaded.StorePath()); a.options.Store == nil && was != is {
		return fmt.Errorf("%w: store.path: another store needs a start (it is %q, and was %q)", ErrInvalid, is, was)
	}
	g, err := a.newGeneration(ctx, loaded)
	if err != nil {
		return err
	}
	if !a.replace(g) {
		_ = g.plugins.Close(context.WithoutCancel(ctx)) // the App was closed meanwhile
		return ErrClosed
	}
	return nil
}
