package anchor

import (
	"context"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/price"
)

// generation is one loaded version of the configuration with its plugins and steps. Each is made
// once.
type generation struct {
	number  int64     // 1 for the first, and one more for each reload
	since   time.Time // when it was made
	loaded  *config.Loaded
	configs map[string]*config.Config // by name of the pipeline; "" is the top level of the file
	plugins *assemble.Generation
	prices  *price.Table // nil without a file of prices
	// users counts the builds that use the generation.
	users sync.WaitGroup

	making chan struct{} // holds a value while a recipe is made

	mu      sync.RWMutex                // guards what is below
	recipes map[string]*assemble.Recipe // by the name of the pipeline
	chain   *assemble.ChainRecipe

	digestOf string // of digested loads
	digested int
}

// hold keeps the generation open until release is called. The caller is one of its users.
func (g *generation) hold() (release func()) {
	g.users.Add(1)
	return g.users.Done
}

// recipeOf returns the recipe of a pipeline. The first call makes it.
func (g *generation) recipeOf(ctx context.Context, name string) (*assemble.Recipe, error) {
	return made(ctx, g, func() *assemble.Recipe { return g.recipes[name] },
		func(ctx context.Context) (*assemble.Recipe, error) { return g.plugins.Recipe(ctx, g.configs[name]) },
		func(r *assemble.Recipe) { g.recipes[name] = r })
}

// chainOf returns the chain recipe of the configuration. The first call makes it.
func (g *generation) chainOf(ctx context.Context) (*assemble.ChainRecipe, error) {
	return made(ctx, g, func() *assemble.ChainRecipe { return g.chain },
		func(ctx context.Context) (*assemble.ChainRecipe, error) {
			return g.plugins.ChainRecipe(ctx, &g.loaded.Config)
		},
		func(r *assemble.ChainRecipe) { g.chain = r })
}

// made returns the value of get. If get returns nil, it calls produce, passes the value to keep,
// and returns it. Only one produce runs at a time. A caller for whom get finds a value does not
// wait.
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

// take sends a value into a channel with room for one, to lock it. It prefers a free channel over
// an ended ctx, because the next operation of the caller returns a better error.
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
