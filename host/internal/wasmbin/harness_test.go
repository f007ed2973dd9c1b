package wasmbin

import (
	"context"
	"errors"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

const (
	fixtureDir = "../../../testdata/wasm/meter"
	// features are those that Meter covers.
	features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst
)

// engines are the configurations in which the behaviour must be the same.
var engines = map[string]func() wazero.RuntimeConfig{
	"compiler":    wazero.NewRuntimeConfigCompiler,
	"interpreter": wazero.NewRuntimeConfigInterpreter,
}

// large holds the machine code of large modules.
var large = wazero.NewCompilationCache()

var errSpent = errors.New("spent")

// tank is the host's side of metering: it hands out slices up to a limit.
type tank struct {
	slice, granted, limit int64
	ticks                 int
	onTick                func()
}

func (k *tank) tick(_ context.Context, stack []uint64) {
	k.ticks++
	if k.onTick != nil {
		k.onTick()
	}
	if k.limit > 0 && k.granted >= k.limit {
		panic(errSpent)
	}
	k.granted += k.slice
	stack[0] = api.EncodeI64(k.slice)
}

// guest is an instance and its tank.
type guest struct {
	*tank
	mod  api.Module
	fuel api.Global
}

// used is the fuel drawn so far.
func (g *guest) used() int64 { return g.granted - int64(g.fuel.Get()) }

// call calls an export and returns its results and the first line of its error.
func (g *guest) call(name string, args ...uint64) ([]uint64, error) {
	return g.mod.ExportedFunction(name).Call(context.Background(), args...)
}

func mustMeter(tb testing.TB, bin []byte, o MeterOptions) []byte {
	tb.Helper()
	out, err := Meter(bin, o)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// meterExactly meters a module so that every instruction pays for itself, when
// it runs: the fuel used is the weight of what was executed.
func meterExactly(tb testing.TB, bin []byte) []byte {
	tb.Helper()
	m, err := parse(bin)
	if err != nil {
		tb.Fatal(err)
	}
	out, err := newRewriter(m, MeterOptions{}.withDefaults(), 0, 0).rewrite()
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// start instantiates a module, metered or not, with WASI and the module "env".
func start(tb testing.TB, engine string, bin []byte, k *tank) (*guest, error) {
	tb.Helper()
	ctx := context.Background()
	cfg := engines[engine]().WithCoreFeatures(features)
	if len(bin) > 1<<20 { // tests share its machine code
		cfg = cfg.WithCompilationCache(large)
	}
	rt := wazero.NewRuntimeWithConfig(ctx, cfg)
	tb.Cleanup(func() { rt.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, rt)
	i32 := api.ValueTypeI32
	env := rt.NewHostModuleBuilder("env")
	env.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(context.Context, []uint64) {}), nil, nil).Export("nop")
	env.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, s []uint64) { s[0] = 0 }), nil, []api.ValueType{i32}).Export("zero")
	host := meterOf(rt, k)
	for _, b := range []wazero.HostModuleBuilder{env, host} {
		if _, err := b.Instantiate(ctx); err != nil {
			tb.Fatal(err)
		}
	}
	compiled, err := rt.CompileModule(ctx, bin) // it stays in the cache, unlike what Instantiate compiles
	if err != nil {
		return nil, err
	}
	mod, err := rt.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		return nil, err
	}
	return &guest{tank: k, mod: mod, fuel: mod.ExportedGlobal(FuelExport)}, nil
}

// meterOf is the module through which a metered guest asks for fuel.
func meterOf(rt wazero.Runtime, k *tank) wazero.HostModuleBuilder {
	b := rt.NewHostModuleBuilder(TickModule)
	b.NewFunctionBuilder().WithGoFunction(api.GoFunc(k.tick), nil, []api.ValueType{api.ValueTypeI64}).Export(TickName)
	return b
}

// open instantiates a module behind those that it imports from. It calls nothing of it.
func open(tb testing.TB, rt wazero.Runtime, bin []byte, k *tank, imports ...wazero.HostModuleBuilder) *guest {
	tb.Helper()
	ctx := context.Background()
	for _, b := range imports {
		if _, err := b.Instantiate(ctx); err != nil {
			tb.Fatal(err)
		}
	}
	mod, err := rt.InstantiateWithConfig(ctx, bin, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		tb.Fatalf("%v\n% x", err, bin)
	}
	return &guest{tank: k, mod: mod, fuel: mod.ExportedGlobal(FuelExport)}
}

func mustStart(tb testing.TB, engine string, bin []byte, k *tank) *guest {
	tb.Helper()
	g, err := start(tb, engine, bin, k)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func fixture(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(fixtureDir, name+".wasm"))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// goGuest is the guest in stock Go.
func goGuest(tb testing.TB) []byte {
	tb.Helper()
	return builtGo(tb, "testdata/wasm/meter/goguest")
}

// revealedGuest is the guest in stock Go with its globals exported, so that tests share what the
// engine makes of it.
func revealedGuest(tb testing.TB) []byte {
	tb.Helper()
	return reveal(tb, goGuest(tb)).bin
}

// builtGo is the module of a folder of the checkout, built with stock Go.
func builtGo(tb testing.TB, source string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(testbuild.Guest(tb, source), "plugin.wasm"))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// specFolder has the engine's own spec tests.
func specFolder(tb testing.TB) string {
	tb.Helper()
	dir, err := engineFolder()
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, "internal", "integration_test", "spectest")
}

var engineFolder = sync.OnceValues(func() (string, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	return strings.TrimSpace(string(dir)), err
})

// part says that a test runs one of so many of its cases, unless ANCHOR_THOROUGH asks for all.
const part = 8

// thorough says that tests run all their cases.
var thorough = os.Getenv("ANCHOR_THOROUGH") != ""

// partOf is how many of n cases a test runs.
func partOf(n int) int {
	if thorough {
		return n
	}
	return n / part
}

// drawn reports whether a test runs the case of a name.
func drawn(name string) bool {
	h := fnv.New32a()
	h.Write([]byte(name))
	return thorough || h.Sum32()%part == 0
}

// specModules are modules of the engine's own spec tests, by path.
func specModules(tb testing.TB) map[string][]byte {
	tb.Helper()
	root := specFolder(tb)
	out := map[string][]byte{}
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(p) != ".wasm" {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if drawn(filepath.ToSlash(rel)) {
			out[rel], err = os.ReadFile(p)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	if len(out) < partOf(5000)*9/10 {
		tb.Fatalf("%d spec modules under %s, expected about %d", len(out), root, partOf(5000))
	}
	return out
}

// firstLine returns the text of an error without the guest's stack trace.
func firstLine(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
