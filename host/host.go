package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// randomSource is what guests draw random numbers from.
var randomSource = rand.Reader

// Host compiles plugins and runs them. It is safe for concurrent use. Closing
// it closes every plugin.
type Host struct {
	cfg       Config
	instances budget
	memory    budget
	tokens    tokenizer
	kv        kvStores

	// kept is what was found out about modules, nil if it is not kept.
	kept *factsCache
	// imageDir is the folder of images, "" if there is none; slowInit is how long
	// an init takes at least whose image goes there.
	imageDir string
	slowInit time.Duration

	// compiling admits one compilation at a time. loading is held while a module is
	// made, so that its engine stays.
	compiling chan struct{}
	loading   sync.RWMutex

	mu      sync.Mutex
	closed  bool
	engines map[string]*engine
	modules map[moduleKey]*module
	// making are the modules that are being made; the channel is closed when that
	// ends.
	making  map[moduleKey]chan struct{}
	plugins map[*Plugin]bool
}

// New makes a host. The error names the field of cfg that is not valid.
func New(_ context.Context, cfg Config) (*Host, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	kept := openFacts(cfg.CacheDir)
	switch cfg.CacheDir {
	case "":
		cfg.CacheDir = defaultCacheDir()
	case CacheOff:
		cfg.CacheDir = ""
	}
	h := &Host{
		cfg: cfg, kept: kept, compiling: make(chan struct{}, 1),
		engines: map[string]*engine{}, modules: map[moduleKey]*module{},
		making: map[moduleKey]chan struct{}{}, plugins: map[*Plugin]bool{},
	}
	h.instances.limit, h.memory.limit = int64(cfg.MaxInstances), cfg.Memory
	h.kv.stores, h.kv.limit = map[kvKey]*kvStore{}, cfg.KVMemory
	h.tokens.given = cfg.Tokenizer
	h.imageDir, h.slowInit = openImages(cfg), slowInit
	return h, nil
}

// Close closes every plugin, waiting for running calls until ctx ends, and
// then the host. It may be called again.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	plugins := make([]*Plugin, 0, len(h.plugins))
	for p := range h.plugins {
		plugins = append(plugins, p)
	}
	h.mu.Unlock()
	var errs []error
	for _, p := range plugins {
		errs = append(errs, p.Close(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return err // a guest still runs: its engine must stay
	}
	h.loading.Lock() // what is being made still needs its engine
	defer h.loading.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	for kind, e := range h.engines {
		errs = append(errs, e.close(ctx))
		delete(h.engines, kind)
	}
	return errors.Join(errs...)
}

// countTokens counts by the host's tokenizer.
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

// Tokenizer returns the tokenizer that counts the items of guests.
func (h *Host) Tokenizer() (pipeline.Tokenizer, error) { return h.tokens.load() }

// engine returns the engine of a kind, made when first needed.
func (h *Host) engine(ctx context.Context, kind string) (*engine, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, fmt.Errorf("host: %w", ErrClosed)
	}
	if e := h.engines[kind]; e != nil {
		return e, nil
	}
	e, err := newEngine(ctx, kind, h.cfg.CacheDir, h.cfg.Portable, h.cfg.Functions)
	if err != nil {
		return nil, err
	}
	h.engines[kind] = e
	return e, nil
}

// engineKind chooses the engine of a plugin.
func (h *Host) engineKind(spec *Spec, stated string) string {
	kind := stated
	if kind == EngineAuto {
		kind = h.cfg.Engine
	}
	if kind == EngineAuto && spec.slow != "" {
		return EngineInterpreter
	}
	if kind == EngineAuto {
		return EngineCompiler
	}
	return kind
}
