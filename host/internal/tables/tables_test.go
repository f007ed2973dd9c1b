package tables

import (
	"context"
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
				want := contents(t, rt, with(tt.segments...), func(wazero.CompiledModule) *Elements { return nil }, false)
				got := contents(t, rt, with(tt.segments...), Take, tt.taken)
				if got != want {
					t.Errorf("the table holds %v, want %v", got, want)
				}
			})
		})
	}
}

// place is what a call of a place in the table comes to.
type place struct {
	result uint64
	ok     bool
}

// contents are the places of a second instance of a module.
func contents(t *testing.T, rt wazero.Runtime, wasm []byte, take func(wazero.CompiledModule) *Elements, taken bool) (places [4]place) {
	t.Helper()
	compiled, err := rt.CompileModule(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	e := take(compiled)
	if (e != nil) != taken {
		t.Fatalf("taken %v, want %v", e != nil, taken)
	}
	for range 2 {
		mod, err := rt.InstantiateModule(t.Context(), compiled, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Fill(mod); err != nil {
			t.Fatal(err)
		}
		mod.ExportedGlobal("g").(api.MutableGlobal).Set(7)
		for i := range places {
			places[i].result, places[i].ok = call(t.Context(), mod, uint64(i))
		}
	}
	return places
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
