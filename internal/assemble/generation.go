package assemble

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/components"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/price"
	"github.com/anchor-host/anchor-host/internal/serving"
	"github.com/anchor-host/anchor-host/internal/shadow"
	"github.com/anchor-host/anchor-host/internal/tape"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/llm"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/registry/lock"
	"github.com/anchor-host/anchor-host/store"
)

// Options are settings that are not part of a configuration.
type Options struct {
	// Logger receives log lines, those of plugins included. nil discards them.
	Logger *slog.Logger
	// OnCompile is called for each module that is compiled; see [host.Config].
	OnCompile func(plugin string, done bool, took time.Duration)
	// OnRecord receives each call of a plugin; see [host.Config].
	OnRecord func(record.Call)
	// OnFailure receives each call of a plugin that failed; see [host.Config].
	OnFailure func(record.Failure)
	// Tape hears or tells what comes from outside. nil: nothing is recorded.
	Tape *tape.Tape
	// KV is the key-value store of the plugins. nil: the host keeps their values in memory.
	KV host.KVStore
	// Index opens the index of the store, which plugins and retrievers search. It is called for
	// each search. nil: there is none.
	Index func(context.Context) (retrieve.Index, error)
	// Components are the Go components of the program. It may be nil.
	Components *components.Set
	// OnDamaged is called for each fact that is damaged and left out. nil: a line is logged.
	OnDamaged func(tenant, fact string, err error)
	// Before is the generation before, which stays open for as long as this one is opened. Its module of
	// a plugin is used where the module of now cannot be loaded. It may be nil.
	Before *Generation
	// Strict reads what the configuration names outside of its file, as [CheckStart] does.
	Strict bool
	// Keep holds the modules in memory, so that the next generation can use them whatever becomes of
	// their files.
	Keep bool
}

// Generation is one loaded version of a configuration: its plugins, each loaded once, and its pipelines,
// each compiled once. Both happen when they are first asked for. A Generation is safe for concurrent use.
// Close ends its plugins. It has a noun of its own beside the configuration because builds of two versions
// run at the same time during a reload.
type Generation struct {
	// Number is 1 for the first version, and one more for each reload. Since is when it was made.
	Number int64
	Since  time.Time
	// Loaded is the configuration.
	Loaded *config.Loaded
	// Shadows are the second versions of steps.
	Shadows shadow.Set
	// Prices are those of the models. nil: the configuration names no file of prices.
	Prices *price.Table

	configs   map[string]*config.Config // by name of the pipeline; "" is the top level of the file
	options   Options
	live      *components.Live
	before    map[string]*spec.Spec // modules of the generation before, by the name of the plugin
	guard     *lock.Guard
	tokenizer *hostTokenizer
	embedders map[string]*lazyEmbedder // by their names in the configuration
	models    *serving.Models
	warned    sync.Map // what retrievers warned of, so that each is said once
	// factVectors keep the vectors of facts, by the name of the embedder.
	factVectors map[string]*memory.EmbeddingCache
	times       pipeline.StepTimes // how long the steps of all pipelines took
	users       sync.WaitGroup     // the calls that use the generation
	counters    counters

	// loading holds a value while plugins are loaded, which can take long and ends with a context. It
	// guards closed, host and loaded.
	loading chan struct{}
	closed  bool
	host    *host.Host
	loaded  map[string]*loaded

	// mu guards the fields below. Nobody waits under it.
	mu        sync.RWMutex
	pipelines map[string]*Pipeline
	agent     *Agent
	ready     []Load
	modules   map[string]*spec.Spec // those that are loaded, by the name of the plugin
	took      time.Duration
	digest    string // of as many loads as digested says
	digested  int
}

// errClosed is the error of a generation that was closed.
var errClosed = errors.New("load plugins: the configuration is closed")

// Open returns the generation of a configuration, which must have passed its Check. It loads no plugin.
// Errors wrap [config.ErrInvalid].
func Open(l *config.Loaded, o Options) (*Generation, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnDamaged == nil {
		logger := o.Logger // and not o, which has the generation before
		o.OnDamaged = func(_, id string, err error) {
			logger.Warn("fact is damaged and left out", "id", id, "error", err)
		}
	}
	g := &Generation{
		Number: 1, Since: time.Now(), Loaded: l, options: o, guard: Guard(l), tokenizer: new(hostTokenizer), loading: make(chan struct{}, 1),
		configs: map[string]*config.Config{}, loaded: map[string]*loaded{}, modules: map[string]*spec.Spec{}, pipelines: map[string]*Pipeline{},
		factVectors: map[string]*memory.EmbeddingCache{},
	}
	for _, name := range append(l.PipelineNames(), "") {
		c, err := l.Pipeline(name)
		if err != nil {
			return nil, err
		}
		g.configs[name] = c
	}
	var err error
	if g.live, err = liveComponents(l, o.Components); err != nil {
		return nil, errkind.As(config.ErrInvalid, err)
	}
	g.models, g.embedders = serving.NewModels(l.Models, l.Path, g.asker), embedders(&l.Config, l.Path, o.Tape, g.live)
	for name, e := range g.embedders {
		g.factVectors[name] = &memory.EmbeddingCache{Embedder: e}
	}
	read := ReadPrices
	if o.Strict {
		read = CheckStart
	}
	if g.Prices, err = read(l); err != nil {
		return nil, errkind.As(config.ErrInvalid, err)
	}
	if o.Before != nil {
		o.Before.mu.RLock()
		defer o.Before.mu.RUnlock()
		g.before, g.options.Before = maps.Clone(o.Before.modules), nil
	}
	return g, nil
}

// Hold keeps the generation open until release, which is [Generation.Release], is called once. Somebody
// else holds it already, or nobody has closed it yet.
func (g *Generation) Hold() (release func()) {
	g.users.Add(1)
	return g.Release
}

// Release ends one Hold.
func (g *Generation) Release() { g.users.Done() }

// Config returns the configuration of a pipeline. The empty name is that of the top level of the file.
func (g *Generation) Config(pipeline string) (*config.Config, error) {
	if c := g.configs[pipeline]; c != nil {
		return c, nil
	}
	return g.Loaded.Pipeline(pipeline) // its error
}

// Pipeline returns a pipeline of the configuration. The first call compiles it.
func (g *Generation) Pipeline(ctx context.Context, name string) (*Pipeline, error) {
	g.mu.RLock()
	p := g.pipelines[name]
	g.mu.RUnlock()
	if p != nil {
		return p, nil
	}
	c, err := g.Config(name)
	if err != nil {
		return nil, err
	}
	if p, err = g.Compile(host.WithTenant(ctx, g.Loaded.TenantName()), c); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if first := g.pipelines[name]; first != nil { // of another call, which compiled it at the same time
		return first, nil
	}
	g.pipelines[name] = p
	return p, nil
}

// Agent returns what the configuration says of agents. The first call compiles it.
func (g *Generation) Agent(ctx context.Context) (*Agent, error) {
	g.mu.RLock()
	a := g.agent
	g.mu.RUnlock()
	if a != nil {
		return a, nil
	}
	a, err := g.compileAgent(host.WithTenant(ctx, g.Loaded.TenantName()))
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.agent == nil {
		g.agent = a
	}
	return g.agent, nil
}

// Loads returns the attempts to load a plugin, and the total time of loading.
func (g *Generation) Loads() ([]Load, time.Duration) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	loads := slices.Clone(g.ready)
	for _, p := range g.pipelines {
		loads = append(loads, p.plugins.loads()...)
	}
	if g.agent != nil {
		loads = append(loads, g.agent.plugins.loads()...)
	}
	return loads, g.took
}

// Modules are the digests of the modules of plugins that are loaded, by the name of the plugin.
func (g *Generation) Modules() map[string]string {
	loads, _ := g.Loads()
	return digests(loads)
}

func digests(loads []Load) map[string]string {
	out := map[string]string{}
	for _, l := range loads {
		if l.Plugin != nil {
			out[l.Name] = l.Plugin.Spec().Digest
		}
	}
	return out
}

// Digest is that of the settings, without secrets, and of the modules that are loaded. all says that no
// more will be loaded.
func (g *Generation) Digest(all bool) string {
	g.mu.RLock()
	known := g.digest
	g.mu.RUnlock()
	if all && known != "" {
		return known
	}
	loads, _ := g.Loads()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.digest == "" || g.digested != len(loads) {
		var lines [][2]any
		for _, s := range g.Loaded.Settings() {
			lines = append(lines, [2]any{s.Path, s.Value})
		}
		doc, _ := json.Marshal(struct { // values of settings are JSON values
			Settings [][2]any
			Modules  map[string]string
		}{lines, digests(loads)})
		g.digested, g.digest = len(loads), builds.Digest(doc)
	}
	return g.digest
}

// ForgetBefore frees the modules of the generation before. It is called when the plugins of the
// configuration are loaded.
func (g *Generation) ForgetBefore() {
	g.loading <- struct{}{}
	defer func() { <-g.loading }()
	g.before = nil
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

// Close waits until nobody holds the generation, and ends the plugins and the Go components.
func (g *Generation) Close(ctx context.Context) error {
	g.users.Wait()
	g.loading <- struct{}{}
	defer func() { <-g.loading }()
	g.closed = true
	for _, e := range g.embedders {
		e.close()
	}
	g.models.Close()
	err := g.live.Close()
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
	maps.DeleteFunc(wanted, func(name string, _ config.Instance) bool { return g.live.Kind(name) != "" })
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
		Logger: g.options.Logger, CacheDir: g.Loaded.CachePath(), ImageCache: host.DefaultImageCache,
		Tokenizer: g.tokenizer, OnCompile: g.options.OnCompile, OnRecord: g.options.OnRecord, OnFailure: g.options.OnFailure, KVStore: g.options.KV,
		Memory: int64(g.Loaded.Plugins.TotalMemory), MaxInstances: g.Loaded.Plugins.MaxInstances,
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
// plugins that are ready (see [Generation.list]). Others are tried again for the next pipeline that
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
		catalog := readCatalog(g.Loaded.PluginDir(), g.Loaded.CachePath(), slices.Compact(modules), g.guard)
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
	if g.options.Keep && len(modules) > 1 { // of a service, which stays: loading takes far more memory than plugins keep
		debug.FreeOSMemory()
	}
}

// list adds plugins that are ready to the generation.
func (g *Generation) list(p *plugins, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.took += took
	for _, l := range p.loads() {
		if l.Err == nil && g.loaded[l.Name] == nil {
			g.loaded[l.Name], g.ready = p.loaded[l.Name], append(g.ready, l)
			g.modules[resolve(&g.Loaded.Config, l.Name).Plugin] = p.loaded[l.Name].spec
		}
	}
}

// openOrKeep loads a plugin. If its module cannot be loaded, as when it is copied just now, the module
// of the generation before is loaded in its place.
func (g *Generation) openOrKeep(ctx context.Context, c *catalog, p *plugins, name string, instance config.Instance, l *loaded) {
	found, missing := c.spec(instance.Plugin)
	if missing == nil {
		l.spec, l.plugin, l.err = g.open(ctx, c, p, name, instance, found)
	} else {
		missing.Plugin = name
		l.err = missing
	}
	if l.err == nil && g.options.Keep {
		// If it fails, the file has changed since, and the next reload finds no module to keep.
		_ = l.spec.Keep()
	}
	before := g.before[instance.Plugin]
	if l.err == nil || mistake(l.err) || before == nil || found != nil && found.Digest == before.Digest || !c.allows(instance.Plugin, before) {
		return
	}
	if s, plugin, err := g.open(ctx, c, p, name, instance, before); err == nil {
		l.spec, l.plugin, l.err, l.kept = s, plugin, nil, l.err
	}
}

// allows reports whether anchor.lock allows a module that is not that of the plugin folder.
func (c *catalog) allows(plugin string, s *spec.Spec) bool {
	held := []spec.Entry{{Name: plugin, Spec: s}}
	_, err := c.guard.Hold(held)
	return err == nil && held[0].Err == nil
}

// open loads a plugin from a module.
func (g *Generation) open(ctx context.Context, catalog *catalog, p *plugins, name string, instance config.Instance, spec *spec.Spec) (*spec.Spec, *host.Plugin, error) {
	var err error
	if instance.Digest != "" {
		err = spec.CheckPin(instance.Digest)
	}
	if spec.Foreign && !p.hasFunctions(name) {
		err = errForeign
	}
	if err != nil {
		return nil, nil, &Unavailable{Plugin: name, Code: ReasonInvalidPlugin, Err: err}
	}
	cfg, err := pluginConfig(name, instance, g.Loaded.Path)
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

// wanted returns the instances that a job uses or that must answer, by name.
func wanted(c *config.Config, j job) map[string]config.Instance {
	wanted := map[string]config.Instance{}
	for _, u := range uses(c) {
		if u.job&j != 0 {
			wanted[u.Name] = resolve(c, u.Name)
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
		if u.Name == instance && u.job&j != 0 {
			return u.placed(err)
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

// hasFunctions reports whether a step calls a function of an instance by name.
func (p *plugins) hasFunctions(instance string) bool {
	return slices.ContainsFunc(p.config.Steps, func(s config.Step) bool {
		return s.Function != "" && s.Use.Name == instance
	})
}
