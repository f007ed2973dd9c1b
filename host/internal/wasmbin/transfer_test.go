package wasmbin

import (
	"math"
	"slices"
	"testing"
)

// transferArguments are an address, an offset and a number, around all that bounds them.
func transferArguments() (out [][]uint64) {
	const memory = PageSize
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
	for engine, stride := range map[string]int{"compiler": 2, "interpreter": 9} {
		if testing.Short() {
			stride *= 2
		}
		f, moved := newFleet(t, engine, bin, []int64{1, 7, 100, DefaultSlice})
		for k, name := range functionNames(t, bin) {
			for i, args := range transferArguments() {
				if (i+k)%stride != 0 {
					continue
				}
				if err := f.compare(name, args); err != nil {
					t.Errorf("%s: %v", engine, err)
					break
				}
			}
		}
		calls, bytes := f.moves()
		t.Logf("%s: %d loops, %d bytes in %d moves", engine, moved, bytes, calls)
		if moved < 70 || calls < 300 {
			t.Error("too little was moved")
		}
	}
}

// functionNames are the exported functions of a module.
func functionNames(t *testing.T, bin []byte) (out []string) {
	t.Helper()
	info, err := Inspect(bin)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range info.Exports {
		if e.Kind == KindFunc {
			out = append(out, e.Name)
		}
	}
	return out
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
	for _, name := range functionNames(t, bin) {
		want := 1
		switch {
		case slices.Contains(notUnderstood, name):
			want = 0
		case name == "two_loops":
			want = 2
		}
		if found[name] != want {
			t.Errorf("%s: %d loops are understood, want %d", name, found[name], want)
		}
	}
}

// understoodIn counts the loops of each function that are understood.
func understoodIn(t *testing.T, bin []byte) map[string]int {
	t.Helper()
	m, err := parse(bin)
	if err != nil {
		t.Fatal(err)
	}
	o := moving().withDefaults()
	m.findLight(&o)
	w := newRewriter(m, o, windowWeight, straightWeight)
	w.findLeaves()
	names := map[uint32]string{}
	for _, e := range m.info.Exports {
		if e.Kind == KindFunc {
			names[e.Index] = e.Name
		}
	}
	found := map[string]int{}
	err = m.bodies(func(b *body) error {
		w.traceSteps = traceSteps
		if n := len(w.findTurns(b, b.r.pos)); n > 0 {
			found[names[b.index]] = n
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
