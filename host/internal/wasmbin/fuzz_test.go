package wasmbin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// seeds are small modules that together use most of the format.
func seeds(tb testing.TB) [][]byte {
	var out [][]byte
	for _, name := range []string{"indices", "bulk", "programs", "spin_br_table", "spin_indirect", "spin_tail_call", "spin_start"} {
		out = append(out, fixture(tb, name))
	}
	for seed := range uint64(4) {
		out = append(out, randomProgram(seed), leafProgram(seed))
	}
	return append(out, []byte(header), code("\x0b"), []byte("(module)"), nil)
}

func FuzzInspect(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, bin []byte) { checkInspect(t, bin) })
}

// checkInspect: Inspect returns a value or an error, and no count exceeds the number of bytes.
func checkInspect(t *testing.T, bin []byte) {
	info, err := Inspect(bin)
	if (info == nil) == (err == nil) {
		t.Fatalf("%v and %v", info, err)
	}
	if err != nil {
		mustBeKnown(t, err)
		return
	}
	if n := len(info.Imports) + len(info.Exports) + len(info.Globals) + len(info.Tables) + info.Functions + info.DataBytes; n > len(bin) {
		t.Errorf("%d things in %d bytes", n, len(bin))
	}
}

// mustBeKnown checks that an error wraps exactly one sentinel.
func mustBeKnown(t *testing.T, err error) {
	t.Helper()
	n := 0
	for _, kind := range []error{ErrNotWasm, ErrComponent, ErrTruncated, ErrMalformed, ErrUnsupported, ErrLimit, ErrReserved} {
		if errors.Is(err, kind) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d sentinels for %v", n, err)
	}
}

func FuzzMeter(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	rt := newInterpreter(f)
	// The names claim 490 million local variables.
	f.Add([]byte(header + "\x00\x0f\x04name\x02\x08\x01\x00\xf5\xf5\xf5\xf5\x01\x00"))
	f.Fuzz(func(t *testing.T, bin []byte) { checkMeter(t, rt, bin) })
}

func newInterpreter(tb testing.TB) wazero.Runtime {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	tb.Cleanup(func() { rt.Close(ctx) })
	return rt
}

var errPanic = errors.New("the engine panics")

// compiles returns why the engine refuses a module. Some modules with a wrong index make it
// panic.
func compiles(rt wazero.Runtime, bin []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	c, err := rt.CompileModule(context.Background(), bin)
	if err == nil {
		c.Close(context.Background())
	}
	return err
}

// checkMeter: Meter returns bytes or an error, and the engine accepts the bytes exactly if it
// accepts the plain module. The engine gets only modules that Meter accepts, because it
// allocates memory for the counts that a file claims.
func checkMeter(t *testing.T, rt wazero.Runtime, bin []byte) {
	out, err := Meter(bin, MeterOptions{})
	if (out == nil) == (err == nil) {
		t.Fatalf("%d bytes and %v", len(out), err)
	}
	if err != nil {
		mustBeKnown(t, err)
		return
	}
	plain, metered := compiles(rt, withoutCustoms(t, bin)), compiles(rt, out)
	if errors.Is(plain, errPanic) || errors.Is(metered, errPanic) {
		t.Errorf("Meter accepts it: plain: %v\nmetered: %v\n% x", plain, metered, bin)
	}
	if (plain == nil) != (metered == nil) {
		t.Errorf("plain: %v\nmetered: %v", plain, metered)
	}
	short, err := Meter(bin, inert())
	if err != nil || (compiles(rt, short) == nil) != (metered == nil) {
		t.Errorf("metered: %v; with inert imports: %v, %v", metered, err, compiles(rt, short))
	}
	p, err := Prepare(bin, inert())
	switch {
	case errors.Is(err, ErrReserved):
	case err != nil:
		t.Errorf("Meter accepts it, Prepare says %v", err)
	case (compiles(rt, p.Wasm) == nil) != (metered == nil) && !p.Lifted:
		t.Errorf("metered: %v, prepared: %v", metered, compiles(rt, p.Wasm))
	}
}

// withoutCustoms returns a module without its custom sections. The engine refuses broken names, or
// allocates memory for as many as they claim to be; Meter drops them.
func withoutCustoms(t *testing.T, bin []byte) []byte {
	m, err := parse(bin)
	if err != nil {
		t.Fatalf("Meter accepts it, parse says %v", err)
	}
	out := []byte(header)
	for _, s := range m.sections {
		if s.id != secCustom {
			out = appendSection(out, s.id, bin[s.pos:s.end])
		}
	}
	return out
}

// TestMutatedModules makes small edits to good modules. Meter accepts every module that the
// engine accepts, and its output is valid if its input is.
func TestMutatedModules(t *testing.T) {
	rt := newInterpreter(t)
	r := rand.New(rand.NewPCG(1, 2))
	valid, refused := 0, 0
	for _, seed := range seeds(t) {
		for range partOf(min(2000, 60*len(seed))) {
			bin := mutate(r, seed)
			checkInspect(t, bin)
			checkMeter(t, rt, bin)
			out, err := Meter(bin, MeterOptions{})
			if err == nil && compiles(rt, out) == nil {
				valid++
			}
			if errors.Is(err, ErrMalformed) || errors.Is(err, ErrTruncated) {
				refused++
				// The engine overlooks a bit of signed numbers that the format fixes.
				if compiles(rt, bin) == nil && !strings.Contains(err.Error(), "signed LEB128") {
					t.Errorf("the engine accepts what Meter refuses: %v\n% x", err, bin)
				}
			}
		}
	}
	t.Logf("%d valid, %d refused", valid, refused)
	if valid < partOf(500) || refused < partOf(2000) {
		t.Error("the mutations are too tame or too wild")
	}
}

// TestMutatedModulesKeepTheirMeaning runs small edits of good modules, plain and metered, if
// they are valid: they do what no author would write. It leaves out those that write to
// tables, because the rewrite caps how far a table grows.
func TestMutatedModulesKeepTheirMeaning(t *testing.T) {
	var from [][]byte
	for _, name := range []string{"programs", "spin_br_table", "spin_indirect", "spin_tail_call"} {
		from = append(from, fixture(t, name))
	}
	for seed := range uint64(20) {
		from = append(from, randomProgram(3*seed))
	}
	r := rand.New(rand.NewPCG(3, 4))
	var valid [][]byte
	rt := newInterpreter(t)
	for _, seed := range from {
		for range partOf(min(400, 60*len(seed))) {
			bin := mutate(r, seed)
			info, err := Inspect(bin)
			if err != nil || info.Uses.TableWrites || len(info.Memories) > 0 && info.Memories[0].Min > 16 {
				continue
			}
			if _, err := Meter(bin, MeterOptions{}); err == nil && compiles(rt, bin) == nil {
				valid = append(valid, bin)
			}
		}
	}
	for engine := range engines {
		d := newDifferential(t, engine)
		for i, bin := range valid {
			d.module(fmt.Sprintf("%s, mutation %d", engine, i), bin)
		}
		t.Logf("%s: %d modules of %d run, %d calls of which %d trapped", engine, d.ran, len(valid), d.calls, d.traps)
		if d.ran < partOf(500) || d.calls < partOf(2000) || d.traps < partOf(100) {
			t.Error("too little was compared")
		}
	}
}

// mutate changes, removes or doubles a few bytes.
func mutate(r *rand.Rand, seed []byte) []byte {
	bin := slices.Clone(seed)
	for range 1 + r.IntN(2) {
		if len(bin) == 0 {
			break
		}
		at := r.IntN(len(bin))
		switch r.IntN(6) {
		case 0, 1:
			bin[at] ^= 1 << r.IntN(7)
		case 2:
			bin[at] = byte(r.IntN(128))
		case 3:
			bin = slices.Delete(bin, at, at+1)
		case 4:
			bin = slices.Insert(bin, at, bin[at])
		case 5:
			bin = bin[:at]
		}
	}
	return bin
}
