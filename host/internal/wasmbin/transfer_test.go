package wasmbin

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// transferArguments are an address, an offset and a number, around all that bounds them.
func transferArguments() (out [][]uint64) {
	const memory, behind = PageSize, 928
	// Sums that arrive there begin 800 before they wrap around.
	out = append(out, []uint64{4096, math.MaxUint64 - 1<<32 + 1 + behind, 1<<32 - 800},
		[]uint64{4096, math.MaxUint64 - 1<<31 + 1 + behind, 1<<31 - 800})
	for _, n := range []uint64{0, 8, 256, 264, 800, 803, 1600, 6000, 1 << 31, 1<<31 + 800, 1<<32 - 800, 1<<32 + 800,
		1<<63 - 800, 1<<63 + 800, math.MaxUint64 - 799} {
		out = append(out, []uint64{4096, 128, n})
	}
	for _, at := range []uint64{0, 3, 200, 624, 1000, 1016, 1023, 1024, 1031, 1032, 1033, 1040, 1048, memory - 800, memory - 801, memory - 400, memory - 7, memory,
		1 << 31, 1<<32 - 800, 1<<32 - 400, 1<<32 - 8, 1<<32 - 1} {
		out = append(out, []uint64{at, 128, 800}, []uint64{at, 129, 408})
	}
	for _, off := range []uint64{0, 1, kernelFirst - 1, kernelFirst, 701, inputSize - 800, inputSize - 400, kernelSize - 808, kernelSize - 800, kernelSize - 796,
		kernelSize - 400, kernelSize, 1 << 31, 1<<32 - 400, 1<<32 + 100, 1<<63 - 400, 1 << 63, math.MaxUint64 - 399, math.MaxUint64 - 7, math.MaxUint64} {
		out = append(out, []uint64{4096, off, 800}, []uint64{memory - 500, off, 600})
	}
	return out
}

// TestTransfers calls loops that move bytes, in every way that they can be run.
func TestTransfers(t *testing.T) {
	bin := fixture(t, "transfers")
	functions := exportedFunctions(t, bin)
	for _, c := range []struct {
		engine string
		stride int
		slices []int64
	}{{"compiler", 2, []int64{1, 7, 100, DefaultSlice}}, {"interpreter", 9, []int64{7, DefaultSlice}}} {
		if testing.Short() {
			c.stride *= 3
		}
		all, moved := newFleet(t, c.engine, bin, c.slices)
		for k, f := range functions {
			for i, args := range transferArguments() {
				if i > 1 && (i+k)%c.stride != 0 {
					continue
				}
				if err := all.compare(f.Name, args); err != nil {
					t.Errorf("%s: %v", c.engine, err)
					break
				}
			}
		}
		calls, n := all.moves()
		t.Logf("%s: %d loops, %d bytes in %d moves", c.engine, moved, n, calls)
		if moved < 70 || calls < 300 {
			t.Error("too little was moved")
		}
	}
}

func exportedFunctions(t *testing.T, bin []byte) []Export {
	t.Helper()
	info, err := Inspect(bin)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(info.Exports, func(e Export) bool { return e.Kind != KindFunc })
}

// notUnderstood are the functions of the fixture whose loops are run as they are. Of
// the others one loop is understood, of two_loops both.
var notUnderstood = []string{
	"backwards", "base_leaves", "byte_in_memory", "byte_masked_more", "byte_offset", "byte_signed", "byte_through_memory", "byte_widened",
	"computed_bound_in_global", "computed_divides", "computed_memory", "computed_stack", "computed_words", "computed_wrong_step",
	"copied_within", "counter_in_memory", "counts_in_global", "delayed", "dispatched_twice", "divides", "divides_later",
	"float_in_global", "float_kept", "float_summed", "floats_swap", "grows", "half_in_memory", "index_wraps_s", "loaded_not_stored",
	"many_conditions", "outer", "refs_swap", "side_exit_unknown", "step_bytes", "step_three", "step_wrong", "stored_twice", "summed",
	"truncates", "two_transfers", "unsteady", "until_zero", "value_changed", "value_halved", "value_halved_stored", "value_masked",
	"value_masked_stored", "with_parameter", "with_result", "word_narrowed",
}

func TestWhichLoopsAreUnderstood(t *testing.T) {
	bin := fixture(t, "transfers")
	found := understoodIn(t, bin)
	for _, f := range exportedFunctions(t, bin) {
		want := 1
		switch {
		case slices.Contains(notUnderstood, f.Name):
			want = 0
		case f.Name == "two_loops":
			want = 2
		}
		if n := len(found[f.Index]); n != want {
			t.Errorf("%s: %d loops are understood, want %d", f.Name, n, want)
		}
	}
}

// understoodIn are the loops of each function that are understood, each by how it moves.
func understoodIn(t *testing.T, bin []byte) map[uint32][]Transfer {
	t.Helper()
	m, err := parse(bin)
	if err != nil {
		t.Fatal(err)
	}
	o := moving().withDefaults()
	m.findLight(&o)
	w := newRewriter(m, o, windowWeight, straightWeight)
	w.findLeaves()
	found := map[uint32][]Transfer{}
	err = m.bodies(func(b *body) error {
		w.traceSteps = traceSteps
		for _, u := range w.findTurns(b, b.r.pos) {
			found[b.index] = append(found[b.index], u.how)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestLoopsOfGoAreUnderstood holds that the loops of Extism's kit for Go, built with
// the Go at hand, are understood.
func TestLoopsOfGoAreUnderstood(t *testing.T) {
	bin, err := buildEchoOfGo()
	if err != nil {
		t.Fatal(err)
	}
	ways := map[Transfer]int{}
	for _, function := range understoodIn(t, bin) {
		for _, how := range function {
			ways[how]++
		}
	}
	t.Log(ways)
	for _, how := range []Transfer{InputLoadU64, StoreU64} {
		if ways[how] == 0 {
			t.Errorf("%s builds loops that move bytes in another way (%d) than the search for them follows: "+
				"guests built with it are right, but take many times as long to read their input and write their output", runtime.Version(), how)
		}
	}
}

// TestLoopsThatAreNotValid holds that code which takes what is not there is left to the
// engine, which refuses it.
func TestLoopsThatAreNotValid(t *testing.T) {
	const turn = "\x20\x00\x20\x01\x10\x01\x37\x00\x00"
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	defer rt.Close(ctx)
	for name, run := range map[string]string{
		"takes from below its block":  "\x00\x03\x40\x42\x01\x42\x01\x02\x40\x1a\x1a\x20\x02\x50\x04\x40\x0b\x20\x02\x50\x0d\x00\x0c\x00\x0b" + turn + "\x0c\x00\x0b\x42\x00\x0b",
		"takes from below an if":      "\x00\x03\x40\x42\x01\x42\x01\x20\x02\xa7\x04\x40\x1a\x1a\x0c\x00\x0b" + turn + "\x0c\x00\x0b\x42\x00\x0b",
		"takes from nothing":          "\x00\x03\x40\x1a\x7c\x1b\x6a\x21\x00\xa7\x0d\x00" + turn + "\x0c\x00\x0b\x42\x00\x0b",
		"takes numbers of other size": "\x00\x03\x40\x20\x00\x20\x01\x6a\x21\x01\x20\x01\x20\x03\x5a\x0d\x00\x20\x01\xac\xa7\xad\x21\x00" + turn + "\x0c\x00\x0b\x42\x00\x0b",
		"stores in another type":      "\x00\x03\x40\x42\x08\x21\x00\x41\x01\x21\x01" + turn + "\x0c\x00\x0b\x42\x00\x0b",
	} {
		out, err := Meter(loopModule(run), moving())
		if err == nil {
			_, err = rt.CompileModule(ctx, out)
		}
		if err == nil {
			t.Errorf("what %s is compiled", name)
		}
	}
	bin := bytes.Replace(loopModuleBehind("\x00\x03\x40\x20\x03\x10\x09"+turn+"\x0c\x00\x0b\x42\x00\x0b", "\x00\x42\x00\x0b"),
		[]byte("\x20\x00\x29\x00\x10"), []byte("\x23\xe3\x80\x80\x00"), 1) // in the function that is written out, a global that is not there
	if _, err := Meter(bin, moving()); err == nil {
		t.Error("a global that is not there is accepted")
	}
}

// TestTransfersRefuseNothing holds that neither what is refused nor what is paid depends
// on whether bytes are moved, in functions about as large as they may be.
func TestTransfersRefuseNothing(t *testing.T) {
	loop := "\x02\x40\x03\x40\x20\x01\x20\x02\x5a\x0d\x01\x20\x00\x20\x01\x10\x01\x37\x00\x00" +
		"\x20\x00\x41\x08\x6a\x21\x00\x20\x01\x42\x08\x7c\x21\x01\x0c\x00\x0b\x0b"
	blocks := func(n int) string { return strings.Repeat("\x02\x40\x20\x00\x0d\x00\x0b", n) }
	understood := 0
	for n := 500; n < 1400; n += 10 {
		bin := transferModule(1, "\x01\x38\x7f"+loop+blocks(n)+"\x0b")
		o := moving()
		o.Bounds.LocalBlocks = 150_000
		w, _ := mustMove(t, bin)
		understood += w.moved + freeMoves
		_, with := Meter(bin, o)
		o.Transfers = nil
		_, without := Meter(bin, o)
		if fmt.Sprint(with) != fmt.Sprint(without) {
			t.Errorf("%d blocks: %v, without moves %v", n, with, without)
		}
	}
	if understood == 0 {
		t.Error("no loop is understood")
	}
}

// TestCallsThatAreNotWrittenOut: a function that was taken for one that is written out,
// and is not, pays on its own, which a turn that is moved would not.
func TestCallsThatAreNotWrittenOut(t *testing.T) {
	const loop = "\x00\x02\x40\x03\x40\x20\x02\x50\x0d\x01\x20\x00\x20\x01\x10\x07\x37\x00\x00" +
		"\x20\x00\x41\x08\x6a\x21\x00\x20\x01\x42\x08\x7c\x21\x01\x20\x02\x42\x01\x7d\x21\x02\x0c\x00\x0b\x0b\x20\x01\x0b"
	for _, calls := range []int{0, inlineTotal / 5} {
		first := "\x00" + strings.Repeat("\x42\x00\x10\x07\x1a", calls) + "\x42\x00\x0b"
		f, understood := newFleet(t, "compiler", loopModuleBehind(first, loop), []int64{100, DefaultSlice})
		if err := f.compare("run", []uint64{4096, 128, 90, 0}); err != nil {
			t.Error(err)
		}
		if n, _ := f.moves(); understood != 1 || (n > 0) != (calls == 0) {
			t.Errorf("%d calls: %d loops are understood, %d calls of move", calls, understood, n)
		}
	}
}

// TestCallsWithinThoseWrittenOut: a function is written out that calls another, which is
// not, so that it pays on its own. A loop that calls it is run as it is.
func TestCallsWithinThoseWrittenOut(t *testing.T) {
	const same, handsOn = "\x00\x20\x00\x0b", "\x00\x20\x00\x10\x0b\x0b"
	for first, want := range map[string]int{same: 1, handsOn: 0} {
		const loop = "\x00\x02\x40\x03\x40\x20\x02\x50\x0d\x01\x20\x00\x20\x01\x10\x07\x37\x00\x00\x42\x00\x10\x06\x1a" +
			"\x20\x00\x41\x08\x6a\x21\x00\x20\x01\x42\x08\x7c\x21\x01\x20\x02\x42\x01\x7d\x21\x02\x0c\x00\x0b\x0b\x20\x01\x0b"
		f, understood := newFleet(t, "compiler", loopModuleOf(1, first, loop, same), []int64{100, DefaultSlice})
		if err := f.compare("run", []uint64{4096, 128, 90, 0}); err != nil {
			t.Error(err)
		}
		if understood != want {
			t.Errorf("% x: %d loops are understood, want %d", first, understood, want)
		}
	}
}

// TestLongQuestionsAreNotAsked: nothing is paid for the code that asks whether turns can
// be done at once, so that it must not be long.
func TestLongQuestionsAreNotAsked(t *testing.T) {
	condition := "\x20\x01" // of off, and a sum of four numbers of 32 bits
	for k := range 4 {
		condition += texts("\x20\x03\x41\x81\x80\x20\x6c\x41", k+1, "\x6a\xad")
	}
	condition += "\x7c\x7c\x7c\x56\x0d\x01"
	for conditions, want := range map[int]bool{3: true, 7: false} {
		run := "\x00\x02\x40\x03\x40\x20\x02\x50\x0d\x01" + strings.Repeat(condition, conditions) + "\x20\x00\x20\x01\x10\x01\x37\x00\x00" +
			"\x20\x00\x41\x08\x6a\x21\x00\x20\x01\x42\x08\x7c\x21\x01\x20\x02\x42\x01\x7d\x21\x02\x0c\x00\x0b\x0b\x20\x01\x0b"
		f, understood := newFleet(t, "compiler", loopModule(run), []int64{DefaultSlice})
		if err := f.compare("run", []uint64{4096, 128, 90, 5000}); err != nil {
			t.Error(err)
		}
		if n, _ := f.moves(); understood != 1 || (n > 0) != want {
			t.Errorf("%d conditions: %d loops are understood, %d calls of move", conditions, understood, n)
		}
	}
}
