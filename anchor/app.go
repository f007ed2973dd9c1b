package anchor

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/components"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/costs"
	"github.com/anchor-host/anchor-host/internal/kvstore"
	"github.com/anchor-host/anchor-host/internal/sharing"
	"github.com/anchor-host/anchor-host/internal/storeurl"
	"github.com/anchor-host/anchor-host/internal/tape"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// App is a loaded configuration with its plugins. It is safe for concurrent use. One App serves
// any number of tenants and conversations.
type App struct {
	options    Options
	components *components.Set

	reloading chan struct{} // holds a value during a reload

	mu      sync.Mutex
	current *assemble.Generation // nil once closed
	// candidate is a generation for some calls; nil: there is none. numbers is the greatest number that a
	// generation has got after the first.
	candidate *assemble.Generation
	numbers   int64
	draining  int     // former generations that are not closed yet
	last      Attempt // the last reload
	retired   sync.WaitGroup

	keeper *builds.Keeper // of records of builds
	index  builds.Index   // of these records
	aging  aging          // of what the store keeps

	costs  *costs.Book
	using  uses // of facts
	hidden sharing.Hidden

	runs      agentrun.Locks // locks of the runs that are being written
	promoting promotions

	compacting conversation.Compactions // of stored conversations

	opening chan struct{} // holds a value while the store is opened
	store   store.Store
	opened  bool // the App opened the store and has to close it
}

// Attempt is one reload.
type Attempt struct {
	// Time is when it ended. The zero time: there was none.
	Time time.Time
	// Err says why it changed nothing. nil: it succeeded.
	Err error
}

// Load reads a configuration file and loads its plugins. A missing or broken plugin fails only
// the steps that call it, unless its answer is needed ("must"). Errors wrap [ErrInvalid] if the file
// is at fault, and fs.ErrNotExist if there is no such file.
//
// Load does not read the environment variables ANCHOR_HOST_*: use [Options.Overrides] instead.
// Relative paths refer to the current folder at the time of the call, even if the program
// changes its folder later.
func Load(path string, o Options) (*App, error) {
	loaded, err := config.Load(path)
	if err != nil {
		return nil, wrong(err)
	}
	return openAbsolute(loaded, o)
}

// Configuration is a configuration that the commands of this module have read. Other programs have [Load],
// [LoadBytes] and [LoadFS].
type Configuration interface {
	// Location is the path of its file, empty if there is none.
	Location() string
}

// Open is [Load] for a configuration that is already in memory. The commands of this module use
// it, because flags and environment variables change the configuration after it was read. Loading
// plugins stops when ctx ends. The error is [ErrInvalid] for a configuration of another program.
func Open(ctx context.Context, c Configuration, o Options) (*App, error) {
	loaded, ok := c.(*config.Loaded)
	if !ok {
		return nil, fmt.Errorf("%w: a configuration of type %T (load it with Load, LoadBytes or LoadFS)", ErrInvalid, c)
	}
	a := &App{options: o, store: o.Store, reloading: make(chan struct{}, 1), opening: make(chan struct{}, 1)}
	if a.options.Logger == nil {
		a.options.Logger = slog.New(slog.DiscardHandler)
	}
	a.costs, a.hidden.Tell = costs.NewBook(a.storeOfCosts, a.options.Logger), a.warnHidden
	a.using.log = a.options.Logger
	a.keeper = builds.NewKeeper(func(ctx context.Context) (store.Store, error) {
		s, err := a.openStore(ctx, loaded)
		return tape.Unwrap(s), err // no tape hears of records
	}, builds.Limits{}, a.options.Logger)
	var err error
	if a.components, err = o.Components.set(); err != nil {
		return nil, err
	}
	if err := a.override(loaded); err != nil {
		return nil, err
	}
	if err := a.absoluteMounts(); err != nil {
		return nil, err
	}
	if err := a.mount(loaded); err != nil {
		return nil, err
	}
	g, err := a.newGeneration(ctx, loaded, nil)
	if err != nil {
		_ = a.closeStore() // only the first error is reported
		return nil, err
	}
	a.current = g
	if !o.Lazy {
		a.aging.start(a.age)
	}
	return a, nil
}

// newGeneration opens a generation, which keeps modules of the one before that it cannot load. before is nil for the
// first one. It loads the plugins unless [Options.Lazy] is set.
func (a *App) newGeneration(ctx context.Context, loaded *config.Loaded, before *assemble.Generation) (*assemble.Generation, error) {
	g, err := assemble.Open(loaded, assemble.Options{
		Logger: a.options.Logger, OnCompile: a.options.OnCompile, OnRecord: a.options.onRecord(), OnFailure: a.options.OnFailure, Tape: a.options.Tape.tape(), KV: a.values(loaded),
		Components: a.components, Before: before, Strict: before != nil && a.options.StrictReload, Keep: !a.options.Lazy, OnDamaged: a.options.OnDamaged,
		Index: func(ctx context.Context) (retrieve.Index, error) { return a.openIndex(ctx, loaded) },
	})
	if err != nil || a.options.Lazy {
		return g, err
	}
	if err := a.prepare(ctx, g); err != nil {
		_ = g.Close(context.WithoutCancel(ctx)) // only the first error is reported
		return nil, err
	}
	g.ForgetBefore()
	return g, nil
}

// values returns the key-value store of plugins. nil: the memory of their host.
func (a *App) values(loaded *config.Loaded) host.KVStore {
	if a.options.KV != nil || loaded.Store.KV == "memory" {
		return a.options.KV
	}
	return kvstore.New(func(ctx context.Context) (store.Store, error) { return a.openStore(ctx, loaded) })
}

// prepare compiles all pipelines and what the configuration says of agents.
func (a *App) prepare(ctx context.Context, g *assemble.Generation) error {
	// The pipeline at the top level comes first, because plugins count with its tokenizer in
	// their init.
	for _, name := range append([]string{""}, g.Loaded.PipelineNames()...) {
		err := a.preparePipeline(ctx, g, name)
		switch {
		case err != nil && name != "":
			return fmt.Errorf("pipelines.%s: %w", name, err)
		case err != nil:
			return err
		}
	}
	agent, err := g.Agent(ctx)
	if err == nil {
		err = agent.Ready()
	}
	return err
}

func (a *App) preparePipeline(ctx context.Context, g *assemble.Generation, name string) error {
	c, err := g.Config(name)
	if err == nil && assemble.UsesStore(c) {
		_, err = a.openStore(ctx, g.Loaded)
	}
	if err != nil {
		return err
	}
	p, err := g.Pipeline(ctx, name)
	if err == nil {
		err = p.Ready()
	}
	if err != nil {
		return err
	}
	if t, err := g.Counter(c); err == nil { // its vocabulary is loaded; a failure shows in builds
		_, _ = t.Count(ctx, "a")
	}
	return g.PreparePromoter(host.WithTenant(ctx, g.Loaded.TenantName()), c)
}

// Prepare loads the plugins of a pipeline, which [Options.Lazy] leaves to its first build. The
// empty name means the pipeline at the top level of the file.
func (a *App) Prepare(ctx context.Context, pipeline string) error {
	g, err := a.use(ctx)
	if err != nil {
		return err
	}
	defer g.Release()
	_, err = g.Pipeline(ctx, pipeline)
	return err
}

// override applies the overrides of the options to the configuration. Their paths are then independent of the
// current folder, which the program may change.
func (a *App) override(loaded *config.Loaded) error {
	values := maps.Clone(a.options.Overrides)
	if values == nil {
		values = map[string]string{}
	}
	for key, path := range map[string]string{"plugins.dir": a.options.PluginDir, "plugins.cache_dir": a.options.CacheDir} {
		if path != "" {
			values[key] = path
		}
	}
	for _, key := range []string{"plugins.dir", "plugins.cache_dir", "store.path"} {
		path := values[key]
		if path == "" || path == host.CacheOff || storeurl.Is(path) {
			continue
		}
		var err error
		if values[key], err = filepath.Abs(path); err != nil {
			return fmt.Errorf("overrides: %s: %w", key, err)
		}
	}
	for _, o := range config.Overrides {
		v, ok := values[o.Path]
		if !ok {
			continue
		}
		if err := loaded.Override(o, v, "override"); err != nil {
			return fmt.Errorf("%w: overrides: %s: %w", ErrInvalid, o.Path, err)
		}
		delete(values, o.Path)
	}
	for path := range values {
		return fmt.Errorf("%w: overrides: %q is not a path that can be overridden", ErrInvalid, path)
	}
	return loaded.CheckOverrides()
}

// replace makes g the current generation; nil means none. The previous generation is closed when
// its last user is done. commit is called at the moment of the change. If the App was closed, nothing
// changes, and g is closed.
func (a *App) replace(g *assemble.Generation, commit func()) error {
	a.mu.Lock()
	old := a.current
	if old == nil {
		a.mu.Unlock()
		a.retire(g)
		return errAppClosed
	}
	if g != nil && g.Number <= old.Number { // a candidate has one already
		a.number(g)
	}
	a.current = g
	commit()
	a.mu.Unlock()
	a.retire(old)
	return nil
}

// Close waits for running builds, promotions and compactions, ends the plugins, and closes the
// store if the App opened it. If ctx ends first, Close cancels the promotions and compactions and
// returns the error of ctx, and the rest happens in the background. Another Close waits for it.
func (a *App) Close(ctx context.Context) error {
	a.aging.stop()
	_ = a.costs.Flush(ctx) // it logs its error
	a.retire(a.takeCandidate())
	_ = a.replace(nil, func() {}) // another Close may have done so
	done := make(chan error, 1)
	go func() {
		a.retired.Wait()
		_ = a.keeper.Close(ctx) // what waits when ctx ends is not written
		a.costs.Close(ctx)
		a.closeUses(ctx)
		done <- a.closeStore()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		a.promoting.stop()
		_ = a.compacting.Close(ctx) // cancels them: the turns are in the store
		return ctx.Err()
	}
}

// closeUses writes the uses of facts that wait.
func (a *App) closeUses(ctx context.Context) {
	a.opening <- struct{}{}
	s := a.store
	<-a.opening
	if s != nil {
		a.using.flush(ctx, s)
	}
}

func (a *App) closeStore() error {
	a.opening <- struct{}{}
	defer func() { <-a.opening }()
	if !a.opened {
		return nil
	}
	a.opened = false
	if err := a.store.Close(); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// openStore returns the store. The first call opens it.
func (a *App) openStore(ctx context.Context, loaded *config.Loaded) (store.Store, error) {
	if err := take(ctx, a.opening); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	defer func() { <-a.opening }()
	if a.store != nil {
		return a.store, nil
	}
	if t := a.options.Tape.tape(); t.Playing() {
		a.store = t.Store(nil)
		return a.store, nil
	}
	s, err := a.options.Access.open(ctx, loaded.StorePath(), loaded.Store.Synchronous)
	if err != nil {
		return nil, err
	}
	a.store, a.opened = s, true
	if t := a.options.Tape.tape(); t != nil {
		a.store = t.Store(s)
	}
	return a.store, nil
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
