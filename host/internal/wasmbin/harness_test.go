package wasmbin

import (
	"context"
	"errors"
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
	rt := wazero.NewRuntimeWithConfig(ctx, engines[engine]().WithCoreFeatures(features))
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
	mod, err := rt.InstantiateWithConfig(ctx, bin, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
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

// goGuest builds the stock-Go guest once.
func goGuest(tb testing.TB) []byte {
	tb.Helper()
	b, err := buildGoGuest()
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

var buildGoGuest = sync.OnceValues(func() ([]byte, error) { return buildGo(fixtureDir + "/goguest") })

// buildGo builds the package in a folder with stock Go.
func buildGo(folder string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "wasmbin")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-o", out, folder)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.New("build the Go guest: " + err.Error() + "\n" + string(msg))
	}
	return os.ReadFile(out)
}

// specFolder has the engine's own spec tests.
func specFolder(tb testing.TB) string {
	tb.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "internal", "integration_test", "spectest")
}

// specModules are the modules of the engine's own spec tests, by path.
func specModules(tb testing.TB) map[string][]byte {
	tb.Helper()
	root := specFolder(tb)
	out := map[string][]byte{}
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(p) != ".wasm" {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		out[rel], err = os.ReadFile(p)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	if len(out) < 5000 {
		tb.Fatalf("%d spec modules under %s, expected thousands", len(out), root)
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
