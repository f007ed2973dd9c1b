package anchor

import (
	"context"
	"sync"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
)

// generation is a configuration with what was made of it: its plugins, and its steps,
// each once.
type generation struct {
	loaded  *config.Loaded
	plugins *assemble.Generation
	// users are the builds that run with it.
	users sync.WaitGroup

	making chan struct{} // holds a value while somebody works with what is below
	recipe *assemble.Recipe
	chain  *assemble.ChainRecipe
}

// newGeneration makes a generation, and loads its plugins unless that is to wait.
func (a *App) newGeneration(ctx context.Context, loaded *config.Loaded) (*generation, error) {
	g := &generation{loaded: loaded, making: make(chan struct{}, 1), plugins: assemble.Open(&loaded.Config, assemble.Options{
		PluginDir: loaded.PluginDir(), CacheDir: loaded.CachePath(), Path: loaded.Path,
		Logger: a.options.Logger, OnCompile: a.options.OnCompile,
	})}
	if a.options.Lazy {
		return g, nil
	}
	if err := a.prepare(ctx, g); err != nil {
		_ = g.plugins.Close(context.WithoutCancel(ctx)) // the first error is the one to report
		return nil, err
	}
	return g, nil
}

// prepare makes everything that a generation can be asked for.
func (a *App) prepare(ctx context.Context, g *generation) error {
	if assemble.UsesStore(&g.loaded.Config) {
		if _, err := a.openStore(ctx, g.loaded); err != nil {
			return err
		}
	}
	if _, err := g.recipeOf(ctx); err != nil {
		return err
	}
	_, err := g.chainOf(ctx)
	return err
}

// Prepare loads the plugins that builds call, which [Options.Lazy] leaves to the first
// build.
func (a *App) Prepare(ctx context.Context) error {
	g, err := a.use()
	if err != nil {
		return err
	}
	defer g.users.Done()
	_, err = g.recipeOf(ctx)
	return err
}

// recipeOf returns the recipe of the configuration, and makes it if that has not been
// done.
func (g *generation) recipeOf(ctx context.Context) (*assemble.Recipe, error) {
	return made(ctx, g, &g.recipe, func(ctx context.Context) (*assemble.Recipe, error) {
		return g.plugins.Recipe(ctx, &g.loaded.Config)
	})
}

// made returns what is at a place of a generation, and makes it if nothing is.
func made[T any](ctx context.Context, g *generation, at **T, produce func(context.Context) (*T, error)) (*T, error) {
	select {
	case g.making <- struct{}{}:
		defer func() { <-g.making }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if *at != nil {
		return *at, nil
	}
	t, err := produce(host.WithTenant(ctx, g.loaded.TenantName()))
	if err == nil {
		*at = t
	}
	return t, err
}
