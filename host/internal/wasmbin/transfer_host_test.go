package wasmbin

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// transferNames are the imports from module k that move bytes.
var transferNames = map[string]Transfer{"load_u8": LoadU8, "load_u64": LoadU64, "input_load_u8": InputLoadU8,
	"input_load_u64": InputLoadU64, "store_u8": StoreU8, "store_u64": StoreU64}

// moving are the options of a host whose functions move bytes.
func moving() MeterOptions {
	o := inert()
	o.Transfers = func(module, name string) Transfer { return transferNames[name] }
	return o
}

// Sizes of the host's side: guests may not touch what lies below kernelFirst.
const (
	kernelFirst, kernelSize, inputSize = 64, 3003, 1501
)

// transferHost is the host's side of guests that move bytes: a memory of its own, and
// an input.
type transferHost struct {
	memory, input []byte
	// most bounds what one call of move moves, if it is not negative.
	most int64
	// moves are the calls of move, moved the bytes.
	moves int
	moved uint64
	wrong string // what a call of move was given that it must not be given
}

func (h *transferHost) reset() {
	h.memory, h.input = make([]byte, kernelSize), make([]byte, inputSize)
	for i := range h.memory {
		h.memory[i] = byte(i*7 + i>>8)
	}
	for i := range h.input {
		h.input[i] = byte(i*11 + i>>8 + 1)
	}
}

// window is what lies at an offset, up to n bytes.
func (h *transferHost) window(t Transfer, off, n uint64) []byte {
	b := h.memory
	switch {
	case t.Input():
		b = h.input
	case off < kernelFirst:
		return nil
	}
	if off >= uint64(len(b)) {
		return nil
	}
	return b[off : off+min(n, uint64(len(b))-off)]
}

// transfer is one call of an import: outside of the memory it reads zeros and writes nothing.
func (h *transferHost) transfer(t Transfer) api.GoFunc {
	return func(_ context.Context, s []uint64) {
		b := h.window(t, s[0], t.Width())
		switch {
		case uint64(len(b)) < t.Width():
			if !t.Store() {
				s[0] = 0
			}
		case t.Store() && t.Width() == 1:
			b[0] = byte(s[1])
		case t.Store():
			binary.LittleEndian.PutUint64(b, s[1])
		case t.Width() == 1:
			s[0] = uint64(b[0])
		default:
			s[0] = binary.LittleEndian.Uint64(b)
		}
	}
}

// move is the function of [MoveName].
func (h *transferHost) move(_ context.Context, mod api.Module, s []uint64) {
	t, at, off, n, low, high := Transfer(s[0]), s[1], s[2], s[3], s[4], s[5]
	s[0] = 0
	if t == Reach {
		s[0] = uint64(len(h.window(StoreU8, off, h.limited(n))))
		return
	}
	w := t.Width()
	size := uint64(mod.Memory().Size())
	if w == 0 || n == 0 || n%w != 0 || low > high || high > size {
		h.wrong = fmt.Sprintf("move(%d, %d, %d, %d, %d, %d)", t, at, off, n, low, high)
		return
	}
	if at < high && low < at+n || at >= size {
		return
	}
	theirs := h.window(t, off, h.limited(min(n, size-at)))
	theirs = theirs[:uint64(len(theirs))/w*w]
	ours, _ := mod.Memory().Read(uint32(at), uint32(len(theirs)))
	if t.Store() {
		copy(theirs, ours)
	} else {
		copy(ours, theirs)
	}
	s[0] = uint64(len(theirs))
	h.moves++
	h.moved += s[0]
}

func (h *transferHost) limited(n uint64) uint64 {
	if h.most < 0 {
		return n
	}
	return min(n, uint64(h.most))
}

// transferGuest is an instance of a guest that moves bytes, and its host.
type transferGuest struct {
	*guest
	host *transferHost
	// drawn is the fuel used at each tick.
	drawn []int64
	// memory are the bytes that the guest's memory has when a call begins.
	memory []byte
}

// startTransfers instantiates a module that imports from k, metered or not.
func startTransfers(tb testing.TB, rt wazero.Runtime, bin []byte, k *tank, most int64) *transferGuest {
	tb.Helper()
	g := &transferGuest{host: &transferHost{most: most}}
	i64, i32 := api.ValueTypeI64, api.ValueTypeI32
	host := rt.NewHostModuleBuilder("k")
	for name, t := range transferNames {
		value := i64
		if t.Width() == 1 {
			value = i32
		}
		params, results := []api.ValueType{i64}, []api.ValueType{value}
		if t.Store() {
			params, results = []api.ValueType{i64, value}, nil
		}
		host.NewFunctionBuilder().WithGoFunction(g.host.transfer(t), params, results).Export(name)
	}
	meter := meterOf(rt, k)
	meter.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(g.host.move), []api.ValueType{i32, i64, i64, i64, i64, i64},
		[]api.ValueType{i64}).Export(MoveName)
	g.guest = open(tb, rt, bin, k, host, meter)
	g.memory = make([]byte, g.mod.Memory().Size())
	r := rand.New(rand.NewPCG(1, 1))
	for i := range g.memory {
		g.memory[i] = byte(r.Uint32())
	}
	k.onTick = func() { g.drawn = append(g.drawn, g.used()) }
	return g
}

// outcome is all that can be told of a call.
type outcome struct {
	results []uint64
	err     string
	memory  []byte
	kernel  []byte
	globals []uint64
	drawn   []int64 // -1 for what is used at the end
	spent   bool
}

var transferGlobals = []string{"g0", "g1", "f0"}

// run calls a function in a state that depends on nothing. The memory of the outcome is
// that of the guest until the next run.
func (g *transferGuest) run(name string, args []uint64) outcome {
	g.host.reset()
	g.granted, g.ticks, g.drawn = 0, 0, nil
	if g.fuel != nil {
		g.fuel.(api.MutableGlobal).Set(0)
	}
	mem, _ := g.mod.Memory().Read(0, g.mod.Memory().Size())
	copy(mem, g.memory)
	for _, name := range transferGlobals {
		if v := g.mod.ExportedGlobal(name); v != nil {
			v.(api.MutableGlobal).Set(0)
		}
	}
	res, err := g.call(name, args...)
	o := outcome{results: res, err: firstLine(err), memory: mem, kernel: g.host.memory, drawn: g.drawn}
	o.spent = err != nil && bytes.Contains([]byte(o.err), []byte(errSpent.Error()))
	for _, name := range transferGlobals {
		if v := g.mod.ExportedGlobal(name); v != nil {
			o.globals = append(o.globals, v.Get())
		}
	}
	if g.fuel != nil {
		o.drawn = append(o.drawn, g.used())
	}
	return o
}

// differs says in what two outcomes differ, "" in nothing. A plain one has no fuel.
func (o *outcome) differs(p *outcome, fuel bool) string {
	switch {
	case o.err != p.err:
		return fmt.Sprintf("error %q, %q", o.err, p.err)
	case !slices.Equal(o.results, p.results):
		return fmt.Sprintf("results %d, %d", o.results, p.results)
	case !slices.Equal(o.globals, p.globals):
		return fmt.Sprintf("globals %d, %d", o.globals, p.globals)
	case !bytes.Equal(o.memory, p.memory):
		return "memory at " + firstDifference(o.memory, p.memory)
	case !bytes.Equal(o.kernel, p.kernel):
		return "the host's memory at " + firstDifference(o.kernel, p.kernel)
	case fuel && !slices.Equal(o.drawn, p.drawn):
		return fmt.Sprintf("fuel at %d ticks, last %d; at %d ticks, last %d", len(o.drawn)-1, o.drawn[len(o.drawn)-1],
			len(p.drawn)-1, p.drawn[len(p.drawn)-1])
	}
	return ""
}

func firstDifference(a, b []byte) string {
	for i := range a {
		if a[i] != b[i] {
			return fmt.Sprintf("%d: %d, %d", i, a[i], b[i])
		}
	}
	return "its end"
}

// fleet is one module plain, metered, and metered with bytes moved, for some slices.
type fleet struct {
	plain *transferGuest
	pairs []transferPair
}

type transferPair struct {
	slice     int64
	without   *transferGuest
	withMoves []*transferGuest
}

// slicesOf are the slices that are compared, and the fuel that a call may draw.
var slicesOf = map[int64]int64{1: 5_000, 7: 20_000, 100: 50_000, 1 << 16: 1 << 16}

// newFleet instantiates a module in every way. What move moves differs: all, nothing,
// or a few bytes.
func newFleet(tb testing.TB, engine string, bin []byte, slices []int64) (*fleet, int) {
	tb.Helper()
	o := moving()
	w, moved := mustMove(tb, bin)
	o.Transfers = nil
	_, metered := mustWrite(tb, bin, o, windowWeight, straightWeight)
	cache := wazero.NewCompilationCache()
	tb.Cleanup(func() { cache.Close(context.Background()) })
	start := func(bin []byte, slice, most int64) *transferGuest {
		ctx := context.Background()
		rt := wazero.NewRuntimeWithConfig(ctx, engines[engine]().WithCoreFeatures(features).WithCompilationCache(cache))
		tb.Cleanup(func() { rt.Close(ctx) })
		return startTransfers(tb, rt, bin, &tank{slice: slice, limit: slicesOf[slice]}, most)
	}
	f := &fleet{plain: start(bin, 0, -1)}
	for _, s := range slices {
		p := transferPair{slice: s, without: start(metered, s, -1)}
		for _, most := range []int64{-1, 0, 43} {
			if most < 0 || s > 7 {
				p.withMoves = append(p.withMoves, start(moved, s, most))
			}
		}
		f.pairs = append(f.pairs, p)
	}
	return f, w.moved + freeMoves
}

// freeMoves are how many loops of a module are understood beyond those that Meter looks for.
const freeMoves = 1000

// mustMove meters a module with its bytes moved, in however many loops.
func mustMove(tb testing.TB, bin []byte) (*rewriter, []byte) {
	tb.Helper()
	m, err := parse(bin)
	if err != nil {
		tb.Fatal(err)
	}
	o := moving().withDefaults()
	m.findLight(&o)
	w := newRewriter(m, o, windowWeight, straightWeight)
	w.moved = -freeMoves
	out, err := w.rewrite()
	if err != nil {
		tb.Fatalf("%v\n% x", err, bin)
	}
	return w, out
}

// compare calls a function on all of a fleet.
func (f *fleet) compare(name string, args []uint64) error {
	ended := false
	var last outcome
	for _, p := range f.pairs {
		want := p.without.run(name, args)
		for _, g := range p.withMoves {
			got := g.run(name, args)
			if d := got.differs(&want, true); d != "" {
				return fmt.Errorf("%s%d in slices of %d, of which move moves %d: with moves and without: %s", name, args, p.slice, g.host.most, d)
			}
			if g.host.wrong != "" {
				return fmt.Errorf("%s%d in slices of %d: %s", name, args, p.slice, g.host.wrong)
			}
		}
		if !want.spent {
			ended, last = true, want
		}
	}
	if !ended {
		return nil // it may never end when plain
	}
	plain := f.plain.run(name, args)
	if d := last.differs(&plain, false); d != "" {
		return fmt.Errorf("%s%d: metered and plain: %s", name, args, d)
	}
	return nil
}

// moves is how often the fleet called move, and for how many bytes.
func (f *fleet) moves() (calls int, bytes uint64) {
	for _, p := range f.pairs {
		for _, g := range p.withMoves {
			calls += g.host.moves
			bytes += g.host.moved
		}
	}
	return calls, bytes
}
