package callstack

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// lends reports whether stacks are lent on this system.
func lends() bool {
	return runtime.GOOS == "linux" && slices.Contains([]string{"amd64", "arm64"}, runtime.GOARCH)
}

// deepModule instantiates the probe.
func deepModule(t *testing.T) api.Module {
	t.Helper()
	if !lends() {
		t.Skip("stacks are not lent on this system")
	}
	rt := wazero.NewRuntime(t.Context())
	t.Cleanup(func() { _ = rt.Close(t.Context()) })
	mod, err := rt.Instantiate(t.Context(), probe)
	if err != nil {
		t.Fatal(err)
	}
	return mod
}

func TestWorks(t *testing.T) {
	rt := wazero.NewRuntime(t.Context())
	defer rt.Close(t.Context())
	if works := Works(t.Context(), rt); works != lends() {
		t.Errorf("works: %t on %s/%s", works, runtime.GOOS, runtime.GOARCH)
	}
	slow := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer slow.Close(t.Context())
	if Works(t.Context(), slow) {
		t.Error("works with the interpreter, whose stacks are others")
	}
}

// However deep a call went before, all handles on a stack reach the same depth, and the
// stack stays where it is.
func TestDepth(t *testing.T) {
	mod := deepModule(t)
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Free()
	depth := 0
	for range 3 {
		f := mod.ExportedFunction("f")
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
	if frame := Size / depth; frame < 16 || frame > 300 {
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
		case err != nil && strings.Contains(err.Error(), "stack overflow"):
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
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Free()
	f := mod.ExportedFunction("f")
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
	if held := s.Held(); held < Kept || held > small {
		t.Errorf("after 20,000 calls the stack holds %d bytes", held)
	}
	for range 2 {
		if _, err := f.Call(t.Context(), 1<<20); err == nil {
			t.Fatal("a million calls fit onto the stack")
		}
		if held := s.Held(); held < Size || held > small+huge {
			t.Errorf("when it is full the stack holds %d bytes", held)
		}
		if !used(Size, Size-Kept) {
			t.Error("the stack was not used to its end")
		}
		s.Shed()
		if s.Held() != 0 || used(Size, Kept) || !used(Kept, 0) {
			t.Error("the stack was not shed as far as it should be")
		}
	}
}

// Only what looks as expected is touched.
func TestLendRefuses(t *testing.T) {
	mod := deepModule(t)
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Free()
	grown := mod.ExportedFunction("f")
	if _, err := grown.Call(t.Context(), 10_000); err != nil {
		t.Fatal(err)
	}
	h, _ := placeOf(grown)
	*h.bottom = &(*h.stack)[1] // as of no handle that this package knows
	lent := mod.ExportedFunction("f")
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
