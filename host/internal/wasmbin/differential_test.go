package wasmbin

import (
	"context"
	"errors"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// TestSpecModulesKeepTheirMeaning runs modules of the engine's spec tests
// that need no imports, plain and metered, and compares what can be observed. It only
// compiles the 468 of 2,771 that have imports; TestSpecScriptsKeepTheirMeaning runs those
// that link. It also compares the charges with the weight of the executed instructions.
func TestSpecModulesKeepTheirMeaning(t *testing.T) {
	modules := specModules(t)
	names := slices.Sorted(maps.Keys(modules))
	for engine := range engines {
		t.Run(engine, func(t *testing.T) {
			d := newDifferential(t, engine)
			for _, name := range names {
				d.module(name, modules[name])
			}
			t.Logf("%d modules accepted, %d run, %d calls of which %d trapped", d.accepted, d.ran, d.calls, d.traps)
			if d.accepted < partOf(2500)*9/10 || d.calls < partOf(20_000)*9/10 || d.traps < partOf(1000)*9/10 {
				t.Errorf("too little was compared")
			}
			for why, n := range d.refused {
				if n > typedReferences[why] {
					t.Errorf("%d modules are refused for %s, want at most %d", n, why, typedReferences[why])
				}
			}
			if thorough && !maps.Equal(d.refused, typedReferences) {
				t.Errorf("refused are %v, want %v", d.refused, typedReferences)
			}
		})
	}
}

// typedReferences are the reasons for which Meter refuses modules that the engine accepts, and
// the number of modules for each. The engine reads the types of that proposal although the
// host does not switch it on, and runs none of its instructions.
var typedReferences = map[string]int{
	"import section: a global's type: a typed function reference":            24,
	"table section: a table with an initialiser (typed function references)": 18,
	"type section: parameters: a typed function reference":                   10,
	"import section: an imported table: a typed function reference":          3,
	"table section: a table: a typed function reference":                     3,
	"global section: a global's type: a typed function reference":            2,
	"element section: an element segment's type: a typed function reference": 1,
}

// differential compares modules plain, metered and metered exactly.
type differential struct {
	t                           *testing.T
	rt                          wazero.Runtime
	tank                        *tank
	compiled                    []wazero.CompiledModule // of the module at hand
	accepted, ran, calls, traps int
	refused                     map[string]int // by Meter but not by the engine, by reason
}

func newDifferential(t *testing.T, engine string) *differential {
	ctx := context.Background()
	d := &differential{t: t, tank: &tank{}, refused: map[string]int{}, rt: wazero.NewRuntimeWithConfig(ctx, engines[engine]().WithCoreFeatures(features))}
	t.Cleanup(func() { d.rt.Close(ctx) })
	_, err := d.rt.NewHostModuleBuilder(TickModule).NewFunctionBuilder().WithGoFunction(api.GoFunc(
		func(ctx context.Context, s []uint64) { d.tank.tick(ctx, s) }), nil, []api.ValueType{api.ValueTypeI64}).
		Export(TickName).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *differential) compile(bin []byte) wazero.CompiledModule {
	c, err := d.rt.CompileModule(context.Background(), bin)
	if err != nil {
		return nil
	}
	d.compiled = append(d.compiled, c)
	return c
}

// drop closes the compiled modules.
func (d *differential) drop() {
	for _, c := range d.compiled {
		c.Close(context.Background())
	}
	d.compiled = d.compiled[:0]
}

func (d *differential) module(name string, bin []byte) {
	ctx := context.Background()
	defer d.drop()
	out, meterErr := Meter(bin, MeterOptions{})
	if d.compile(bin) == nil {
		// The rewrite must not make a module valid that the engine refuses.
		if meterErr == nil && d.compile(out) != nil {
			d.t.Errorf("%s: invalid, but valid when metered", name)
		}
		return
	}
	var unsupported *FormatError
	if errors.Is(meterErr, ErrUnsupported) && errors.As(meterErr, &unsupported) {
		d.refused[unsupported.Section+" section: "+unsupported.Detail]++
		return
	}
	d.accepted++
	if meterErr != nil {
		d.t.Errorf("%s: the engine accepts it, Meter does not: %v", name, meterErr)
		return
	}
	if d.compile(out) == nil {
		_, err := d.rt.CompileModule(ctx, out)
		d.t.Errorf("%s: not accepted when metered: %v", name, err)
		return
	}
	info, err := Inspect(bin)
	if err != nil {
		d.t.Errorf("%s: the engine accepts it, Inspect does not: %v", name, err)
		return
	}
	if len(info.Imports) > 0 {
		return
	}
	shown := reveal(d.t, bin)
	plain, metered, exact := d.compile(shown.bin), d.compile(mustMeter(d.t, shown.bin, MeterOptions{})), d.compile(meterExactly(d.t, shown.bin))
	if plain == nil || metered == nil || exact == nil {
		d.t.Errorf("%s: not accepted with its globals revealed", name)
		return
	}
	d.run(name, info, shown, plain, metered, exact)
}

// startFunction matches the name of the start function in the engine's messages: its index,
// which moves, and an export that has this index among the functions that are not imported.
var startFunction = regexp.MustCompile(`start function\[\d+\]( export\["\w*"\])?`)

// run calls every exported function of a module with a few arguments.
func (d *differential) run(name string, info *Info, shown *revealed, plain, metered, exact wazero.CompiledModule) {
	const limit = 300_000
	ctx := context.Background()
	tanks := map[api.Module]*tank{}
	instantiate := func(c wazero.CompiledModule) (api.Module, string) {
		d.tank = &tank{slice: 1000, limit: limit}
		m, err := d.rt.InstantiateModule(ctx, c, wazero.NewModuleConfig().WithName("").WithStartFunctions())
		if m != nil {
			tanks[m] = d.tank
		}
		return m, firstLine(err)
	}
	mm, merr := instantiate(metered)
	if strings.Contains(merr, errSpent.Error()) {
		return // the plain one may not come back from its start
	}
	pm, perr := instantiate(plain)
	em, _ := instantiate(exact)
	if startFunction.ReplaceAllString(perr, "") != startFunction.ReplaceAllString(merr, "") {
		d.t.Errorf("%s: instantiate: plain %q, metered %q", name, perr, merr)
	}
	if pm == nil || mm == nil || em == nil {
		return
	}
	d.ran++
	defer pm.Close(ctx)
	defer mm.Close(ctx)
	defer em.Close(ctx)
	call := func(m api.Module, fn string, args []uint64) ([]uint64, error) {
		d.tank = tanks[m]
		return m.ExportedFunction(fn).Call(ctx, args...)
	}
	for _, fn := range slices.Sorted(maps.Keys(plain.ExportedFunctions())) {
		if slices.Contains(shown.vectors, fn) {
			continue
		}
		for seed := range 4 {
			if seed == 3 && strings.Contains(fn, "grow") {
				continue // a plain table grows to gigabytes
			}
			args := arguments(plain.ExportedFunctions()[fn].ParamTypes(), fn, seed)
			mres, merr := call(mm, fn, args)
			if errors.Is(merr, errSpent) {
				return // the plain one may never return
			}
			pres, perr := call(pm, fn, args)
			d.calls++
			if perr != nil {
				d.traps++
			}
			if !sameResults(plain.ExportedFunctions()[fn].ResultTypes(), pres, mres) || firstLine(perr) != firstLine(merr) {
				d.t.Errorf("%s: %s(%v): plain %v %q, metered %v %q", name, fn, args, pres, firstLine(perr), mres, firstLine(merr))
			}
			call(em, fn, args)
			if u, e := used(mm, tanks[mm]), used(em, tanks[em]); u < e {
				d.t.Errorf("%s: %s(%v): charged %d for %d executed", name, fn, args, u, e)
			}
			for _, other := range []api.Module{mm, em} {
				if diff := shown.differs(d.t, info, pm, other); diff != "" {
					d.t.Errorf("%s: %s(%v): %s", name, fn, args, diff)
				}
			}
		}
	}
}

// sameResults compares results. Of references, which are addresses, it compares only whether
// they are null.
func sameResults(types []api.ValueType, a, b []uint64) bool {
	if slices.Contains(types, api.ValueType(FuncRef)) {
		return len(a) == len(b) && (len(a) == 0 || (a[0] == 0) == (b[0] == 0))
	}
	return slices.Equal(a, b)
}

func used(m api.Module, k *tank) int64 { return k.granted - int64(m.ExportedGlobal(FuelExport).Get()) }

// arguments are zeros, ones, small numbers and arbitrary bits. References are null.
func arguments(types []api.ValueType, name string, seed int) []uint64 {
	var args []uint64
	h := fnv.New64a()
	h.Write([]byte(name))
	for _, t := range types {
		h.Write([]byte{byte(seed)})
		v := []uint64{0, 1, uint64(2 + len(args)), h.Sum64()}[seed]
		switch {
		case t == api.ValueTypeExternref, t == byte(FuncRef):
			v = 0
		case t == api.ValueTypeI32 || t == api.ValueTypeF32:
			v = uint64(uint32(v))
		case t == byte(V128):
			args = append(args, v) // two cells
		}
		args = append(args, v)
	}
	return args
}

// goCalls are exports of the guest in stock Go, with arguments for the compiler and for the
// interpreter, which takes about fifty times as long.
var goCalls = []struct {
	name        string
	arg, slowly uint64
}{{"fnv_sum", 100_000, 5000}, {"sha_sum", 20_000, 1000}, {"sort_floats", 1000, 100}, {"json_trip", 20, 2},
	{"count_words", 10_000, 500}, {"fib", 15, 12}}

// TestGoGuestKeepsItsMeaning compares a stock-Go guest, plain and metered. To start it in the
// interpreter, and to compile it metered exactly, takes seconds: ANCHOR_THOROUGH asks for that.
func TestGoGuestKeepsItsMeaning(t *testing.T) {
	bin := goGuest(t)
	shown := reveal(t, bin)
	info, err := Inspect(bin)
	if err != nil {
		t.Fatal(err)
	}
	for engine := range engines {
		if engine == "interpreter" && !thorough {
			continue
		}
		plain := mustStart(t, engine, shown.bin, &tank{})
		others := map[string]*guest{"metered": mustStart(t, engine, mustMeter(t, shown.bin, MeterOptions{}), &tank{slice: DefaultSlice})}
		if thorough {
			others["exact"] = mustStart(t, engine, meterExactly(t, shown.bin), &tank{slice: DefaultSlice})
		}
		for _, c := range goCalls {
			arg := c.arg
			if engine == "interpreter" {
				arg = c.slowly
			}
			p, perr := plain.call(c.name, arg)
			used := map[string]int64{}
			for form, g := range others {
				before := g.used()
				m, merr := g.call(c.name, arg)
				if perr != nil || merr != nil || !slices.Equal(p, m) {
					t.Errorf("%s, %s: plain %v %v, %s %v %v", engine, c.name, p, perr, form, m, merr)
				}
				if diff := shown.differs(t, info, plain.mod, g.mod); diff != "" {
					t.Errorf("%s, %s, %s: %s", engine, c.name, form, diff)
				}
				used[form] = g.used() - before
			}
			if charged, executed := used["metered"], used["exact"]; thorough && (charged < executed || charged > executed*6) {
				t.Errorf("%s, %s: charged %d for %d executed", engine, c.name, charged, executed)
			}
		}
	}
}

// TestNamesStayInStep compares the stack trace of a metered guest with that of the plain one.
func TestNamesStayInStep(t *testing.T) {
	bin := fixture(t, "bulk")
	trace := func(b []byte) string {
		_, err := mustStart(t, "compiler", b, &tank{slice: DefaultSlice}).call("table_init", 9)
		return err.Error()
	}
	plain, metered := trace(bin), trace(mustMeter(t, bin, MeterOptions{}))
	if plain != metered || !strings.Contains(plain, "table_init") {
		t.Errorf("plain:\n%s\nmetered:\n%s", plain, metered)
	}
}
