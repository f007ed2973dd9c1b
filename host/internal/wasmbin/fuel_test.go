package wasmbin

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"
)

// TestFuelDoesNotDependOnSlices compares the total fuel for slices of several sizes.
func TestFuelDoesNotDependOnSlices(t *testing.T) {
	out := mustMeter(t, fixture(t, "programs"), MeterOptions{})
	calls := []struct {
		name string
		arg  uint64
	}{{"fib", 12}, {"loop", 5000}, {"fnv", 3000}, {"sieve", 20000}}
	totals := map[string]int64{}
	for engine := range engines {
		for _, slice := range []int64{1, 100, DefaultSlice, 1_000_000} {
			g := mustStart(t, engine, out, &tank{slice: slice})
			for _, c := range calls {
				before := g.used()
				if _, err := g.call(c.name, c.arg); err != nil {
					t.Fatal(err)
				}
				total := g.used() - before
				if want, ok := totals[c.name]; ok && total != want {
					t.Errorf("%s, slices of %d, %s: %d fuel, earlier %d", c.name, slice, engine, total, want)
				}
				totals[c.name] = total
			}
		}
	}
	t.Log(totals)
}

// TestFuelIsExactAtATrap reads the counter after a trap and after the host stopped the guest.
func TestFuelIsExactAtATrap(t *testing.T) {
	out := mustMeter(t, fixture(t, "bulk"), MeterOptions{})
	var first int64
	for i, slice := range []int64{100, 1_000_000} {
		g := mustStart(t, "compiler", out, &tank{slice: slice})
		if _, err := g.call("fill", 131073); err == nil {
			t.Fatal("a fill beyond the memory does not trap")
		}
		if i == 0 {
			first = g.used()
		} else if g.used() != first {
			t.Errorf("%d and %d fuel before the trap", first, g.used())
		}
	}
	g := mustStart(t, "compiler", out, &tank{slice: 100, limit: 1000})
	if _, err := g.call("fill", 65536); !errors.Is(err, errSpent) {
		t.Fatalf("got %v", err)
	}
	if b, _ := g.mod.Memory().ReadByte(0); b != 0 {
		t.Error("the memory was filled before it was paid for")
	}
	if g.used() < 65536 || g.granted != 1000 {
		t.Errorf("used %d, granted %d", g.used(), g.granted)
	}
	ticks := g.ticks
	if _, err := g.call("fill", 1); !errors.Is(err, errSpent) || g.ticks != ticks+1 {
		t.Errorf("a call after the host stopped the guest: %v after %d ticks", err, g.ticks-ticks)
	}
}

func TestBulkOperationsPayForTheirSize(t *testing.T) {
	const trap = true
	for _, c := range []struct {
		name string
		arg  uint64
		size int64 // charged beyond the fixed part
		trap bool
	}{
		{"fill", 0, 0, false}, {"fill", 65536, 65536, false}, {"fill", 131072, 131072, false},
		{"fill", 4 << 20, 4 << 20, trap}, {"fill", 1 << 31, 0, trap}, {"fill", 1<<32 - 1, 0, trap},
		{"copy", 70000, 70000, false}, {"init", 16, 16, false}, {"init", 17, 17, trap},
		{"grow", 2, 2 << 16, false}, {"grow", 98, 98 << 16, false}, {"grow", 99, 0, false}, {"grow", 101, 0, false}, {"grow", 1<<32 - 1, 0, false},
		{"table_fill", 4, 4, false}, {"table_copy", 3, 3, false}, {"table_init", 2, 2, false}, {"table_init", 3, 3, trap},
		{"table_grow", 5, 5, false}, {"table_grow", 1000, 0, false}, {"table_grow", 1001, 0, false},
	} {
		t.Run(fmt.Sprint(c.name, " ", c.arg), func(t *testing.T) {
			out := mustMeter(t, fixture(t, "bulk"), MeterOptions{MaxMemoryPages: 100, MaxTable: 1000})
			cost := func(arg uint64) (int64, error) {
				g := mustStart(t, "compiler", out, &tank{slice: DefaultSlice})
				_, err := g.call(c.name, arg)
				return g.used(), err
			}
			fixed, _ := cost(0)
			got, err := cost(c.arg)
			if got-fixed != c.size || (err != nil) != c.trap {
				t.Errorf("charged %d, want %d; error %v", got-fixed, c.size, err)
			}
		})
	}
}

// TestLargeBulkOperationsReachTheHostFirst tests what the comment of DefaultSlice promises.
func TestLargeBulkOperationsReachTheHostFirst(t *testing.T) {
	out := mustMeter(t, fixture(t, "bulk"), MeterOptions{})
	g := mustStart(t, "compiler", out, &tank{slice: DefaultSlice})
	if _, err := g.call("fill", 1); err != nil {
		t.Fatal(err)
	}
	ticks, before := g.ticks, byte(0)
	g.onTick = func() { before, _ = g.mod.Memory().ReadByte(65535) }
	if _, err := g.call("fill", 65536); err != nil {
		t.Fatal(err)
	}
	if g.ticks == ticks || before != 0 {
		t.Errorf("%d ticks, last byte %d at the tick", g.ticks-ticks, before)
	}
}

// TestRandomProgramsPayForWhatTheyRun generates structured control flow of all kinds, compares
// its effects with those of the plain program, and compares the charge with the weight of the
// executed instructions.
func TestRandomProgramsPayForWhatTheyRun(t *testing.T) {
	for engine := range engines {
		worst, traps := 0.0, 0
		for seed := range uint64(partOf(400)) {
			w, n := checkRandomProgram(t, engine, seed)
			worst, traps = max(worst, w), traps+n
		}
		t.Logf("%s: at most %.1f times what was executed, %d traps", engine, worst, traps)
		if traps < partOf(50) {
			t.Error("too few traps were compared")
		}
	}
}

// checkRandomProgram calls a random program plain, metered, metered exactly and in small
// slices. It returns the highest ratio of charge to executed weight, and the number of traps.
func checkRandomProgram(t *testing.T, engine string, seed uint64) (worst float64, traps int) {
	t.Helper()
	shown := reveal(t, randomProgram(seed))
	info, err := Inspect(shown.bin)
	if err != nil {
		t.Fatal(err)
	}
	out := mustMeter(t, shown.bin, MeterOptions{})
	plain := mustStart(t, engine, shown.bin, &tank{})
	metered := mustStart(t, engine, out, &tank{slice: DefaultSlice})
	exact := mustStart(t, engine, meterExactly(t, shown.bin), &tank{slice: DefaultSlice})
	asking := mustStart(t, engine, out, &tank{slice: 61})
	for arg := range uint64(8) {
		m0, e0 := metered.used(), exact.used()
		p, perr := plain.call("run", arg*0x9e3779b9+1, 200)
		if perr != nil {
			traps++
		}
		for _, g := range []*guest{metered, exact, asking} {
			if got, err := g.call("run", arg*0x9e3779b9+1, 200); !slices.Equal(got, p) || firstLine(err) != firstLine(perr) {
				t.Fatalf("%s, seed %d: %v %v, plain %v %v", engine, seed, got, err, p, perr)
			}
			if diff := shown.differs(t, info, plain.mod, g.mod); diff != "" {
				t.Fatalf("%s, seed %d, argument %d: %s", engine, seed, arg, diff)
			}
		}
		if asking.used() != metered.used() {
			t.Fatalf("%s, seed %d: %d fuel, in slices of 61 %d", engine, seed, metered.used(), asking.used())
		}
		charged, executed := metered.used()-m0, exact.used()-e0
		if charged < executed {
			t.Fatalf("%s, seed %d, argument %d: charged %d for %d executed", engine, seed, arg, charged, executed)
		}
		if perr == nil { // the code behind a trap was paid for
			worst = max(worst, float64(charged)/float64(executed))
		}
	}
	return worst, traps
}

// generator writes a function (seed, steps) -> i32 that wanders through random blocks. Each
// back edge costs a step, and without steps none is taken. Most functions have no loops,
// because a loop that pays too much would hide other code that pays too little.
type generator struct {
	*rand.Rand
	code   []byte
	labels []byte // open blocks, outermost first: opLoop or opBlock
	budget int
	loops  bool
}

func randomProgram(seed uint64) []byte {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), budget: 4 + int(seed)/4, loops: seed%3 == 0}
	g.labels = []byte{opBlock}
	g.body(0)
	g.code = append(g.code, opLocalGet, 0, opEnd)
	f := append([]byte{0}, g.code...)
	b := []byte(magic + "\x01\x00\x00\x00")
	b = appendSection(b, secType, []byte{1, 0x60, 2, byte(I32), byte(I32), 1, byte(I32)})
	b = appendSection(b, secFunction, []byte{1, 0})
	b = appendSection(b, secMemory, []byte{1, 0, 1})
	b = appendSection(b, secGlobal, []byte{2, byte(I32), 1, opI32Const, 7, opEnd, byte(I64), 1, opI64Const, 9, opEnd})
	b = appendSection(b, secExport, []byte{1, 3, 'r', 'u', 'n', 0, 0})
	return appendSection(b, secCode, append(appendU32([]byte{1}, uint32(len(f))), f...))
}

// mix changes the state in local 0, n times.
func (g *generator) mix(n int) {
	for range n {
		g.code = append(g.code, opLocalGet, 0, opI32Const)
		g.code = appendS32(g.code, int32(g.Uint32()|1))
		g.code = append(g.code, 0x6c, 0x21, 0) // i32.mul, local.set
	}
}

// effect changes a global or the memory, reads from the memory, or divides. Accesses to the
// memory and divisions may trap.
func (g *generator) effect() {
	const store, load, divide = 0x36, 0x28, 0x6e
	switch g.IntN(7) {
	case 0:
		g.code = append(g.code, opLocalGet, 0, opGlobalGet, 0, 0x73, opGlobalSet, 0) // i32.xor
	case 1:
		g.code = append(g.code, opGlobalGet, 1, opLocalGet, 0, opI64ExtendU, opI64Add, opGlobalSet, 1)
	case 2:
		g.choice(PageSize + 9000)
		g.code = append(g.code, opLocalGet, 0, store, 0, 0)
	case 3:
		g.choice(PageSize + 9000)
		g.code = append(g.code, load, 0, 0, opGlobalGet, 0, opI32Add, opLocalSet, 0)
	case 4:
		g.code = append(g.code, opLocalGet, 0)
		g.choice(9)
		g.code = append(g.code, divide, opLocalSet, 0)
	case 5:
		g.choice(PageSize)
		g.code = append(g.code, opLocalGet, 0)
		g.choice(3000)
		g.code = append(g.code, opMisc, miscMemoryFill, 0)
	case 6:
		g.choice(PageSize)
		g.choice(PageSize)
		g.choice(3000)
		g.code = append(g.code, opMisc, miscMemoryCopy, 0, 0)
	}
}

// choice leaves a number below n on the stack, which it derives from the state.
func (g *generator) choice(n int) {
	g.mix(1)
	g.code = append(g.code, opLocalGet, 0, opI32Const, byte(8+g.IntN(16)), 0x76, opI32Const)
	g.code = append(appendS32(g.code, int32(n)), 0x70) // i32.shr_u, i32.rem_u
}

func (g *generator) body(depth int) {
	for range 1 + g.IntN(6) {
		if g.budget--; g.budget < 0 {
			return
		}
		g.mix(g.IntN(1 + g.IntN(20)))
		switch k := g.IntN(8); {
		case k < 2 && depth < 8:
			g.block(opBlock, depth)
		case k == 2 && depth < 8 && g.loops:
			g.block(opLoop, depth)
		case (k == 2 || k == 3) && depth < 8:
			g.choice(2)
			g.block(opIf, depth)
		case k == 4:
			g.choice(2)
			g.branch(opBrIf)
		case k == 5 && depth > 0:
			g.table()
		case k == 6:
			g.effect()
		default:
			g.mix(g.IntN(1 + g.IntN(60)))
		}
	}
}

func (g *generator) block(op byte, depth int) {
	g.code = append(g.code, op, blockVoid)
	g.labels = append(g.labels, op)
	g.body(depth + 1)
	if op == opIf && g.IntN(2) == 0 {
		g.code = append(g.code, opElse)
		g.body(depth + 1)
	}
	if op == opLoop {
		g.choice(2)
		g.branch(opBrIf)
	}
	g.code = append(g.code, opEnd)
	g.labels = g.labels[:len(g.labels)-1]
}

// branch branches to a random open block other than the function if the number on the stack is
// not 0, and to a loop only while there are steps.
func (g *generator) branch(op byte) {
	l := g.IntN(len(g.labels))
	if l == len(g.labels)-1 {
		g.code = append(g.code, 0x1a) // drop
		return
	}
	if g.labels[len(g.labels)-1-l] == opLoop {
		g.step()
		g.code = append(g.code, 0x71) // i32.and
	}
	g.code = append(g.code, op, byte(l))
}

// step takes a step, and leaves 1 if there are more.
func (g *generator) step() {
	g.code = append(g.code, opLocalGet, 1, opI32Const, 1, 0x6b, opLocalTee, 1, opI32Const, 0, 0x4a) // sub, tee, gt_s
}

// table branches to one of the open blocks that are no loops, then continues in dead code.
func (g *generator) table() {
	var targets []byte
	for l := range len(g.labels) - 1 {
		if g.labels[len(g.labels)-1-l] != opLoop {
			targets = append(targets, byte(l))
		}
	}
	if len(targets) == 0 {
		return
	}
	g.choice(len(targets) + 1)
	g.code = append(appendU32(append(g.code, opBrTable), uint32(len(targets))), targets...)
	g.code = append(g.code, targets[0])
}

func TestFreshCounterAsksBeforeTheFirstWork(t *testing.T) {
	out := mustMeter(t, fixture(t, "indices"), MeterOptions{})
	k := &tank{slice: DefaultSlice}
	g := mustStart(t, "compiler", out, k)
	if k.ticks != 1 {
		t.Errorf("%d ticks by the end of the start function", k.ticks)
	}
	g.fuel.(api.MutableGlobal).Set(1000)
	if _, err := g.call("direct"); err != nil {
		t.Fatal(err)
	}
	if k.ticks != 1 || int64(g.fuel.Get()) >= 1000 {
		t.Errorf("%d ticks, counter %d", k.ticks, g.fuel.Get())
	}
}

// A light import weighs less than another, with the same total for every size of the slices.
func TestLightImports(t *testing.T) {
	m := &module{}
	m.info.Imports = []Import{
		{Module: "a", Name: "slow", Extern: Extern{Kind: KindFunc}},
		{Module: "a", Name: "g", Extern: Extern{Kind: KindGlobal}},
		{Module: "a", Name: "fast", Extern: Extern{Kind: KindFunc}},
	}
	m.imported[KindFunc] = 2
	m.findLight(&MeterOptions{Light: func(module, name string) bool { return module == "a" && name == "fast" }})
	for i, want := range []int{weightHostCall, weightLight, 1} {
		if got := m.weight(&instr{op: opCall, x: uint32(i)}); got != want {
			t.Errorf("function %d weighs %d (want %d)", i, got, want)
		}
	}
}

// Only short functions that cannot recurse have no check. The functions that they call must be
// inert; it is not enough that they are light.
func TestWrappersDoWithoutACheck(t *testing.T) {
	o := MeterOptions{
		Light: func(_, name string) bool { return name != "slow" },
		Inert: func(_, name string) bool { return name != "light" },
	}
	imported := "\x03\x01a\x05inert\x00\x00\x01a\x05light\x00\x00\x01a\x04slow\x00\x00"
	for code, want := range map[string]opening{
		"":                             opensLeaf,
		"\x10\x00":                     opensLeaf, // inert
		"\x10\x00\x10\x00":             opensLeaf,
		"\x10\x00\x10\x00\x10\x00":     opensChecked,
		"\x10\x01":                     opensChecked, // light
		"\x10\x02":                     opensChecked, // slow
		"\x10\x03":                     opensChecked, // itself
		"\x12\x00":                     opensChecked, // in its place
		"\x41\x00\x11\x00\x00":         opensChecked, // through a table
		"\x10\x00\x10\x03":             opensChecked,
		"\x02\x40\x10\x01\x0b":         opensChecked,
		"\x02\x40\x0c\x00\x10\x03\x0b": opensChecked,
	} {
		text := "\x00" + code + "\x0b"
		m, err := parse(moduleOf(secType, "\x01\x60\x00\x00", secImport, imported, secFunction, "\x01\x00",
			secTable, "\x01\x70\x00\x01", secCode, "\x01"+string(appendU32(nil, uint32(len(text))))+text))
		if err != nil {
			t.Fatal(err)
		}
		m.findLight(&o)
		if err := m.bodies(func(b *body) error {
			if got := m.opening(b); got != want {
				t.Errorf("% x opens as %d (want %d)", code, got, want)
			}
			return nil
		}); err != nil {
			t.Errorf("% x: %v", code, err)
		}
	}
}

// TestStraightCodeIsPaidForOnce: code that no branch leaves does not pay in pieces.
func TestStraightCodeIsPaidForOnce(t *testing.T) {
	added := func(adds int, behind string) int {
		bin := code("\x41\x00" + behind + strings.Repeat("\x41\x01\x6a", adds) + "\x1a\x0b")
		return len(mustMeter(t, bin, MeterOptions{})) - len(bin)
	}
	const branch = "\x02\x40\x41\x00\x0d\x00\x0b" // block, i32.const, br_if 0, end
	if few, many := added(100, ""), added(400, ""); few != many {
		t.Errorf("%d bytes for 200 instructions, %d for 800", few, many)
	}
	if without, with := added(400, ""), added(400, branch); with <= without {
		t.Errorf("%d bytes without a branch, %d with one", without, with)
	}
	if straight, long := added(400, ""), added(4000, ""); long <= straight {
		t.Errorf("%d bytes for 800 instructions, %d for 8000, which need a check", straight, long)
	}
}

// TestEveryShapeAsks runs loops with parameters and results, loops nested deeper than those
// that call the host from outside, and recursion with two results.
func TestEveryShapeAsks(t *testing.T) {
	const (
		less  = "\x20\x00\x41\x01\x6b\x22\x00" // one less in local 0, left on the stack
		depth = 2 * outsideDepth
		n     = 50
	)
	for _, c := range []struct {
		name, body string
		typ        string
		want       []uint64
	}{
		{"loop with a result", "\x03\x7f" + less + "\x0d\x00\x20\x00\x41\x07\x6a\x0b\x0b", "\x01\x7f", []uint64{7}},
		{"loop with a parameter", "\x41\x05\x03\x00" + less + "\x0d\x00\x0b\x0b", "\x01\x7f", []uint64{5}},
		{"loops in loops", strings.Repeat("\x03\x40", depth) + less + "\x0d" + string(rune(depth-1)) + strings.Repeat("\x0b", depth) +
			"\x20\x00\x0b", "\x01\x7f", []uint64{0}},
		{"branch out of a loop", "\x02\x40\x03\x40" + less + "\x45\x0d\x01\x0c\x00\x0b\x0b\x20\x00\x0b", "\x01\x7f", []uint64{0}},
		{"table out of a loop", "\x02\x40\x03\x40" + less + "\x0e\x01\x01\x00\x0b\x0b\x20\x00\x0b", "\x01\x7f", []uint64{0}},
		{"two results", "\x20\x00\x04\x40" + less + "\x10\x00\x1a\x1a\x0b\x41\x03\x41\x04\x0b", "\x02\x7f\x7f", []uint64{3, 4}},
	} {
		f := "\x00" + c.body
		bin := moduleOf(secType, "\x02\x60\x01\x7f\x01\x7f\x60\x01\x7f"+c.typ, secFunction, "\x01\x01", secExport, "\x01\x03run\x00\x00",
			secCode, "\x01"+string(appendU32(nil, uint32(len(f))))+f)
		for engine := range engines {
			var used []int64
			for _, slice := range []int64{1, DefaultSlice} {
				g := mustStart(t, engine, mustMeter(t, bin, MeterOptions{}), &tank{slice: slice})
				if got, err := g.call("run", n); err != nil || !slices.Equal(got, c.want) {
					t.Fatalf("%s, %s, slices of %d: %v, %v", c.name, engine, slice, got, err)
				}
				if used = append(used, g.used()); used[0] != g.used() || used[0] < 4*n {
					t.Errorf("%s, %s: used %v", c.name, engine, used)
				}
			}
			g := mustStart(t, engine, mustMeter(t, bin, MeterOptions{}), &tank{slice: 1, limit: used[0] / 2})
			if _, err := g.call("run", n); !errors.Is(err, errSpent) {
				t.Errorf("%s, %s: with half of the fuel: %v", c.name, engine, err)
			}
		}
	}
}
