package wazerox

import (
	"slices"
	"testing"

	"github.com/tetratelabs/wazero/api"
)

// deepModule instantiates the probe.
func deepModule(t *testing.T) api.Module { return moduleOf(t, false) }

func moduleOf(t *testing.T, interpreted bool) api.Module {
	t.Helper()
	if why := noStacks(interpreted); why != "" {
		t.Skip(why)
	}
	l, err := newLab(t.Context(), interpreted)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	mod, err := l.guest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return mod
}

// However deep a call went before, all handles on a stack reach the same depth, and the
// stack stays where it is.
func TestDepth(t *testing.T) {
	mod := deepModule(t)
	s, err := NewStack()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Free()
	depth := 0
	for range 3 {
		f := mod.ExportedFunction("deep")
		if !s.Lend(f) {
			t.Fatal("not lent")
		}
		reached := deepest(t, f)
		h, _ := placeOf(f)
		if depth != 0 && reached != depth || &(*h.stack)[0] != &s.mem[0] {
			t.Errorf("a handle reaches %d calls, another %d", reached, depth)
		}
		depth = reached
		s.Shed()
	}
	if frame := usable / depth; frame < 16 || frame > 300 {
		t.Errorf("%d calls, %d bytes each", depth, frame)
	}
}

// deepest finds how often a function can call itself.
func deepest(t *testing.T, f api.Function) int {
	t.Helper()
	low, high := 0, 2<<20
	for low < high-1 {
		n := (low + high) / 2
		switch r, err := f.Call(t.Context(), uint64(n)); {
		case err == nil && r[0] == uint64(n):
			low = n
		case Overflowed(err):
			high = n
		default:
			t.Fatalf("%d calls deep: %v, error %v", n, r, err)
		}
	}
	return low
}

// A stack holds what calls touched, and when it is shed no more than its topmost part.
func TestShed(t *testing.T) {
	mod := deepModule(t)
	s, err := NewStack()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Free()
	f := mod.ExportedFunction("deep")
	if !s.Lend(f) {
		t.Fatal("not lent")
	}
	used := func(from, to int) bool {
		return slices.ContainsFunc(s.mem[len(s.mem)-from:len(s.mem)-to], func(b byte) bool { return b != 0 })
	}
	if s.Held() != 0 {
		t.Errorf("a new stack holds %d bytes", s.Held())
	}
	if _, err := f.Call(t.Context(), 20_000); err != nil {
		t.Fatal(err)
	}
	if held := s.Held(); held < StackKept || held > small {
		t.Errorf("after 20,000 calls the stack holds %d bytes", held)
	}
	for range 2 {
		if _, err := f.Call(t.Context(), 1<<20); err == nil {
			t.Fatal("a million calls fit onto the stack")
		}
		if held := s.Held(); held < usable || held > small+huge {
			t.Errorf("when it is full the stack holds %d bytes", held)
		}
		if !used(usable, usable-StackKept) {
			t.Error("the stack was not used to its end")
		}
		s.Shed()
		if s.Held() != 0 || used(usable, StackKept) || !used(StackKept, 0) {
			t.Error("the stack was not shed as far as it should be")
		}
	}
}

// The stack of the interpreter is lent to all handles of a guest, which use it in turn and leave it
// where it is, also where it is too small. Only what looks as expected is touched.
func TestInterpreterStack(t *testing.T) {
	mod := moduleOf(t, true)
	s, err := NewInterpreterStack(triedValues)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Free()
	for _, name := range []string{"deep", "calls", "deep"} {
		f := mod.ExportedFunction(name)
		if !s.Lend(f) {
			t.Fatal("not lent")
		}
		if s.Lend(f) {
			t.Error("lent twice")
		}
		if n, err := f.Call(t.Context(), 1500); err != nil || n[0] < 1500 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		if values, _ := valuesOf(f); cap(*values) != triedValues/8 || &(*values)[:1][0] != &s.values[0] {
			t.Errorf("%s moved its stack", name)
		}
		if s.Shed(); s.Held() != 0 || s.values[0] != 0 {
			t.Error("the stack was not shed")
		}
	}
	little, err := NewInterpreterStack(64)
	if err != nil {
		t.Fatal(err)
	}
	defer little.Free()
	f := mod.ExportedFunction("deep")
	if !little.Lend(f) {
		t.Fatal("not lent")
	}
	if n, err := f.Call(t.Context(), 1500); err != nil || n[0] != 1500 {
		t.Errorf("with a stack that is too small: %d, %v", n, err)
	}
	if s.Lend(f) || s.Lend(nil) {
		t.Error("lent to a handle that has a stack, or to none")
	}
	if compiled := deepModule(t).ExportedFunction("deep"); s.Lend(compiled) {
		t.Error("a compiled function has the stack of the interpreter")
	}
}

// Only what looks as expected is touched.
func TestLendRefuses(t *testing.T) {
	mod := deepModule(t)
	s, err := NewStack()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Free()
	grown := mod.ExportedFunction("deep")
	if _, err := grown.Call(t.Context(), 10_000); err != nil {
		t.Fatal(err)
	}
	h, _ := placeOf(grown)
	*h.bottom = &(*h.stack)[1] // as of no handle that this package knows
	lent := mod.ExportedFunction("deep")
	if !s.Lend(lent) {
		t.Fatal("not lent")
	}
	type other struct{ api.Function }
	type alike struct {
		api.Function
		stack    []byte
		stackTop int
	}
	for name, f := range map[string]api.Function{
		"nil": nil, "another struct": &other{lent}, "other fields": &alike{lent, make([]byte, 16), 0}, "no pointer": other{lent}, "lent before": lent, "moved": grown,
	} {
		if s.Lend(f) {
			t.Errorf("%s: lent", name)
		}
	}
}
