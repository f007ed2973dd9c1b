package compile

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// Engine is one wazero runtime with the functions in it that guests import.
type Engine struct {
	// RT is the runtime. Interpreted says that it interprets modules.
	RT          wazero.Runtime
	Interpreted bool
	// Features are the parts of wazero without a compatibility promise that the engine uses.
	Features wazerox.States

	code CodeCache

	// mu guards kernel, which is compiled from wasm. sought says that this was tried.
	mu     sync.Mutex
	kernel wazero.CompiledModule
	sought bool
	wasm   func() []byte
}

// NewEngine makes an engine. Guests are stopped by the meter in their code, not by wazero's
// WithCloseOnContextDone, which makes guests several times slower and does not stop recursion.
// Errors are those of Options.Offer.
func NewEngine(ctx context.Context, o Options, interpreted bool) (*Engine, error) {
	e := &Engine{Interpreted: interpreted, Features: o.Features(interpreted), wasm: o.Kernel}
	cfg := wazero.NewRuntimeConfig()
	switch {
	case interpreted:
		cfg = wazero.NewRuntimeConfigInterpreter()
	case o.OpenCode != nil && e.Features.On(wazerox.CodeFiles):
		if e.code = o.OpenCode(ctx, e.Features.CoreFeatures()); e.code != nil {
			cfg = cfg.WithCompilationCache(e.code.Wazero())
		}
	}
	e.RT = wazero.NewRuntimeWithConfig(ctx, cfg.WithCoreFeatures(e.Features.CoreFeatures()))
	if err := o.Offer(ctx, e.RT); err != nil {
		return nil, fmt.Errorf("engine: offer host functions: %w", errors.Join(err, e.Close(ctx)))
	}
	return e, nil
}

// Close closes the runtime and everything made of it.
func (e *Engine) Close(ctx context.Context) error {
	err := e.RT.Close(ctx)
	if e.code != nil {
		err = errors.Join(err, e.code.Close(ctx))
	}
	return err
}

// Kernel returns the module with Extism's functions that guests are linked to, and compiles it
// when it is first needed. It is nil if host functions take its place: under the interpreter,
// where calling Go code in the host is cheaper than interpreting the kernel, and if modules
// cannot be linked. The engine closes it.
func (e *Engine) Kernel(ctx context.Context) wazero.CompiledModule {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sought || e.Interpreted || !e.Features.On(wazerox.Linking) {
		return e.kernel
	}
	e.sought = true
	if compiled, err := e.own(ctx, e.wasm()); err == nil {
		e.kernel = compiled
	}
	return e.kernel
}

// Circle lets modules import from a link that is instantiated after them. They are linked
// to Stub instead, whose functions call those of the link through a table. Filler fills the
// table when the link is there.
type Circle struct {
	// Stub and Filler are the two modules, see kernel.Stub and kernel.Filler.
	Stub, Filler wazero.CompiledModule
}

// Circle makes the stub and the filler of a link. functions are those that other modules
// import from it. The caller closes the circle. The error is a [*Refusal] or that of the cache.
func (e *Engine) Circle(ctx context.Context, functions []kernel.Function) (*Circle, error) {
	c := &Circle{}
	var err error
	if c.Stub, err = e.own(ctx, kernel.Stub(functions)); err == nil {
		c.Filler, err = e.own(ctx, kernel.Filler(functions))
	}
	if err != nil {
		c.Close(ctx)
		return nil, err
	}
	return c, nil
}

// Close frees the compiled modules. No instance of them is used after that.
func (c *Circle) Close(ctx context.Context) {
	for _, m := range []wazero.CompiledModule{c.Stub, c.Filler} {
		if m != nil {
			_ = m.Close(ctx) // it has no file
		}
	}
}

// own compiles a module of the host itself, or takes it from the cache.
func (e *Engine) own(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	key := sha256.Sum256(wasm)
	if compiled := e.load(ctx, key, wasm); compiled != nil {
		return compiled, nil
	}
	return e.build(ctx, key, wasm, nil)
}

// load makes a module from its shell and the machine code in the cache under key, nil if the
// cache has none.
func (e *Engine) load(ctx context.Context, key Key, shell []byte) wazero.CompiledModule {
	if e.code == nil {
		return nil
	}
	return e.code.Load(ctx, e.RT, key, shell)
}

// build compiles a module and adds its machine code to the cache for later loads by its shell.
// A nil shell means that the module is its own shell.
func (e *Engine) build(ctx context.Context, key Key, wasm, shell []byte) (wazero.CompiledModule, error) {
	if e.code == nil {
		return Wasm(ctx, e.RT, wasm)
	}
	return e.code.Compile(ctx, e.RT, key, wasm, shell)
}

// byWazero makes wazero compile a module. Tests replace it.
var byWazero = func(ctx context.Context, rt wazero.Runtime, wasm []byte) (wazero.CompiledModule, error) {
	return rt.CompileModule(ctx, wasm)
}

// parallelKey marks contexts in which wazero compiles on all processors.
type parallelKey struct{}

// parallel has [Wasm] compile on all processors.
func parallel(ctx context.Context) context.Context {
	return context.WithValue(ctx, parallelKey{}, true)
}

// Wasm has a runtime compile a module that was rewritten. A panic of wazero, which some modules
// may cause, is a [*Refusal]. wazero compiles in this goroutine only, because nothing would
// recover a panic in the other goroutines that it can use. It does use them for a compiler with
// the option Parallel, under whose context this is called.
func Wasm(ctx context.Context, rt wazero.Runtime, wasm []byte) (compiled wazero.CompiledModule, err error) {
	defer func() {
		if r := recover(); r != nil {
			compiled, err = nil, refusef("compile: not a usable module: wazero panicked: %v", r)
		}
	}()
	workers := 1
	if ctx.Value(parallelKey{}) != nil {
		workers = runtime.GOMAXPROCS(0)
	}
	return byWazero(wazerox.Workers(ctx, workers), rt, wasm)
}
