package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/capacity"
	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/imagestore"
	"github.com/anchor-host/anchor-host/host/internal/imports"
	"github.com/anchor-host/anchor-host/host/internal/kv"
	"github.com/anchor-host/anchor-host/host/internal/mounts"
	_ "github.com/anchor-host/anchor-host/internal/only64" // a build for 32 bits fails with one line
)

// randomSource provides the random numbers of guests.
var randomSource = rand.Reader

// Host compiles and runs plugins. It is safe for concurrent use. Closing it closes every
// plugin.
type Host struct {
	cfg Config
	// room has the places and the memory of instances.
	room   *capacity.Room
	tokens *imports.Tokenizer
	// turns shares the processors between plugins.
	turns   *fairness.Queue
	counts  counters
	kv      *kv.Stores
	folders mounts.Folders

	// root is the cache folder, nil if nothing is kept between processes, and noRoot why the
	// configured one is not used. kept is what was found out about modules, nil like root.
	root   *cacheRoot
	noRoot error
	kept   *codestore.Notes
	// images are kept on disk, nil if they are not. slowInit is how long an init must take
	// for its image to be kept there.
	images   *imagestore.Store
	slowInit time.Duration

	// compiler has the engines and the compiled modules.
	compiler *compile.Compiler

	mu      sync.Mutex
	closed  bool
	plugins map[*Plugin]bool
}

// New makes a host. Errors wrap ErrConfig and name the field of cfg that is not valid, or
// wrap [ErrAddressSpace].
func New(cfg Config) (*Host, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Memory, err = capacity.BoundMemory(cfg.Memory); err != nil {
		return nil, err
	}
	h := &Host{cfg: cfg, plugins: map[*Plugin]bool{}}
	h.room = capacity.New(capacity.Options{Instances: int64(cfg.MaxInstances), Memory: cfg.Memory, Share: cfg.shareOfOne(), Clock: guest.Clock})
	h.kv = newStores(&cfg)
	h.tokens = imports.NewTokenizer(cfg.Tokenizer, readEncoding)
	h.turns = fairness.NewQueue(guest.Clock, func() int { return runtime.GOMAXPROCS(0) })
	if h.root, h.noRoot = openRoot(cfg.CacheDir, cfg.Logger); h.noRoot != nil {
		cfg.Logger.Warn("nothing is kept between processes: modules are compiled anew by each", "reason", h.noRoot)
	}
	if h.root != nil {
		h.kept, h.images = h.root.facts, openImages(h.root, cfg.ImageCache)
	}
	h.compiler = compile.New(h.cfg.compileOptions(h.root))
	h.slowInit = slowInit
	return h, nil
}

// Close closes every plugin, waiting for running calls until ctx ends, and then the host.
// If ctx ends first, it returns an error, and Close may be called again.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	plugins := make([]*Plugin, 0, len(h.plugins))
	for p := range h.plugins {
		plugins = append(plugins, p)
	}
	h.mu.Unlock()
	h.compiler.Stop()
	h.room.Stop()
	var errs []error
	for _, p := range plugins {
		errs = append(errs, p.Close(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return err // a guest still runs: its engine must stay
	}
	if err := h.compiler.Close(ctx); err != nil {
		return fmt.Errorf("host: close: %w", err)
	}
	return nil
}

// engineKind is the engine of a plugin whose configuration states one, or EngineAuto.
func (h *Host) engineKind(stated Engine) Engine {
	kind := stated
	if kind == EngineAuto {
		kind = h.cfg.Engine
	}
	if kind == EngineAuto {
		return EngineCompiler
	}
	return kind
}
