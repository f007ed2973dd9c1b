package wasmbin

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// inert are the options of a host with only light and inert functions.
func inert() MeterOptions {
	all := func(string, string) bool { return true }
	return MeterOptions{Light: all, Inert: all}
}

// mustWrite meters a module and returns the rewriter, which knows what it wrote out.
func mustWrite(tb testing.TB, bin []byte, o MeterOptions, window, straight int) (*rewriter, []byte) {
	tb.Helper()
	return mustWriteFrom(tb, bin, o, window, straight, 0)
}

// mustCall meters a module without writing out any function.
func mustCall(tb testing.TB, bin []byte, o MeterOptions, window, straight int) []byte {
	tb.Helper()
	_, out := mustWriteFrom(tb, bin, o, window, straight, inlineTotal+1)
	return out
}

// mustWriteFrom meters a module as if so many bytes of it were written out already.
func mustWriteFrom(tb testing.TB, bin []byte, o MeterOptions, window, straight, inlined int) (*rewriter, []byte) {
	tb.Helper()
	m, err := parse(bin)
	if err != nil {
		tb.Fatal(err)
	}
	o = o.withDefaults()
	m.findLight(&o)
	w := newRewriter(m, o, window, straight)
	w.inlined = inlined
	out, err := w.rewrite()
	if err != nil {
		tb.Fatalf("%v\n% x", err, bin)
	}
	return w, out
}

// wrapper returns a module of three functions: one of type i64 -> i64 with the given locals and
// body, one that calls it, and one that returns its argument and is not written out. The module
// imports inert and slow, () -> (), and a function i64 -> i64.
func wrapper(locals, body string) []byte {
	f := locals + body + "\x0b"
	return moduleOf(secType, "\x02\x60\x00\x00\x60\x01\x7e\x01\x7e", secImport, "\x03\x01k\x05inert\x00\x00\x01k\x04slow\x00\x00\x01k\x04same\x00\x01",
		secFunction, "\x03\x01\x01\x01", secMemory, "\x01\x00\x01", secGlobal, "\x01\x7f\x01\x41\x08\x0b", secExport, "\x01\x03run\x00\x04",
		secCode, "\x03"+string(appendU32(nil, uint32(len(f))))+f+"\x06\x00\x20\x00\x10\x03\x0b"+"\x07\x00\x02\x40\x0b\x20\x00\x0b")
}

// TestLeaves tests which functions are written out.
func TestLeaves(t *testing.T) {
	o := MeterOptions{Light: func(string, string) bool { return true }, Inert: func(_, name string) bool { return name != "slow" }}
	const same = "\x20\x00\x10\x02"
	for _, c := range []struct {
		name, locals, body string
		want               bool
	}{
		{"hands on", "\x00", same, true},
		{"returns", "\x00", same + "\x0f\x00", true},
		{"goes by the memory", "\x01\x01\x7f", "\x23\x00\x22\x01\x20\x00\x37\x03\x08\x20\x01\x29\x03\x08\x10\x02", true},
		{"returns with more on the stack", "\x00", "\x41\x01" + same + "\x0f", false},
		{"calls nothing", "\x00", "\x20\x00", true},
		{"calls nothing and is long", "\x00", "\x20\x00" + strings.Repeat("\x42\x01\x7c", inlineOther/2), false},
		{"divides", "\x00", "\x20\x00\x20\x00\x7f", false},
		{"cuts a float", "\x00", "\x20\x00\xbf\xb0", false},
		{"divides for an import", "\x00", same + "\x20\x00\x7f", true},
		{"calls what may call back", "\x00", "\x10\x01\x20\x00", false},
		{"calls that, too", "\x00", same + "\x10\x01", false},
		{"hands on to a function", "\x00", "\x20\x00\x10\x04", true},
		{"calls two functions", "\x00", "\x20\x00\x10\x04\x10\x04", false},
		{"calls a function and an import", "\x00", same + "\x10\x04", false},
		{"calls itself", "\x00", "\x20\x00\x10\x03", true},
		{"calls what is not there", "\x00", "\x20\x00\x10\x06", false},
		{"calls in its place", "\x00", same + "\x12\x02", false},
		{"calls through a table", "\x00", same + "\x41\x00\x11\x00\x00", false},
		{"has a block", "\x00", "\x02\x40\x0b" + same, false},
		{"has a loop", "\x00", "\x03\x40\x0b" + same, false},
		{"gives up", "\x00", "\x10\x00\x00", false},
		{"grows the memory", "\x00", "\x41\x01\x40\x00\x1a" + same, false},
		{"fills memory", "\x00", "\x41\x00\x41\x00\x41\x00\xfc\x0b\x00" + same, false},
		{"has a vector", "\x01\x01\x7b", same, false},
		{"has many locals", "\x01\x08\x7f", same, false},
		{"is long", "\x00", strings.Repeat("\x01", inlineSize) + same, false},
		{"calls much", "\x00", strings.Repeat("\x10\x00", 6) + same, false},
	} {
		m, err := parse(wrapper(c.locals, c.body))
		if err != nil {
			t.Fatal(err)
		}
		m.findLight(&o)
		w := newRewriter(m, o.withDefaults(), windowWeight, straightWeight)
		if w.findLeaves(); (w.leaves[3] != nil) != c.want || w.leaves[4] == nil {
			t.Errorf("%s: written out: %v, want %t", c.name, w.leaves, c.want)
		}
	}
}

// kernelOf is a host with inert functions. Their results depend on all arguments that they got
// before.
type kernelOf struct{ seen uint64 }

func (k *kernelOf) take(v uint64) uint64 {
	k.seen = (k.seen ^ v) * 0x9e3779b97f4a7c15
	return k.seen ^ k.seen>>29
}

// startInert instantiates a module with the imports of [leafProgram].
func startInert(tb testing.TB, engine string, bin []byte, k *tank) (*guest, *kernelOf) {
	tb.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, engines[engine]().WithCoreFeatures(features))
	tb.Cleanup(func() { rt.Close(ctx) })
	kernel := new(kernelOf)
	i32, i64 := api.ValueTypeI32, api.ValueTypeI64
	host := rt.NewHostModuleBuilder("k")
	host.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, s []uint64) { s[0] = kernel.take(s[0]) }),
		[]api.ValueType{i64}, []api.ValueType{i64}).Export("load")
	host.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, s []uint64) { kernel.take(kernel.take(s[0]) + uint64(uint32(s[1]))) }),
		[]api.ValueType{i64, i32}, nil).Export("store")
	return open(tb, rt, bin, k, host, meterOf(rt, k)), kernel
}

// TestLeavesKeepTheirMeaning calls random wrappers of inert imports from random code,
// plain and metered, and compares the charge with that of a module that calls them.
func TestLeavesKeepTheirMeaning(t *testing.T) {
	written, others, traps := 0, 0, 0
	for seed := range uint64(partOf(400)) {
		bin := leafProgram(seed)
		o := inert()
		w, metered := mustWrite(t, bin, o, windowWeight, straightWeight)
		written += w.inlined
		for _, l := range w.leaves {
			if l.inert == 0 {
				others++
			}
		}
		exact := mustCall(t, bin, o, 0, 0)
		engine := []string{"compiler", "interpreter"}[seed%2]
		p, pk := startInert(t, engine, bin, &tank{})
		m, mk := startInert(t, engine, metered, &tank{slice: DefaultSlice})
		a, ak := startInert(t, engine, metered, &tank{slice: 61})
		e, _ := startInert(t, engine, exact, &tank{slice: DefaultSlice})
		for arg := range uint64(4) {
			args := []uint64{1 + 3*arg, seed * arg}
			want, perr := p.call("run", args...)
			if perr != nil {
				traps++
			}
			for _, g := range []*guest{m, a, e} {
				if got, err := g.call("run", args...); !slices.Equal(got, want) || firstLine(err) != firstLine(perr) {
					t.Fatalf("seed %d: plain %v %v, metered %v %v\n% x", seed, want, perr, got, err, bin)
				}
			}
			if mk.seen != pk.seen || ak.seen != pk.seen || !sameState(p.mod, m.mod) || !sameState(p.mod, a.mod) {
				t.Fatalf("seed %d: what the guest did differs\n% x", seed, bin)
			}
			if m.used() != a.used() || m.used() < e.used() {
				t.Fatalf("seed %d: %d fuel, in slices of 61 %d, executed %d\n% x", seed, m.used(), a.used(), e.used(), bin)
			}
		}
	}
	t.Logf("%d bytes written out, %d functions without imports, %d traps", written, others, traps)
	if written < partOf(20_000) || others < partOf(200) || traps < partOf(20) {
		t.Error("too little was compared")
	}
}

// sameState compares the memory and the globals g0 and g1.
func sameState(x, y api.Module) bool {
	a, _ := x.Memory().Read(0, x.Memory().Size())
	b, _ := y.Memory().Read(0, y.Memory().Size())
	same := bytes.Equal(a, b)
	for _, name := range []string{"g0", "g1"} {
		same = same && x.ExportedGlobal(name).Get() == y.ExportedGlobal(name).Get()
	}
	return same
}

// leafWriter writes random code on locals, two globals and a memory.
type leafWriter struct {
	*rand.Rand
	code   []byte
	locals []ValueType
	// fixed is the number of locals that are not set.
	fixed int
}

var numbers = [...]ValueType{I32, I64, F32, F64}

// leafProgram is a module with wrappers of its imports load, i64 -> i64, and store,
// i64 i32 -> (), and with run, i32 i64 -> i64, which calls them in a loop.
func leafProgram(seed uint64) []byte {
	g := &leafWriter{Rand: rand.New(rand.NewPCG(seed, 7))}
	types := []string{"\x60\x01\x7e\x01\x7e", "\x60\x02\x7e\x7f\x00", "\x60\x02\x7f\x7e\x01\x7e"}
	functions, bodies := []byte{2}, [][]byte{nil}
	var leaves []FuncType
	for range 1 + g.IntN(5) {
		f := FuncType{g.types(4), g.types(3)}
		types = append(types, "\x60"+typeList(f.Params)+typeList(f.Results))
		functions = append(functions, byte(len(types)-1))
		leaves = append(leaves, f)
		bodies = append(bodies, g.leaf(f, leaves[:len(leaves)-1]))
	}
	bodies[0] = g.caller(leaves)
	section := []byte{byte(len(bodies))}
	for _, b := range bodies {
		section = append(appendU32(section, uint32(len(b))), b...)
	}
	return moduleOf(secType, string(rune(len(types)))+strings.Join(types, ""), secImport, "\x02\x01k\x04load\x00\x00\x01k\x05store\x00\x01",
		secFunction, string(rune(len(functions)))+string(functions), secMemory, "\x01\x00\x01",
		secGlobal, "\x02\x7f\x01\x41\x08\x0b\x7e\x01\x42\x05\x0b",
		secExport, "\x03\x03run\x00\x02\x02g0\x03\x00\x02g1\x03\x01", secCode, string(section))
}

func typeList(ts []ValueType) string {
	b := []byte{byte(len(ts))}
	for _, t := range ts {
		b = append(b, byte(t))
	}
	return string(b)
}

func (g *leafWriter) types(below int) (out []ValueType) {
	for range g.IntN(below) {
		out = append(out, numbers[g.IntN(4)])
	}
	return out
}

// begin writes the declarations of locals behind the parameters.
func (g *leafWriter) begin(params, own []ValueType) {
	g.locals = slices.Concat(params, own)
	g.code = []byte{byte(len(own))}
	for _, t := range own {
		g.code = append(g.code, 1, byte(t))
	}
}

// leaf writes a body that may be written out, and one that is too long for that. It calls an
// import, one of the other functions, or nothing.
func (g *leafWriter) leaf(f FuncType, others []FuncType) []byte {
	g.begin(f.Params, g.types(3))
	g.fixed = 0
	for range g.IntN(3) {
		g.statement(1)
	}
	switch k := g.IntN(4); {
	case k == 0 && len(others) > 0:
		i := g.IntN(len(others))
		g.call(i, others[i])
	case k > 1:
		g.put(I64, 0)
		g.code = append(g.code, opCall, 0, opGlobalSet, 1)
	}
	for range g.IntN(2) {
		g.statement(1)
	}
	for _, t := range f.Results {
		g.put(t, 1)
	}
	if g.IntN(2) == 0 {
		g.code = append(g.code, opReturn, opUnreachable)
	}
	return append(g.code, opEnd)
}

// caller writes a body that counts local 0 down and leaves local 1.
func (g *leafWriter) caller(leaves []FuncType) []byte {
	g.begin([]ValueType{I32, I64}, slices.Concat(g.types(4), numbers[:]))
	g.fixed = 1
	g.code = append(g.code, opBlock, blockVoid, opLoop, blockVoid)
	for range 1 + g.IntN(12) {
		switch i := g.IntN(len(leaves)); g.IntN(9) {
		case 0:
			g.put(I32, 1)
			g.code = append(g.code, opIf, blockVoid)
			g.call(i, leaves[i])
			g.code = append(g.code, opElse)
			g.statement(2)
			g.code = append(g.code, opEnd)
		case 1:
			g.put(I32, 1)
			g.code = append(g.code, opI32Const, 7, 0x71, 0x45, opBrIf, 1) // and, eqz
		case 2: // never reached, and without arguments
			g.code = append(g.code, opBlock, blockVoid, opBr, 0, opCall, byte(3+i), opUnreachable, opEnd)
		case 3:
			g.statement(2)
		default:
			g.call(i, leaves[i])
		}
	}
	g.code = append(g.code, opLocalGet, 0, opI32Const, 1, opI32Sub, opLocalTee, 0, opBrIf, 0, opEnd, opEnd)
	return append(g.code, opLocalGet, 1, opEnd)
}

// call calls a wrapper and stores its result if there is a local for it.
func (g *leafWriter) call(i int, f FuncType) {
	for _, t := range f.Params {
		g.put(t, 1)
	}
	g.code = append(g.code, opCall, byte(3+i))
	for _, t := range slices.Backward(f.Results) {
		if l := g.local(t, g.fixed); l >= 0 && g.IntN(4) > 0 {
			g.code = append(g.code, opLocalSet, byte(l))
		} else {
			g.code = append(g.code, opDrop)
		}
	}
}

// local returns a local of a type, -1 if there is none.
func (g *leafWriter) local(t ValueType, from int) int {
	start := g.IntN(len(g.locals) + 1)
	for k := range g.locals {
		if i := (start + k) % len(g.locals); i >= from && g.locals[i] == t {
			return i
		}
	}
	return -1
}

func (g *leafWriter) statement(depth int) {
	t := numbers[g.IntN(4)]
	switch k := g.IntN(6); {
	case k == 0:
		g.put(I32, depth)
		g.code = append(g.code, opGlobalSet, 0)
	case k == 1:
		g.put(I64, depth)
		g.put(I32, depth)
		g.code = append(g.code, opCall, 1)
	case k == 2:
		g.address(depth)
		g.put(t, depth)
		g.code = append(g.code, byte(0x36+slices.Index(numbers[:], t)), 0, byte(g.IntN(100)))
	case g.local(t, g.fixed) >= 0:
		g.put(t, depth)
		g.code = append(g.code, byte(opLocalSet+g.IntN(2)), byte(g.local(t, g.fixed)))
		if g.code[len(g.code)-2] == opLocalTee {
			g.code = append(g.code, opDrop)
		}
	}
}

// address leaves an address, which mostly lies within the memory.
func (g *leafWriter) address(depth int) {
	g.put(I32, depth-1)
	if g.IntN(16) > 0 {
		g.code = append(g.code, opI32Const, 0xff, 0xff, 1, 0x71) // and
	}
}

// put leaves a value of a type on the stack.
func (g *leafWriter) put(t ValueType, depth int) {
	k := g.IntN(8)
	if l := g.local(t, 0); l >= 0 && (k < 4 || depth <= 0) {
		g.code = append(g.code, opLocalGet, byte(l))
		return
	}
	if depth <= 0 || k < 5 {
		if t == I32 && k%2 == 0 {
			g.code = appendS32(append(g.code, opI32Const), int32(g.Uint32()))
		} else {
			g.code = append(g.code, zeros[t]...)
		}
		return
	}
	switch {
	case k == 5:
		g.address(depth)
		g.code = append(g.code, byte(0x28+slices.Index(numbers[:], t)), 0, byte(g.IntN(100)))
	case t == I32 && k == 6:
		g.code = append(g.code, opGlobalGet, 0)
	case t == I32:
		g.put(I32, depth-1)
		g.put(I64, depth-1)
		g.code = append(g.code, 0xa7, opI32Add) // wrap
	case t == I64 && k == 6:
		g.put(I64, depth-1)
		g.code = append(g.code, opCall, 0)
	case t == I64:
		g.code = append(g.code, opGlobalGet, 1)
		g.put(I64, depth-1)
		g.code = append(g.code, opI64Add)
	default:
		g.put(t, depth-1)
		g.put(t, depth-1)
		g.put(I32, 0)
		g.code = append(g.code, opSelect)
	}
}

// TestWrittenOutCallsPayTheSame: in code without branches, a call costs the same whether the
// function is written out or called.
func TestWrittenOutCallsPayTheSame(t *testing.T) {
	for _, c := range []struct{ name, locals, body string }{
		{"inert imports", "\x01\x02\x7e", "\x20\x00\x21\x01\x10\x00\x20\x01\x20\x02\x7c\x10\x02"}, // adds a local that is 0
		{"nothing", "\x01\x02\x7e", "\x20\x00\x21\x01\x20\x01\x20\x02\x7c"},
		{"a function", "\x00", "\x20\x00\x10\x05"},
	} {
		bin := wrapper(c.locals, c.body)
		for engine := range engines {
			w, out := mustWrite(t, bin, inert(), windowWeight, straightWeight)
			called := mustCall(t, bin, inert(), windowWeight, straightWeight)
			if w.inlined == 0 {
				t.Fatalf("%s: nothing is written out", c.name)
			}
			if a, b := fuelOfRun(t, engine, out), fuelOfRun(t, engine, called); a != b || a == 0 {
				t.Errorf("%s, %s: %d fuel when it is called, %d when it is written out", c.name, engine, b, a)
			}
		}
	}
}

// fuelOfRun returns the fuel of run in a metered module of [wrapper], which returns 42.
func fuelOfRun(t *testing.T, engine string, metered []byte) int64 {
	t.Helper()
	ctx, k := context.Background(), &tank{slice: DefaultSlice}
	rt := wazero.NewRuntimeWithConfig(ctx, engines[engine]())
	t.Cleanup(func() { rt.Close(ctx) })
	host, meter, i64 := rt.NewHostModuleBuilder("k"), rt.NewHostModuleBuilder(TickModule), []api.ValueType{api.ValueTypeI64}
	none := api.GoFunc(func(context.Context, []uint64) {})
	host.NewFunctionBuilder().WithGoFunction(none, nil, nil).Export("inert").NewFunctionBuilder().
		WithGoFunction(none, nil, nil).Export("slow").NewFunctionBuilder().WithGoFunction(none, i64, i64).Export("same")
	meter.NewFunctionBuilder().WithGoFunction(api.GoFunc(k.tick), nil, i64).Export(TickName)
	for _, b := range []wazero.HostModuleBuilder{host, meter} {
		if _, err := b.Instantiate(ctx); err != nil {
			t.Fatal(err)
		}
	}
	mod, err := rt.Instantiate(ctx, metered)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := mod.ExportedFunction("run").Call(ctx, 42); err != nil || got[0] != 42 {
		t.Errorf("%s: %v, %v", engine, got, err)
	}
	return used(mod, k)
}

// TestLittleIsWrittenOut: the size of a module with many calls does not grow without bounds, and
// nothing is written out in a function that takes long to compile.
func TestLittleIsWrittenOut(t *testing.T) {
	module := func(caller string) []byte {
		leaf := "\x00" + strings.Repeat("\x20\x00\x20\x00\x7c\x1a", 8) + "\x20\x00\x10\x00\x0b"
		return moduleOf(secType, "\x01\x60\x01\x7e\x01\x7e", secImport, "\x01\x01k\x04same\x00\x00", secFunction, "\x02\x00\x00",
			secCode, "\x02"+string(appendU32(nil, uint32(len(leaf))))+leaf+string(appendU32(nil, uint32(len(caller))))+caller)
	}
	w, _ := mustWrite(t, module("\x00\x20\x00"+strings.Repeat("\x10\x01", 100_000)+"\x0b"), inert(), windowWeight, straightWeight)
	if w.inlined < inlineTotal || w.inlined > inlineTotal+8*inlineSize {
		t.Errorf("%d bytes are written out, bound %d", w.inlined, inlineTotal)
	}
	blocks := strings.Repeat("\x02\x40\x0b", 1000)
	w, _ = mustWrite(t, module("\x01\xe8\x07\x7f"+blocks+"\x20\x00\x10\x01\x0b"), inert(), windowWeight, straightWeight)
	if w.inlined != 0 {
		t.Errorf("%d bytes are written out in a function of 1,000 locals and 1,000 blocks", w.inlined)
	}
}

// TestLeavesRefuseNothing tests that writing out functions makes no module too expensive to
// compile.
func TestLeavesRefuseNothing(t *testing.T) {
	leaf := "\x01\x07\x7f\x20\x00\x10\x02\x0b"
	caller := func(blocks int) string {
		return "\x01\x05\x7f\x20\x00\x10\x03" + strings.Repeat("\x02\x40\x0b", blocks) + "\x0b"
	}
	for _, c := range []struct {
		name   string
		bodies []string
	}{
		{"a function", []string{leaf, caller(150_000)}},
		{"all functions", append([]string{leaf}, slices.Repeat([]string{caller(100_000)}, 40)...)},
	} {
		bin := calling(c.bodies)
		if _, err := Meter(bin, MeterOptions{Light: inert().Light}); err != nil {
			t.Fatal(err)
		}
		if _, err := Meter(bin, inert()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// calling returns a module like that of [wrapper] with the given functions, each i64 -> i64.
func calling(bodies []string) []byte {
	functions, code := appendU32(nil, uint32(len(bodies))), appendU32(nil, uint32(len(bodies)))
	for _, f := range bodies {
		functions = append(functions, 1)
		code = append(appendU32(code, uint32(len(f))), f...)
	}
	return moduleOf(secType, "\x02\x60\x00\x00\x60\x01\x7e\x01\x7e", secImport, "\x03\x01k\x05inert\x00\x00\x01k\x04slow\x00\x00\x01k\x04same\x00\x01",
		secFunction, string(functions), secMemory, "\x01\x00\x01", secExport, "\x01\x03run\x00\x04", secCode, string(code))
}

// TestLeavesMakeNothingValid tests that a function cannot name the locals that are added to it.
func TestLeavesMakeNothingValid(t *testing.T) {
	const leaf = "\x01\x01\x7e\x20\x00\x10\x02\x0b"
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	defer rt.Close(ctx)
	for _, use := range []string{"\x20\x01\x1a", "\x42\x00\x21\x02", "\x42\x00\x22\x01\x1a"} {
		for _, caller := range []string{"\x00" + use + "\x20\x00\x10\x03\x0b", "\x00\x20\x00\x10\x03" + use + "\x0b"} {
			out, err := Meter(calling([]string{leaf, caller}), inert())
			if err == nil {
				_, err = rt.CompileModule(ctx, out)
			}
			if err == nil {
				t.Errorf("% x is compiled", caller)
			}
		}
	}
}
