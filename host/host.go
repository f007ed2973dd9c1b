package host

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
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

// moduleKey names a compiled module: the same one serves every plugin that is
// configured with it.
type moduleKey struct {
	digest [sha256.Size]byte
	engine string
	// pages is the most memory of the module, 0 where its instances' own memories
	// hold them to it.
	pages uint32
}

// module is a compiled module with the number of plugins that use it.
type module struct {
	key      moduleKey
	compiled wazero.CompiledModule
	// digest identifies the module and how it was rewritten; open is how the host
	// reaches the state of its instances.
	digest [sha256.Size]byte
	open   *wasmbin.Prepared
	// segments are the data segments that are left to the host.
	segments func() (wasmbin.Data, error)
	users    int
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

// module returns the compiled module of a spec, compiling it if no other plugin
// uses it.
func (h *Host) module(ctx context.Context, name string, spec *Spec, kind string, memory int64) (*module, *engine, error) {
	h.loading.RLock()
	defer h.loading.RUnlock()
	e, err := h.engine(ctx, kind)
	if err != nil {
		return nil, nil, err
	}
	e.settling.Lock()
	if spec.linkable() {
		e.findKernel(ctx)
	}
	e.settling.Unlock()
	key := moduleKey{digest: spec.source.digest, engine: kind}
	if h.cfg.Portable {
		key.pages = uint32(memory / wasmPage)
	}
	m, made, err := h.share(ctx, key)
	if m != nil || err != nil {
		return m, e, err
	}
	defer made()
	if m, err = h.compile(ctx, e, name, spec, key); err != nil {
		return nil, nil, err
	}
	m.key = key
	h.mu.Lock()
	h.modules[key] = m
	h.mu.Unlock()
	return m, e, nil
}

// share returns a module that another plugin uses, or makes right now. If there is
// none, the caller must make it, and call made then.
func (h *Host) share(ctx context.Context, key moduleKey) (m *module, made func(), err error) {
	for {
		h.mu.Lock()
		if m := h.modules[key]; m != nil {
			m.users++
			h.mu.Unlock()
			return m, nil, nil
		}
		wait := h.making[key]
		if wait == nil {
			done := make(chan struct{})
			h.making[key] = done
			h.mu.Unlock()
			return nil, func() {
				h.mu.Lock()
				delete(h.making, key)
				h.mu.Unlock()
				close(done)
			}, nil
		}
		h.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("wait for another compilation: %w", ctx.Err())
		}
	}
}

// compile makes a module of what the cache has, or meters and compiles it, and tells
// who wants to know.
func (h *Host) compile(ctx context.Context, e *engine, name string, spec *Spec, key moduleKey) (*module, error) {
	var bounds wasmbin.Bounds
	if key.engine == EngineInterpreter {
		bounds = wasmbin.InterpreterBounds()
	}
	if h.cfg.OnCompile != nil {
		begin := time.Now()
		h.cfg.OnCompile(name, false, 0)
		defer func() { h.cfg.OnCompile(name, true, time.Since(begin)) }()
	}
	options := meterOptions(bounds, key.pages)
	code := codeKey(spec, options)
	var shell []byte
	if e.cache != nil { // what is wrong with the module, Prepare says
		if open, err := h.shell(spec, options, code); err == nil {
			shell, open.Wasm = open.Wasm, nil
			if compiled := e.load(ctx, code, shell); compiled != nil {
				return newModule(compiled, spec, code, open), nil
			}
		}
	}
	return h.compileAnew(ctx, e, spec, options, code, shell)
}

// shell is the shell of a module, kept or made, without its data.
func (h *Host) shell(spec *Spec, o wasmbin.MeterOptions, code [sha256.Size]byte) (*wasmbin.Prepared, error) {
	var kept wasmbin.Prepared
	if h.kept.get(kindShell, code[:], &kept) {
		return &kept, nil
	}
	wasm, err := spec.source.bytes()
	if err != nil {
		return nil, err
	}
	open, err := wasmbin.Shell(wasm, spec.facts, o, hex.EncodeToString(code[:]))
	if err == nil {
		h.kept.put(kindShell, code[:], open)
	}
	return open, err
}

// newModule is a compiled module with one user.
func newModule(compiled wazero.CompiledModule, spec *Spec, code [sha256.Size]byte, open *wasmbin.Prepared) *module {
	m := &module{compiled: compiled, digest: code, open: open, users: 1}
	m.segments = sync.OnceValues(func() (wasmbin.Data, error) {
		if !open.Lifted || open.Data.Len() > 0 {
			return open.Data, nil
		}
		wasm, err := spec.source.bytes()
		if err != nil {
			return wasmbin.Data{}, err
		}
		return wasmbin.Lifted(wasm, spec.facts)
	})
	return m
}

// compileAnew meters and compiles a module. One is compiled at a time: each takes all
// processors.
func (h *Host) compileAnew(ctx context.Context, e *engine, spec *Spec, o wasmbin.MeterOptions, code [sha256.Size]byte, shell []byte) (*module, error) {
	select {
	case h.compiling <- struct{}{}:
		defer func() { <-h.compiling }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for another compilation: %w", ctx.Err())
	}
	h.mu.Lock()
	closed := h.closed
	h.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("host: %w", ErrClosed)
	}
	wasm, err := spec.source.bytes()
	if err != nil {
		return nil, err
	}
	open, err := wasmbin.Prepare(wasm, o)
	switch {
	case errors.Is(err, wasmbin.ErrLimit):
		return nil, as(ErrTooLarge, err)
	case err != nil:
		return nil, as(ErrNotWasm, err)
	}
	compiled, err := e.build(ctx, code, open.Wasm, shell, h.cfg.CompileWorkers)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("compile: %w", ctx.Err())
	case err != nil:
		return nil, as(ErrNotWasm, fmt.Errorf("compile: %s", oneLine(err.Error())))
	}
	open.Wasm = nil // compiled, and of no more use
	return newModule(compiled, spec, code, open), nil
}

// release gives a module back; the last user frees it.
func (h *Host) release(ctx context.Context, m *module) error {
	h.mu.Lock()
	m.users--
	last := m.users == 0
	if last {
		delete(h.modules, m.key)
	}
	h.mu.Unlock()
	if last {
		return m.compiled.Close(ctx)
	}
	return nil
}
