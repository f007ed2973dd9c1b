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
	configs map[string]*config.Config // of the named pipelines; "" is the file itself
	plugins *assemble.Generation
	// users are the builds that run with it.
	users sync.WaitGroup

	making  chan struct{}               // holds a value while somebody works with what is below
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
		Logger: a.options.Logger, OnCompile: a.options.OnCompile, KV: a.options.KV,
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
	for name, c := range g.configs {
		if assemble.UsesStore(c) {
			if _, err := a.openStore(ctx, g.loaded); err != nil {
				return err
			}
		}
		if _, err := g.recipeOf(ctx, name); err != nil {
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
func (g *generation) recipeOf(ctx context.Context, name string) (r *assemble.Recipe, err error) {
	err = g.alone(ctx, func(ctx context.Context) (err error) {
		if r = g.recipes[name]; r == nil {
			if r, err = g.plugins.Recipe(ctx, g.configs[name]); err == nil {
				g.recipes[name] = r
			}
		}
		return err
	})
	return r, err
}

// chainOf returns the chain recipe of the configuration, and makes it if that has not
// been done.
func (g *generation) chainOf(ctx context.Context) (r *assemble.ChainRecipe, err error) {
	err = g.alone(ctx, func(ctx context.Context) (err error) {
		if g.chain == nil {
			g.chain, err = g.plugins.ChainRecipe(ctx, &g.loaded.Config)
		}
		r = g.chain
		return err
	})
	return r, err
}

// alone runs f while nobody else works with what the generation has made.
func (g *generation) alone(ctx context.Context, f func(context.Context) error) error {
	if err := take(ctx, g.making); err != nil {
		return err
	}
	defer func() { <-g.making }()
	return f(host.WithTenant(ctx, g.loaded.TenantName()))
}

// take puts a value in a channel with room for one. What is free is taken even when ctx
// has ended: whoever goes on says then what did not happen.
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
