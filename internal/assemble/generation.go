package assemble

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/components"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/serving"
	"github.com/anchor-host/anchor-host/internal/tape"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/llm"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/registry/lock"
	"github.com/anchor-host/anchor-host/store"
	"github.com/anchor-host/anchor-host/tokens"
)

// Options are settings that are not part of a configuration.
type Options struct {
	// PluginDir is the plugin folder, CacheDir that of compiled plugins (see
	// [host.Config]).
	PluginDir, CacheDir string
	// Guard refuses plugins that differ from anchor.lock. nil allows all.
	Guard *lock.Guard
	// Path resolves the paths of file grants. nil leaves them as they are.
	Path func(string) string
	// Logger receives log lines, those of plugins included. nil discards them.
	Logger *slog.Logger
	// OnCompile is called for each module that is compiled; see [host.Config].
	OnCompile func(plugin string, done bool, took time.Duration)
	// OnRecord receives each call of a plugin; see [host.Config].
	OnRecord func(record.Call)
	// Tape hears or tells what comes from outside. nil: nothing is recorded.
	Tape *tape.Tape
	// KV is the key-value store of the plugins. nil: the host keeps their values in memory.
	KV host.KVStore
	// Index opens the index of the store, which plugins and retrievers search. It is called for
	// each search. nil: there is none.
	Index func(context.Context) (retrieve.Index, error)
	// Components are the Go components of the program; see [Components].
	Components *components.Live
	// OnDamaged is called for each fact that is damaged and left out. nil: a line is logged.
	OnDamaged func(tenant, fact string, err error)
	// Before are the modules of the generation before, by the name of the plugin; see
	// [Generation.Modules]. One of them is used where the module of now cannot be loaded.
	Before map[string]*spec.Spec
	// Keep holds the modules in memory, so that they can be the Before of the next generation whatever
	// becomes of their files.
	Keep bool
}

// Generation is a configuration with its plugins, each loaded once. A plugin is loaded when the
// first [Recipe] or [ChainRecipe] that calls it is made. A Generation is safe for concurrent use.
// Close ends its plugins.
type Generation struct {
	config    *config.Config
	options   Options
	tokenizer *hostTokenizer
	embedders map[string]*lazyEmbedder // by their names in the configuration
	models    *serving.Models
	warned    sync.Map // what retrievers warned of, so that each is said once
	// factVectors keep the vectors of facts, by the name of the embedder.
	factVectors map[string]*memory.EmbeddingCache
	times       pipeline.StepTimes // how long the steps of all pipelines took

	// loading holds a value while a goroutine uses the fields below.
	loading chan struct{}
	closed  bool
	host    *host.Host
	loaded  map[string]*loaded

	listing sync.Mutex // guards the fields below, so that a list need not wait while plugins are loaded
	ready   []Load
	modules map[string]*spec.Spec // those that are loaded, by the name of the plugin
	took    time.Duration

	calibrating  sync.Mutex // guards the fields below
	calibrations map[calibrated]*tokens.Estimator
	// files are the tokenizers of files by path.
	files map[string]pipeline.Tokenizer
}

// errClosed is the error of a generation that was closed.
var errClosed = errors.New("load plugins: the configuration is closed")

// Open returns the generation of a configuration, which must have passed its Check. It
// loads nothing.
func Open(c *config.Config, o Options) *Generation {
	if o.Path == nil {
		o.Path = func(p string) string { return p }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnDamaged == nil {
		o.OnDamaged = func(_, id string, err error) {
			o.Logger.Warn("fact is damaged and left out", "id", id, "error", err)
		}
	}
	g := &Generation{
		config: c, options: o, tokenizer: new(hostTokenizer), loading: make(chan struct{}, 1), loaded: map[string]*loaded{}, modules: map[string]*spec.Spec{},
		calibrations: map[calibrated]*tokens.Estimator{}, embedders: embedders(c, o.Path, o.Tape),
		models: serving.NewModels(c.Models, o.Path), factVectors: map[string]*memory.EmbeddingCache{},
	}
	for name, e := range g.embedders {
		g.factVectors[name] = &memory.EmbeddingCache{Embedder: e}
	}
	return g
}

// ForgetTenant deletes the values that plugins keep for a tenant in memory.
func (g *Generation) ForgetTenant(ctx context.Context, tenant string) error {
	select {
	case g.loading <- struct{}{}:
		defer func() { <-g.loading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if g.host == nil {
		return nil
	}
	return g.host.ForgetTenant(ctx, tenant)
}

// Facts returns the facts of a tenant in a store. Damaged facts are reported and left out.
func (g *Generation) Facts(s store.Store, tenant string) *memory.StoreFacts {
	facts := memory.NewStoreFacts(s, tenant)
	facts.SkipDamaged(func(id string, err error) { g.options.OnDamaged(tenant, id, err) })
	return facts
}

// Close waits for running calls and ends the plugins and the Go components.
func (g *Generation) Close(ctx context.Context) error {
	g.loading <- struct{}{}
	defer func() { <-g.loading }()
	g.closed = true
	for _, e := range g.embedders {
		e.close()
	}
	g.models.Close()
	err := g.options.Components.Close()
	if g.host == nil {
		return err
	}
	return errors.Join(g.host.Close(ctx), err)
}

// load loads every plugin that a job of a configuration may call. c has the instances of the
// generation. load fails if an instance that must answer fails, or if the plugin or the host refuses a
// configuration. It records other failures, such as a missing granted folder, with the plugin.
// warm is the built-in tokenizer, or nil if the tokenizer is a plugin. Its vocabulary is loaded
// at the same time.
func (g *Generation) load(ctx context.Context, c *config.Config, j job, warm pipeline.Tokenizer) (*plugins, error) {
	p := &plugins{config: c, loaded: map[string]*loaded{}, owner: g}
	wanted := wanted(c, j)
	maps.DeleteFunc(wanted, func(name string, _ config.Instance) bool { return g.options.Components.Kind(name) != "" })
	if err := p.make(ctx, j); err != nil || len(wanted) == 0 {
		return p, err
	}
	select {
	case g.loading <- struct{}{}:
		defer func() { <-g.loading }()
	case <-ctx.Done():
		return nil, fmt.Errorf("load plugins: %w", ctx.Err())
	}
	if err := g.openHost(); err != nil {
		return nil, err
	}
	start := time.Now()
	g.loadAll(ctx, p, wanted, warm)
	g.list(p, time.Since(start))
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load plugins: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		switch err := p.loaded[name].err; {
		case err == nil:
		case mistake(err), c.Plugins.Instances[name].Must:
			return nil, placed(c, j, name, err)
		}
		if kept := p.loaded[name].kept; kept != nil && c.Plugins.Instances[name].Must {
			return nil, placed(c, j, name, kept)
		}
	}
	return p, nil
}

// openHost opens the plugin host.
func (g *Generation) openHost() (err error) {
	if g.closed {
		return errClosed
	}
	if g.host != nil {
		return nil
	}
	var share float64
	if s := g.config.Plugins.PluginShare; s != nil {
		share = *s
	}
	of := func(collection string) retrieve.Embedder { return Counted(g.CollectionEmbedder(collection)) }
	index := &serving.Index{Embedder: g.Embedder, Of: of, Open: g.openIndex}
	var models service.Models = g.models
	var transport http.RoundTripper
	if t := g.options.Tape; t != nil {
		models = t.Models(models)
		if t.Playing() {
			transport = t.Transport()
		}
	}
	g.host, err = host.New(host.Config{
		Services: service.Services{Embedder: index, Searcher: index, Models: models}, HTTPTransport: transport,
		Logger: g.options.Logger, CacheDir: g.options.CacheDir, ImageCache: host.DefaultImageCache,
		Tokenizer: g.tokenizer, OnCompile: g.options.OnCompile, OnRecord: g.options.OnRecord, KVStore: g.options.KV,
		Memory: int64(g.config.Plugins.TotalMemory), MaxInstances: g.config.Plugins.MaxInstances, PluginShare: share,
	})
	return err
}

// openIndex returns the index of the store.
func (g *Generation) openIndex(ctx context.Context) (retrieve.Index, error) {
	if g.options.Index == nil {
		return nil, errors.New("there is no store with collections")
	}
	return g.options.Index(ctx)
}

// Model returns a model of the configuration by its name. All callers share it. Its key is read at
// the first call. The error wraps [config.ErrInvalid] if there is no such model, or no key.
func (g *Generation) Model(name string) (*llm.Model, error) { return g.models.Model(name) }

// loadAll loads in parallel those wanted plugins that are not loaded yet. The generation keeps
// plugins that are ready (see [Generation.list]). Others are tried again for the next recipe that
// calls them.
func (g *Generation) loadAll(ctx context.Context, p *plugins, wanted map[string]config.Instance, warm pipeline.Tokenizer) {
	var modules []string
	for name, instance := range wanted {
		if l := g.loaded[name]; l != nil {
			p.loaded[name] = l
			continue
		}
		p.loaded[name] = &loaded{}
		modules = append(modules, modulesOf(instance)...)
	}
	slices.Sort(modules)
	var wg sync.WaitGroup
	if warm != nil { // a failure shows when something is counted
		wg.Go(func() { _, _ = warm.Count(ctx, "a") })
	}
	if len(modules) > 0 {
		catalog := readCatalog(g.options.PluginDir, g.options.CacheDir, slices.Compact(modules), g.options.Guard)
		catalog.others = append(catalog.others, p.config.UseNames()...)
		for name, l := range p.loaded {
			if g.loaded[name] == nil {
				wg.Go(func() {
					start := time.Now()
					g.openOrKeep(ctx, catalog, p, name, wanted[name], l)
					l.took = time.Since(start)
				})
			}
		}
	}
	wg.Wait()
}

// list adds plugins that are ready to the generation.
func (g *Generation) list(p *plugins, took time.Duration) {
	g.listing.Lock()
	defer g.listing.Unlock()
	g.took += took
	for _, l := range p.loads() {
		if l.Err == nil && g.loaded[l.Name] == nil {
			g.loaded[l.Name], g.ready = p.loaded[l.Name], append(g.ready, l)
			_, instance := resolve(g.config, config.Use{Name: l.Name})
			g.modules[instance.Plugin] = p.loaded[l.Name].spec
		}
	}
}

// Loads returns the plugins of all recipes that are ready, and the total time of loading.
func (g *Generation) Loads() ([]Load, time.Duration) {
	g.listing.Lock()
	defer g.listing.Unlock()
	return slices.Clone(g.ready), g.took
}

// open loads a plugin from a module.
func (g *Generation) open(ctx context.Context, catalog *catalog, p *plugins, name string, instance config.Instance, spec *spec.Spec) (*spec.Spec, *host.Plugin, error) {
	err := checkDigest(instance, spec)
	if spec.Foreign && !p.hasFunctions(name) {
		err = errForeign
	}
	if err != nil {
		return nil, nil, &Unavailable{Plugin: name, Code: ReasonInvalidPlugin, Err: err}
	}
	cfg, err := pluginConfig(name, instance, g.options.Path)
	if err != nil {
		return spec, nil, &Unavailable{Plugin: name, Code: ReasonInvalidConfig, Err: err}
	}
	var missing *Unavailable
	if cfg.Links, _, missing = catalog.links(instance); missing != nil {
		missing.Plugin = name
		return spec, nil, missing
	}
	plugin, err := g.host.Load(ctx, spec, cfg)
	if err != nil {
		return spec, nil, asUnavailable(name, "", err)
	}
	return spec, plugin, nil
}

// calibrated is a model with the file of its figures.
type calibrated struct{ model, file string }

// wanted returns the instances that a job uses or that must answer, by name.
func wanted(c *config.Config, j job) map[string]config.Instance {
	wanted := map[string]config.Instance{}
	for _, u := range uses(c) {
		if name, instance := resolve(c, u.Use); u.job&j != 0 {
			wanted[name] = instance
		}
	}
	for name, instance := range c.Plugins.Instances {
		if instance.Must {
			wanted[name] = instance
		}
	}
	return wanted
}

// placed names the first place that uses an instance.
func placed(c *config.Config, j job, instance string, err error) error {
	for _, u := range uses(c) {
		name, _ := resolve(c, u.Use)
		switch {
		case name != instance || u.job&j == 0:
		case u.stepName != "":
			return &StepError{u.stepName, err}
		default:
			return fmt.Errorf("%s: %w", u.path, err)
		}
	}
	if c.Plugins.Instances[instance].Must {
		return fmt.Errorf("plugins.instances.%s: %w", instance, err)
	}
	return err
}

// modulesOf returns the modules of an instance: its plugin and its links.
func modulesOf(i config.Instance) []string {
	return append([]string{i.Plugin}, slices.Sorted(maps.Values(i.Links))...)
}

// checkDigest returns an error if the module or its plugin.yaml differ from the pin.
func checkDigest(instance config.Instance, spec *spec.Spec) error {
	if instance.Digest == "" {
		return nil
	}
	return spec.CheckPin(instance.Digest)
}

// hasFunctions reports whether a step calls a function of an instance by name.
func (p *plugins) hasFunctions(instance string) bool {
	return slices.ContainsFunc(p.config.Steps, func(s config.Step) bool {
		name, _ := resolve(p.config, s.Use)
		return s.Function != "" && name == instance
	})
}
