package compile

import (
	"context"
	"crypto/sha256"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/pool"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// constant is a module whose function run returns n. Such modules differ in one byte.
func constant(n byte) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00"+
		"\x01\x05\x01\x60\x00\x01\x7f"+
		"\x03\x02\x01\x00"+
		"\x05\x03\x01\x00\x01"+
		"\x07\x10\x02\x06memory\x02\x00\x03run\x00\x00"+
		"\x0a\x06\x01\x04\x00\x41"), n, 0x0b)
}

func source(t *testing.T, wasm []byte) *Source {
	t.Helper()
	info, err := wasmbin.Inspect(wasm)
	if err != nil {
		t.Fatal(err)
	}
	return &Source{Digest: sha256.Sum256(wasm), Bytes: func() ([]byte, error) { return wasm, nil },
		Facts: info.Facts(), Imports: info.Imports, Memory: true}
}

// options are those of a host that offers nothing but the meter.
func options() Options {
	return Options{
		Features: wazerox.Look,
		Offer: func(ctx context.Context, rt wazero.Runtime) error {
			_, err := rt.NewHostModuleBuilder(wasmbin.TickModule).NewFunctionBuilder().
				WithGoFunction(api.GoFunc(func(_ context.Context, s []uint64) { s[0] = wasmbin.DefaultSlice }), nil, []api.ValueType{api.ValueTypeI64}).
				Export(wasmbin.TickName).Instantiate(ctx)
			return err
		},
		Kernel: func() []byte { return constant(0) },
		Meter:  wasmbin.MeterOptions{Light: none, Inert: none},
		Memory: 1 << 30,
	}
}

func none(string, string) bool { return false }

func open(t *testing.T, o Options) *Compiler {
	t.Helper()
	c := New(o)
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// compileBy has another compile in wazero's place, until the test ends.
func compileBy(t *testing.T, f func(context.Context, wazero.Runtime, []byte) (wazero.CompiledModule, error)) {
	t.Helper()
	old := byWazero
	byWazero = f
	t.Cleanup(func() { byWazero = old })
}

// heldBack has compilations wait until release is called.
func heldBack(t *testing.T) (begun chan struct{}, release func()) {
	t.Helper()
	begun, gate := make(chan struct{}, 16), make(chan struct{})
	compileBy(t, func(ctx context.Context, rt wazero.Runtime, wasm []byte) (wazero.CompiledModule, error) {
		begun <- struct{}{}
		<-gate
		return rt.CompileModule(ctx, wasm)
	})
	release = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(release)
	return begun, release
}

// result calls the function of a module.
func result(t *testing.T, m *Module) uint64 {
	t.Helper()
	mod, err := m.Engine.RT.InstantiateModule(t.Context(), m.Compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	defer mod.Close(t.Context())
	r, err := mod.ExportedFunction("run").Call(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r[0]
}

// Those who ask for one module share it, and the last one frees it. Others have another.
func TestModulesAreShared(t *testing.T) {
	var begun, done []string
	o := options()
	o.OnCompile = func(name string, over bool, _ time.Duration) {
		if over {
			done = append(done, name)
		} else {
			begun = append(begun, name)
		}
	}
	c := open(t, o)
	ask := func(name string, n byte, interpreted bool) *Module {
		t.Helper()
		m, err := c.Module(t.Context(), name, source(t, constant(n)), interpreted, 0)
		if err != nil {
			t.Fatal(err)
		}
		if r := result(t, m); r != uint64(n) {
			t.Errorf("%s returns %d (want %d)", name, r, n)
		}
		return m
	}
	a, b := ask("a", 7, false), ask("b", 7, false)
	if a != b || len(begun) != 1 {
		t.Errorf("%v are compiled (want a)", begun)
	}
	if other := ask("c", 8, false); other == a || other.Engine != a.Engine {
		t.Error("another module is the same, or has an engine of its own")
	}
	if other := ask("d", 7, true); other == a || other.Engine == a.Engine || !other.Engine.Interpreted {
		t.Error("the interpreter has the module of the compiler")
	}
	for range 2 {
		if err := c.Release(t.Context(), a); err != nil {
			t.Error(err)
		}
	}
	ask("e", 7, false)
	if want := "a c d e"; strings.Join(begun, " ") != want || strings.Join(done, " ") != want {
		t.Errorf("%v are begun, %v done (want %s)", begun, done, want)
	}
}

// Who waits for a module leaves when the context ends. What was begun is there for the next.
func TestLeavesAtItsDeadline(t *testing.T) {
	begun, release := heldBack(t)
	c := open(t, options())
	s := source(t, constant(0))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Module(ctx, "", s, false, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	<-begun
	release()
	for range 2 {
		m, err := c.Module(t.Context(), "", s, false, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Release(t.Context(), m); err != nil {
			t.Error(err)
		}
	}
	if len(begun) > 1 { // the spare one serves the first, who frees it
		t.Errorf("compiled %d times more", len(begun))
	}
}

// Close waits for what is being compiled as long as its context lasts, and ends what waits.
func TestCloseWaits(t *testing.T) {
	begun, release := heldBack(t)
	o := options()
	o.Memory = 1
	c := open(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	if _, err := c.Module(ctx, "", source(t, constant(0)), false, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	queued := make(chan error)
	go func() {
		_, err := c.Module(t.Context(), "", source(t, constant(1)), false, 0)
		queued <- err
	}()
	for !c.isQueued() {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: error %v", err)
	}
	if err := <-queued; !errors.Is(err, pool.ErrClosed) {
		t.Errorf("what waited: error %v", err)
	}
	release()
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.Module(t.Context(), "", source(t, constant(0)), false, 0); !errors.Is(err, pool.ErrClosed) {
		t.Errorf("closed: error %v", err)
	}
}

// isQueued reports whether a compilation waits for others.
func (c *Compiler) isQueued() bool {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	return len(c.queue.waiters) > 0
}

// A panic of wazero's compiler is an error of the module.
func TestCompilerPanics(t *testing.T) {
	c := open(t, options())
	old := byWazero
	compileBy(t, func(context.Context, wazero.Runtime, []byte) (wazero.CompiledModule, error) { panic("BUG") })
	var refused *Refusal
	_, err := c.Module(t.Context(), "", source(t, constant(0)), false, 0)
	if !errors.As(err, &refused) || refused.TooLarge || !strings.Contains(err.Error(), "wazero panicked: BUG") {
		t.Errorf("error %v", err)
	}
	byWazero = old
	if _, err := c.Module(t.Context(), "", source(t, constant(0)), false, 0); err != nil {
		t.Error(err)
	}
}

// wazero compiles in one goroutine, whatever the caller's context says, unless an option says
// otherwise.
func TestWorkers(t *testing.T) {
	for _, c := range []struct {
		parallel bool
		want     int
	}{{false, 1}, {true, runtime.GOMAXPROCS(0)}} {
		o := options()
		o.Parallel = c.parallel
		got := 0
		compileBy(t, func(ctx context.Context, rt wazero.Runtime, wasm []byte) (wazero.CompiledModule, error) {
			got = experimental.GetCompilationWorkers(ctx)
			return rt.CompileModule(ctx, wasm)
		})
		if _, err := open(t, o).Module(experimental.WithCompilationWorkers(t.Context(), 7), "", source(t, constant(0)), false, 0); err != nil || got != c.want {
			t.Errorf("parallel %t: %d workers, want %d; error %v", c.parallel, got, c.want, err)
		}
	}
}

// A panic of what the host offers is an error, also for those who wait, and the next one tries
// again.
func TestOfferPanics(t *testing.T) {
	o := options()
	offer := o.Offer
	o.Offer = func(context.Context, wazero.Runtime) error { panic("BUG") }
	c := New(o)
	var all sync.WaitGroup
	for n := range 4 {
		s := source(t, constant(byte(n)))
		all.Go(func() {
			if _, err := c.Module(t.Context(), "", s, false, 0); err == nil || !strings.Contains(err.Error(), "panicked") {
				t.Errorf("error %v", err)
			}
		})
	}
	all.Wait()
	c.o.Offer = offer
	if _, err := c.Module(t.Context(), "", source(t, constant(0)), false, 0); err != nil {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A module that cannot be read or is too large is an error of its own kind.
func TestRefusedModules(t *testing.T) {
	o := options()
	o.Meter.MaxTable = 10
	c := open(t, o)
	gone := errors.New("gone")
	s := source(t, constant(0))
	s.Bytes = func() ([]byte, error) { return nil, gone }
	if _, err := c.Module(t.Context(), "", s, false, 0); !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
	for wasm, want := range map[string]bool{"\x00asm": false, "\x00asm\x01\x00\x00\x00\x04\x04\x01\x70\x00\x0b" /* a table of 11 */ : true} {
		s.Bytes = func() ([]byte, error) { return []byte(wasm), nil }
		var refused *Refusal
		if _, err := c.Module(t.Context(), "", s, false, 0); !errors.As(err, &refused) || refused.TooLarge != want {
			t.Errorf("%d bytes: error %v", len(wasm), err)
		}
	}
}

// The kernel is compiled once. The interpreter has none.
func TestKernel(t *testing.T) {
	for _, interpreted := range []bool{false, true} {
		e, err := NewEngine(t.Context(), options(), interpreted)
		if err != nil {
			t.Fatal(err)
		}
		linked := !interpreted && e.Features.On(wazerox.Linking)
		if k := e.Kernel(t.Context()); (k != nil) != linked || k != e.Kernel(t.Context()) {
			t.Errorf("interpreted %v: kernel %v", interpreted, k)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A stub exports the functions of the link that it stands for.
func TestCircle(t *testing.T) {
	e, err := NewEngine(t.Context(), options(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	c, err := e.Circle(t.Context(), []kernel.Function{{Name: "f", Params: []byte{0x7f}, Results: []byte{0x7e}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if f := c.Stub.ExportedFunctions()["f"]; f == nil || len(f.ParamTypes()) != 1 || len(c.Filler.ImportedFunctions()) != 1 {
		t.Errorf("stub %v, filler %v", f, c.Filler.ImportedFunctions())
	}
	byWazeroPanics := func(context.Context, wazero.Runtime, []byte) (wazero.CompiledModule, error) { panic("BUG") }
	compileBy(t, byWazeroPanics)
	if c, err := e.Circle(t.Context(), nil); err == nil || c != nil {
		t.Errorf("circle %v, error %v", c, err)
	}
}

// Other limits make other machine code, which other limits must not get.
func TestCodeKey(t *testing.T) {
	o := options()
	s, other := source(t, constant(0)), source(t, constant(1))
	keys := map[Key]bool{}
	for _, key := range []Key{
		codeKey(s, o.meter(s, false, 0)), codeKey(s, o.meter(s, false, 16)), codeKey(s, o.meter(s, true, 0)), codeKey(other, o.meter(other, false, 0)),
	} {
		keys[key] = true
	}
	if len(keys) != 4 {
		t.Errorf("%d keys (want 4)", len(keys))
	}
	if !keys[codeKey(s, o.meter(s, false, 0))] {
		t.Error("the key changes")
	}
}

// Modules that differ only in data share machine code, and keep their own data.
func TestCodeIsSharedByData(t *testing.T) {
	withData := func(text string) []byte {
		return append(constant(7), append([]byte{0x0b, byte(6 + len(text)), 1, 0, 0x41, 0, 0x0b, byte(len(text))}, text...)...)
	}
	o := options()
	a, b, c := source(t, withData("one")), source(t, withData("twice")), source(t, constant(7))
	if codeKey(a, o.meter(a, false, 0)) != codeKey(b, o.meter(b, false, 0)) {
		t.Error("other data need other machine code")
	}
	if codeKey(a, o.meter(a, false, 0)) == codeKey(c, o.meter(c, false, 0)) {
		t.Error("a module without data has the machine code of one with data")
	}
	compiler := open(t, o)
	for want, s := range map[string]*Source{"one": a, "twice": b} {
		m, err := compiler.Module(t.Context(), "", s, false, 0)
		if err != nil {
			t.Fatal(err)
		}
		data, err := m.Segments()
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range data.Segments() {
			if string(text) != want || m.Source != s.Digest {
				t.Errorf("data %q, want %q", text, want)
			}
		}
		if data.Len() != 1 {
			t.Errorf("%d segments", data.Len())
		}
	}
}

// A module has no copy of its data for as long as no instance begins with it.
func TestSegmentsAreLetGo(t *testing.T) {
	read := 0
	s := source(t, append(constant(7), 0x0b, 7, 1, 0, 0x41, 0, 0x0b, 1, 'x'))
	wasm, _ := s.Bytes()
	s.Bytes = func() ([]byte, error) { read++; return wasm, nil }
	m, err := open(t, options()).Module(t.Context(), "", s, false, 0)
	if err != nil {
		t.Fatal(err)
	}
	read = 0
	for range 2 {
		if data, err := m.Segments(); err != nil || data.Len() != 1 {
			t.Fatalf("%d segments, %v", data.Len(), err)
		}
		runtime.GC()
	}
	if read != 2 {
		t.Errorf("the module was read %d times (want 2)", read)
	}
}
