package anchor

import (
	"context"
	"fmt"
	"sync"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
)

// generation is a configuration with what was made of it: its plugins, and its steps,
// each once.
type generation struct {
	loaded  *config.Loaded
	configs map[string]*config.Config // of the named pipelines; "" is the file itself
	plugins *assemble.Generation
	// users are the builds that run with it.
	users sync.WaitGroup

	making chan struct{} // holds a value while something is made

	mu      sync.RWMutex                // guards what is below
	recipes map[string]*assemble.Recipe // by the name of the pipeline
	chain   *assemble.ChainRecipe
}

// newGeneration makes a generation, and loads its plugins unless that is to wait.
func (a *App) newGeneration(ctx context.Context, loaded *config.Loaded) (*generation, error) {
	g := &generation{loaded: loaded, configs: map[string]*config.Config{}, recipes: map[string]*assemble.Recipe{}, making: make(chan struct{}, 1)}
	for _, name := range append(loaded.PipelineNames(), "") {
		c, err := loaded.Pipeline(name)
		if err != nil {
			return nil, err
		}
		g.configs[name] = c
	}
	g.plugins = assemble.Open(&loaded.Config, assemble.Options{
		PluginDir: loaded.PluginDir(), CacheDir: loaded.CachePath(), Path: loaded.Path,
		Logger: a.options.Logger, OnCompile: a.options.OnCompile, KV: a.options.KV, OnDamaged: a.options.OnDamaged,
	})
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
	// The pipeline at the top comes first: plugins count with its tokenizer in their init.
	for _, name := range append([]string{""}, g.loaded.PipelineNames()...) {
		if assemble.UsesStore(g.configs[name]) {
			if _, err := a.openStore(ctx, g.loaded); err != nil {
				return err
			}
		}
		_, err := g.recipeOf(ctx, name)
		switch {
		case err != nil && name != "":
			return fmt.Errorf("pipelines.%s: %w", name, err)
		case err != nil:
			return err
		}
	}
	_, err := g.chainOf(ctx)
	return err
}

// Prepare loads the plugins of a pipeline, which [Options.Lazy] leaves to its first build.
// The empty name is that of the pipeline at the top of the file.
func (a *App) Prepare(ctx context.Context, pipeline string) error {
	g, err := a.use()
	if err != nil {
		return err
	}
	defer g.users.Done()
	if _, err := g.loaded.Pipeline(pipeline); err != nil {
		return err
	}
	_, err = g.recipeOf(ctx, pipeline)
	return err
}

// recipeOf returns the recipe of a pipeline, and makes it if that has not been done.
func (g *generation) recipeOf(ctx context.Context, name string) (*assemble.Recipe, error) {
	return made(ctx, g, func() *assemble.Recipe { return g.recipes[name] },
		func(ctx context.Context) (*assemble.Recipe, error) { return g.plugins.Recipe(ctx, g.configs[name]) },
		func(r *assemble.Recipe) { g.recipes[name] = r })
}

// chainOf returns the chain recipe of the configuration, and makes it if that has not
// been done.
func (g *generation) chainOf(ctx context.Context) (*assemble.ChainRecipe, error) {
	return made(ctx, g, func() *assemble.ChainRecipe { return g.chain },
		func(ctx context.Context) (*assemble.ChainRecipe, error) {
			return g.plugins.ChainRecipe(ctx, &g.loaded.Config)
		},
		func(r *assemble.ChainRecipe) { g.chain = r })
}

// made returns what get finds, and otherwise what produce makes, one at a time, and keep
// keeps. A caller that finds something does not wait for others.
func made[T any](ctx context.Context, g *generation, get func() *T, produce func(context.Context) (*T, error), keep func(*T)) (*T, error) {
	find := func() *T {
		g.mu.RLock()
		defer g.mu.RUnlock()
		return get()
	}
	if t := find(); t != nil {
		return t, nil
	}
	if err := take(ctx, g.making); err != nil {
		return nil, err
	}
	defer func() { <-g.making }()
	if t := find(); t != nil {
		return t, nil
	}
	t, err := produce(host.WithTenant(ctx, g.loaded.TenantName()))
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	keep(t)
	return t, nil
}

// take puts a value in a channel with room for one. A free channel is taken even when ctx
// has ended: what the caller does next returns a better error.
func take(ctx context.Context, room chan struct{}) error {
	select {
	case room <- struct{}{}:
		return nil
	default:
	}
	select {
	case room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
