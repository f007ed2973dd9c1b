package tables

import (
	"context"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// runtimes are those of both engines.
func runtimes(t *testing.T, f func(t *testing.T, rt wazero.Runtime)) {
	for name, cfg := range map[string]wazero.RuntimeConfig{
		"compiler": wazero.NewRuntimeConfig(), "interpreter": wazero.NewRuntimeConfigInterpreter(),
	} {
		t.Run(name, func(t *testing.T) {
			rt := wazero.NewRuntimeWithConfig(t.Context(), cfg)
			defer rt.Close(context.WithoutCancel(t.Context()))
			f(t, rt)
		})
	}
}

func TestWorks(t *testing.T) {
	runtimes(t, func(t *testing.T, rt wazero.Runtime) {
		if !Works(t.Context(), rt) {
			t.Error("tables cannot be filled")
		}
	})
}

// with is the probe with other element segments.
func with(segments ...string) []byte {
	const own = "\x09\x08\x01\x00\x41\x01\x0b\x02\x00\x01"
	content := string(rune(len(segments))) + strings.Join(segments, "")
	return []byte(strings.Replace(string(probe), own, "\x09"+string(rune(len(content)))+content, 1))
}

// Filled tables hold what wazero would have put there; what is not taken is wazero's.
func TestFill(t *testing.T) {
	for name, tt := range map[string]struct {
		segments []string
		taken    bool
	}{
		"at the start":             {[]string{"\x00\x41\x00\x0b\x02\x00\x01"}, true},
		"to the end":               {[]string{"\x00\x41\x01\x0b\x02\x01\x00"}, true},
		"a later one over another": {[]string{"\x00\x41\x00\x0b\x03\x00\x00\x00", "\x00\x41\x02\x0b\x01\x01"}, true},
		"with a table":             {[]string{"\x02\x00\x41\x01\x0b\x00\x01\x01"}, true},
		"expressions":              {[]string{"\x04\x41\x01\x0b\x02\xd2\x01\x0b\xd2\x00\x0b"}, true},
		"a long number":            {[]string{"\x00\x41\x81\x80\x80\x80\x00\x0b\x01\x01"}, true},
		"empty":                    {[]string{"\x00\x41\x00\x0b\x00", "\x00\x41\x03\x0b\x00"}, true},
		"beside a passive one":     {[]string{"\x01\x00\x01\x00", "\x00\x41\x01\x0b\x01\x00"}, true},
		"null":                     {[]string{"\x04\x41\x00\x0b\x02\xd2\x00\x0b\xd0\x70\x0b"}, false},
		"beyond the end":           {[]string{"\x00\x41\x00\x0b\x01\x00", "\x00\x41\x02\x0b\x02\x00\x01"}, false},
		"far beyond the end":       {[]string{"\x00\x41\xff\xff\xff\xff\x07\x0b\x01\x00"}, false},
		"before the start":         {[]string{"\x00\x41\x7f\x0b\x02\x00\x01"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			runtimes(t, func(t *testing.T, rt wazero.Runtime) {
				compareFilled(t, rt, with(tt.segments...), tt.taken)
			})
		})
	}
}

// Functions of others lie in a table among the module's own.
func TestFillImported(t *testing.T) {
	// The probe with (import "h" "f" (func $f (type $get))) and (elem (i32.const 0) $b $f $a).
	wasm := []byte("\x00asm\x01\x00\x00\x00" +
		"\x01\x0a\x02\x60\x00\x01\x7f\x60\x01\x7f\x01\x7f" +
		"\x02\x07\x01\x01h\x01f\x00\x00" +
		"\x03\x04\x03\x00\x00\x01" +
		"\x04\x04\x01\x70\x00\x03" +
		"\x06\x06\x01\x7f\x01\x41\x00\x0b" +
		"\x07\x09\x02\x01g\x03\x00\x01c\x00\x03" +
		"\x09\x09\x01\x00\x41\x00\x0b\x03\x02\x00\x01" +
		"\x0a\x16\x03\x04\x00\x23\x00\x0b\x07\x00\x23\x00\x41\x01\x6a\x0b\x07\x00\x20\x00\x11\x00\x00\x0b")
	runtimes(t, func(t *testing.T, rt wazero.Runtime) {
		_, err := rt.NewHostModuleBuilder("h").NewFunctionBuilder().WithFunc(func() uint32 { return 99 }).Export("f").Instantiate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		compareFilled(t, rt, wasm, true)
	})
}

// Only the compiler makes objects for references. It must hold on to those that are
// copied.
func TestPattern(t *testing.T) {
	runtimes(t, func(t *testing.T, rt wazero.Runtime) {
		compiled, err := rt.CompileModule(t.Context(), probe)
		if err != nil {
			t.Fatal(err)
		}
		e := Take(compiled)
		mods := instances(t, rt, compiled, 2)
		for _, mod := range mods {
			if err := e.Fill(mod); err != nil {
				t.Fatal(err)
			}
		}
		compiles := !strings.HasSuffix(t.Name(), "interpreter")
		if has := e.pattern.Load() != nil; has != compiles {
			t.Fatalf("a pattern to copy: %v", has)
		}
		if !compiles {
			return
		}
		held := objects(reflect.ValueOf(mods[1]).Elem().FieldByName("Engine").Interface().(engine))
		if first := table(tables(mods[1]), 0)[1]; uintptr(held.Index(held.Len()-1).UnsafePointer()) != first {
			t.Error("the engine does not hold on to what was copied")
		}
	})
}

// compareFilled compares what instances hold whose tables are filled with what they
// hold when wazero does it.
func compareFilled(t *testing.T, rt wazero.Runtime, wasm []byte, taken bool) {
	t.Helper()
	want := contents(t, rt, wasm, func(wazero.CompiledModule) *Elements { return nil }, false)
	if got := contents(t, rt, wasm, Take, taken); got != want {
		t.Errorf("the tables hold %v, want %v", got, want)
	}
}

// place is what a call of a place in the table comes to.
type place struct {
	result uint64
	ok     bool
}

// contents are the places of three instances of a module.
func contents(t *testing.T, rt wazero.Runtime, wasm []byte, take func(wazero.CompiledModule) *Elements, taken bool) (places [3][4]place) {
	t.Helper()
	compiled, err := rt.CompileModule(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	e := take(compiled)
	if (e != nil) != taken {
		t.Fatalf("taken %v, want %v", e != nil, taken)
	}
	mods := instances(t, rt, compiled, len(places))
	for i, mod := range mods {
		if err := e.Fill(mod); err != nil {
			t.Fatal(err)
		}
		mod.ExportedGlobal("g").(api.MutableGlobal).Set(uint64(10 * i))
	}
	runtime.GC() // which sees no reference in a table
	for i, mod := range mods {
		for at := range places[i] {
			p := &places[i][at]
			p.result, p.ok = call(t.Context(), mod, uint64(at))
		}
	}
	return places
}

func instances(t *testing.T, rt wazero.Runtime, compiled wazero.CompiledModule, n int) (mods []api.Module) {
	t.Helper()
	for range n {
		mod, err := rt.InstantiateModule(t.Context(), compiled, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			t.Fatal(err)
		}
		mods = append(mods, mod)
	}
	return mods
}

// A module without what is looked for is left alone, as is one whose start function
// would find the table empty.
func TestTakeNothing(t *testing.T) {
	rt := wazero.NewRuntime(t.Context())
	defer rt.Close(context.WithoutCancel(t.Context()))
	// (module (table 1 funcref) (func $a) (start $a) (elem (i32.const 0) $a))
	const started = "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x04\x04\x01\x70\x00\x01" +
		"\x08\x01\x00\x09\x07\x01\x00\x41\x00\x0b\x01\x00\x0a\x04\x01\x02\x00\x0b"
	for name, wasm := range map[string]string{"empty": "\x00asm\x01\x00\x00\x00", "started": started} {
		compiled, err := rt.CompileModule(t.Context(), []byte(wasm))
		if err != nil {
			t.Fatal(err)
		}
		if Take(compiled) != nil {
			t.Errorf("%s: took something", name)
		}
	}
}
