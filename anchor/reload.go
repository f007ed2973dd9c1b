package anchor

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/storeurl"
)

// Reload reads the configuration file again and loads its plugins. New builds use the new
// configuration; running builds finish with the old one. If Reload fails, nothing changes. A plugin whose
// module cannot be loaded, because it is damaged or missing, stays as it was, unless it must answer: then
// Reload fails. [Plugin.Kept] says so. The
// settings under store cannot change.
func (a *App) Reload(ctx context.Context) error { return a.ReloadWith(ctx, nil) }

// ReloadWith is [App.Reload] together with something else that belongs to the configuration, such as
// the keys of a service. prepare reads it before anything is loaded; if it fails, nothing changes.
// commit puts it in force at the moment in which new builds use the new configuration. It is called
// at most once, must return at once, and must not call the App. prepare may be nil.
func (a *App) ReloadWith(ctx context.Context, prepare func() (commit func(), err error)) error {
	if err := take(ctx, a.reloading); err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	defer func() { <-a.reloading }()
	err := a.reload(ctx, prepare)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = Attempt{Time: time.Now(), Err: err}
	return err
}

func (a *App) reload(ctx context.Context, prepare func() (func(), error)) error {
	commit := func() {}
	if prepare != nil {
		var err error
		if commit, err = prepare(); err != nil {
			return err
		}
	}
	old, err := a.newest()
	if err != nil {
		return err
	}
	defer old.Release()
	loaded, err := old.Loaded.Again()
	if err != nil {
		return wrong(err)
	}
	g, err := a.successor(ctx, old, loaded)
	if err != nil {
		return err
	}
	return a.replace(g, commit)
}

// successor opens the generation of a configuration after or beside an old one, which is held.
func (a *App) successor(ctx context.Context, old *assemble.Generation, loaded *config.Loaded) (*assemble.Generation, error) {
	if err := a.sameStore(old.Loaded, loaded); err != nil {
		return nil, err
	}
	if err := a.mount(loaded); err != nil {
		return nil, err
	}
	return a.newGeneration(ctx, loaded, old)
}

// sameStore returns an error if the store settings changed, because the open store may be in use.
func (a *App) sameStore(old, loaded *config.Loaded) error {
	if a.options.Store != nil {
		return nil // the store does not come from the configuration
	}
	for _, v := range []struct{ key, was, is string }{
		{"path", storeurl.Address(old.StorePath()), storeurl.Address(loaded.StorePath())},
		{"synchronous", cmp.Or(old.Store.Synchronous, "full"), cmp.Or(loaded.Store.Synchronous, "full")},
	} {
		if v.was != v.is {
			return fmt.Errorf("%w: store.%s: the store cannot change while running (was %q, now %q: restart the program)", ErrInvalid, v.key, v.was, v.is)
		}
	}
	return nil
}
