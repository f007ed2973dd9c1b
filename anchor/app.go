package anchor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// ErrInvalid marks a configuration, an option or a request that is wrong. Trying again does
// not help.
var ErrInvalid = config.ErrInvalid

// ErrClosed is the error of an [App] that was closed, and of what it returned before, such
// as a [Run] whose store was closed with it. It is store.ErrClosed.
var ErrClosed = store.ErrClosed

// errAppClosed is the error of an App that was closed.
var errAppClosed = fmt.Errorf("anchor: the App was closed: %w", ErrClosed)

// invalid is an error of a document.
type invalid struct{ strict.Problems }

// Unwrap returns the problems, and what they are.
func (i invalid) Unwrap() []error { return []error{i.Problems, ErrInvalid} }

// wrong marks problems of a document as [ErrInvalid].
func wrong(err error) error {
	var problems strict.Problems
	if errors.As(err, &problems) {
		return invalid{problems}
	}
	return err
}

// refused is an error of what the caller gave.
type refused struct{ error }

// Unwrap returns the error, and what it is.
func (r refused) Unwrap() []error { return []error{r.error, ErrInvalid} }

// Options are what a configuration file does not say, and what overrides it.
type Options struct {
	// PluginDir is the plugin folder, instead of plugins.dir. Empty: that of the file.
	PluginDir string
	// CacheDir is the folder of compiled plugins, instead of cache_dir. "off" is none.
	// Empty: that of the file.
	CacheDir string
	// Overrides are values that replace those of the file, by their path, such as "agent.compaction.enabled":
	// "false". Values are texts as on a command line. Every key can be overridden that holds
	// one value and is in no list and no map of names of your choice.
	Overrides map[string]string
	// Logger receives log lines, those of plugins included. nil discards them.
	Logger *slog.Logger
	// OnCompile is called before a module is compiled, and again when it is compiled: then
	// done is true, and took is the time that it took. It may be called from several
	// goroutines at the same time. It may be nil.
	OnCompile func(plugin string, done bool, took time.Duration)
	// Store keeps conversations, facts and agent runs; [App.Close] leaves it open. nil: the
	// file that the configuration names, which is opened when it is first needed.
	Store store.Store
	// Access says what is done with the file of the store. It means nothing for Store.
	Access Access
	// OnDamaged is called for each fact that is damaged and left out. It may be called from
	// several goroutines, and again for the same fact. nil: a line is logged.
	OnDamaged func(tenant, fact string, err error)
	// Mounts are folders that instances read, instead of what the configuration mounts
	// there.
	Mounts []Mount
	// KV keeps what plugins store, so that it outlives [App.Reload] and the App. nil: each
	// load begins with nothing, in memory.
	KV host.KVStore
	// Lazy loads the plugins of a pipeline with its first build. Otherwise [Load] and
	// [App.Reload] load all plugins.
	Lazy bool
}

// App is a configuration with its plugins loaded. It is safe for concurrent use. One App is
// enough for any number of tenants and conversations.
type App struct {
	options Options

	reloading chan struct{} // holds a value during a reload

	mu      sync.Mutex
	current *generation // nil once closed
	retired sync.WaitGroup

	runs      runLocks // of the runs that are written to
	promoting sync.Map // the conversations, by tenant and id, that are promoted after a build

	opening chan struct{} // holds a value while the store is opened
	store   store.Store
	opened  bool // the store is to be closed
}

// Load reads a configuration file and loads its plugins. A plugin that is missing or
// broken fails only the steps that call it, unless its instance is required. Errors wrap
// [ErrInvalid] where the file is at fault, and fs.ErrNotExist where there is none. Load does
// not read the environment variables ANCHOR_HOST_*: use [Options.Overrides] instead. Relative
// paths refer to the folders of the time of the call, even if the program changes its folder.
func Load(path string, o Options) (*App, error) {
	loaded, err := config.Load(path)
	if err != nil {
		return nil, wrong(err)
	}
	if err := loaded.Absolute(); err != nil { // the program may change its folder
		return nil, err
	}
	return Open(context.Background(), loaded, o)
}

// Open is [Load] for a configuration that was read already. The commands of this module use
// it, because flags and environment variables change what they read. ctx bounds the loading
// of plugins.
func Open(ctx context.Context, loaded *config.Loaded, o Options) (*App, error) {
	a := &App{options: o, store: o.Store, reloading: make(chan struct{}, 1), opening: make(chan struct{}, 1)}
	if a.options.Logger == nil {
		a.options.Logger = slog.New(slog.DiscardHandler)
	}
	if err := a.absolute(); err != nil {
		return nil, err
	}
	if err := a.override(loaded); err != nil {
		return nil, err
	}
	if err := a.mount(loaded); err != nil {
		return nil, err
	}
	g, err := a.newGeneration(ctx, loaded)
	if err != nil {
		_ = a.closeStore() // the first error is the one to report
		return nil, err
	}
	a.current = g
	return a, nil
}

// absolute makes the paths of the options independent of the current folder, which the
// program may change.
func (a *App) absolute() error {
	a.options.Mounts, a.options.Overrides = slices.Clone(a.options.Mounts), maps.Clone(a.options.Overrides)
	paths := []*string{&a.options.PluginDir}
	if a.options.CacheDir != host.CacheOff {
		paths = append(paths, &a.options.CacheDir)
	}
	for i := range a.options.Mounts {
		paths = append(paths, &a.options.Mounts[i].Folder)
	}
	for _, key := range []string{"plugins.dir", "cache_dir", "store.path"} {
		path := a.options.Overrides[key]
		if path == "" || path == host.CacheOff {
			continue
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return fmt.Errorf("overrides: %s: %w", key, err)
		}
		a.options.Overrides[key] = absolute
	}
	for _, path := range paths {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("options: %w", err)
		}
		*path = absolute
	}
	return nil
}

// override enters the overrides of the options.
func (a *App) override(loaded *config.Loaded) error {
	values := map[string]string{}
	for path, v := range a.options.Overrides {
		values[path] = v
	}
	if a.options.PluginDir != "" {
		values["plugins.dir"] = a.options.PluginDir
	}
	if a.options.CacheDir != "" {
		values["cache_dir"] = a.options.CacheDir
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
		return fmt.Errorf("%w: overrides: %q is no path that can be overridden", ErrInvalid, path)
	}
	return loaded.CheckOverrides()
}

// use returns the current generation. It stays open until its users are done.
func (a *App) use() (*generation, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current == nil {
		return nil, errAppClosed
	}
	a.current.users.Add(1)
	return a.current, nil
}

// replace makes a generation the current one, nil for none, and ends the one before as soon
// as nobody uses it. It returns whether there was one.
func (a *App) replace(g *generation) bool {
	a.mu.Lock()
	old := a.current
	if old == nil {
		a.mu.Unlock()
		return false
	}
	a.current = g
	a.retired.Add(1)
	a.mu.Unlock()
	go func() {
		defer a.retired.Done()
		old.users.Wait()
		if err := old.plugins.Close(context.Background()); err != nil {
			a.options.Logger.Warn("plugins do not close", "error", err)
		}
	}()
	return true
}

// Close ends the plugins once running builds are done, and closes the store that the App
// opened. If ctx ends first, its error is returned, and the rest is done later.
func (a *App) Close(ctx context.Context) error {
	a.replace(nil)
	done := make(chan error, 1)
	go func() {
		a.retired.Wait()
		done <- a.closeStore()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
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

// openStore returns the store, and opens it if that has not been done.
func (a *App) openStore(ctx context.Context, loaded *config.Loaded) (store.Store, error) {
	if err := take(ctx, a.opening); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	defer func() { <-a.opening }()
	if a.store != nil {
		return a.store, nil
	}
	s, err := a.options.Access.open(ctx, loaded.StorePath(), loaded.Store.Synchronous)
	if err != nil {
		return nil, err
	}
	a.store, a.opened = s, true
	return s, nil
}
