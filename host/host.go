package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/host/internal/imagestore"
	_ "github.com/anchor-host/anchor-host/internal/only64" // a build for 32 bits fails with one line
)

// randomSource provides the random numbers of guests.
var randomSource = rand.Reader

// Host compiles and runs plugins. It is safe for concurrent use. Closing it closes every
// plugin.
type Host struct {
	cfg       Config
	instances budget
	memory    budget
	reclaimer *reclaimer
	tokens    tokenizer
	// turns shares the processors between plugins.
	turns   *fairness.Queue
	counts  counters
	owners  owners
	kv      kvStores
	folders folders

	// root is the cache folder, nil if nothing is kept between processes. kept is what was
	// found out about modules, nil likewise.
	root *cacheRoot
	kept *codestore.Notes
	// images are kept on disk, nil if they are not. slowInit is how long an init must take
	// for its image to be kept there.
	images   *imagestore.Store
	slowInit time.Duration

	// room limits compilations that run at the same time. life ends when the host is
	// closed.
	room loadRoom
	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	closed  bool
	engines map[string]*startedEngine
	modules map[moduleKey]*module
	// making are the modules that are being made. spare is one that was made after all its
	// Loads had left.
	making  map[moduleKey]*making
	spare   *module
	plugins map[*Plugin]bool
}

// startedEngine is an engine that is being made. When done is closed, the engine is there,
// or err says why not.
type startedEngine struct {
	done chan struct{}
	*engine
	err error
}

// New makes a host. Errors wrap ErrConfig and name the field of cfg that is not valid, or
// wrap [ErrAddressSpace].
func New(_ context.Context, cfg Config) (*Host, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Memory, err = boundMemory(cfg.Memory); err != nil {
		return nil, err
	}
	h := &Host{
		cfg: cfg, room: loadRoom{limit: cfg.LoadMemory},
		engines: map[string]*startedEngine{}, modules: map[moduleKey]*module{},
		making: map[moduleKey]*making{}, plugins: map[*Plugin]bool{},
	}
	h.life, h.end = context.WithCancel(context.Background())
	h.instances.limit, h.memory.limit = int64(cfg.MaxInstances), cfg.Memory
	h.reclaimer = &reclaimer{plugins: map[*Plugin]struct{}{}}
	h.kv.stores, h.kv.limit = map[KVOwner]*kvStore{}, cfg.KVMemory
	h.tokens.given = cfg.Tokenizer
	h.turns = fairness.NewQueue(clock, func() int { return runtime.GOMAXPROCS(0) })
	if h.root, err = openRoot(cfg.CacheDir, cfg.Logger); err != nil {
		cfg.Logger.Warn("nothing is kept between processes: modules are compiled anew by each", "reason", err)
	}
	if h.root != nil {
		h.kept, h.images = h.root.facts, openImages(h.root, cfg.ImageCache)
	}
	h.slowInit = slowInit
	return h, nil
}

// Close closes every plugin, waiting for running calls until ctx ends, and then the host.
// If ctx ends first, it returns an error, and Close may be called again.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.end()
	plugins := make([]*Plugin, 0, len(h.plugins))
	for p := range h.plugins {
		plugins = append(plugins, p)
	}
	h.mu.Unlock()
	h.reclaimer.stop()
	var errs []error
	for _, p := range plugins {
		errs = append(errs, p.Close(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return err // a guest still runs: its engine must stay
	}
	if err := h.stopMaking(ctx); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.spare; m != nil {
		h.spare = nil
		delete(h.modules, m.key)
		errs = append(errs, m.compiled.Close(ctx))
	}
	for kind, e := range h.engines {
		errs = append(errs, e.close(ctx))
		delete(h.engines, kind)
	}
	return errors.Join(errs...)
}

// countTokens counts the tokens of texts with the host's tokenizer.
func (h *Host) countTokens(ctx context.Context, texts ...string) ([]int, error) {
	t, err := h.tokens.load()
	if err != nil {
		return nil, fmt.Errorf("load tokenizer: %w", err)
	}
	counts, err := t.Count(ctx, texts...)
	if err != nil {
		return nil, fmt.Errorf("count tokens: %w", err)
	}
	if len(counts) != len(texts) {
		return nil, fmt.Errorf("count tokens: tokenizer %q returned %d counts for %d texts", t.Name(), len(counts), len(texts))
	}
	return counts, nil
}

// Tokenizer returns the tokenizer that counts the tokens of what guests add. It loads the
// tokenizer if that has not been done.
func (h *Host) Tokenizer() (Tokenizer, error) { return h.tokens.load() }

// engine returns the engine of a kind, and makes it when it is first needed. It is called
// only while a module is made, which Close waits for.
func (h *Host) engine(ctx context.Context, kind string) (*engine, error) {
	h.mu.Lock()
	s := h.engines[kind]
	if s != nil {
		h.mu.Unlock()
		<-s.done
		return s.engine, s.err
	}
	s = &startedEngine{done: make(chan struct{})}
	h.engines[kind] = s
	h.mu.Unlock()
	defer close(s.done)
	s.engine, s.err = newEngine(ctx, &h.cfg, kind, h.root)
	if s.err != nil {
		h.mu.Lock()
		delete(h.engines, kind) // the next one tries again
		h.mu.Unlock()
	}
	return s.engine, s.err
}

// engineKind is the engine of a plugin whose configuration states one, or EngineAuto.
func (h *Host) engineKind(stated string) string {
	kind := stated
	if kind == EngineAuto {
		kind = h.cfg.Engine
	}
	if kind == EngineAuto {
		return EngineCompiler
	}
	return kind
}
