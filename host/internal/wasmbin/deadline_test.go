package wasmbin

import (
	"errors"
	"strings"
	"testing"
	"time"
)

var errDeadline = errors.New("deadline")

// TestDeadlineStopsEverything runs guests that would never end. Each must call the host after its
// deadline, whatever it does.
func TestDeadlineStopsEverything(t *testing.T) {
	const (
		deadline = 5 * time.Millisecond
		late     = time.Minute // a guest that is not stopped never ends; how late it may be is for the benchmarks
	)
	guests := map[string][]byte{"go_guest": nil}
	for _, name := range []string{"spin_loop", "spin_recursion", "spin_indirect", "spin_br_table", "spin_start", "spin_fill",
		"spin_small_fills", "spin_grow", "spin_host_call", "spin_tail_call"} {
		guests[name] = fixture(t, name)
	}
	guests["spin_locals"] = manyLocals()
	for engine := range engines {
		for name, bin := range guests {
			if name == "go_guest" {
				if engine == "interpreter" {
					continue // its start alone takes longer than the test allows
				}
				bin = revealedGuest(t)
			}
			t.Run(engine+"/"+name, func(t *testing.T) {
				out := mustMeter(t, bin, MeterOptions{})
				lateness, err := runUntil(t, engine, name, out, deadline)
				if !errors.Is(err, errDeadline) {
					t.Fatalf("got %v", err)
				}
				if lateness > late {
					t.Errorf("stopped %v after the deadline", lateness)
				}
				t.Logf("stopped %v after the deadline", lateness)
			})
		}
	}
}

// manyLocals calls a function of 50,000 locals again and again.
func manyLocals() []byte {
	empty, loop := "\x01\xd0\x86\x03\x7f\x0b", "\x00\x03\x40\x10\x00\x0c\x00\x0b\x0b"
	return moduleOf(secType, "\x01\x60\x00\x00", secFunction, "\x02\x00\x00", secExport, "\x01\x03run\x00\x01",
		secCode, "\x02\x06"+empty+"\x09"+loop)
}

func runUntil(t *testing.T, engine, name string, bin []byte, d time.Duration) (time.Duration, error) {
	t.Helper()
	k := &tank{slice: DefaultSlice}
	var end time.Time
	arm := func() {
		end = time.Now().Add(d)
		k.onTick = func() {
			if time.Now().After(end) {
				panic(errDeadline)
			}
		}
	}
	if name == "spin_start" {
		arm()
		_, err := start(t, engine, bin, k)
		return time.Since(end), err
	}
	g := mustStart(t, engine, bin, k)
	arm()
	export := "run"
	if name == "go_guest" {
		export = "spin"
	}
	_, err := g.call(export)
	return time.Since(end), err
}

// A guest at ordinary work asks for its next slice when it has used up one, and not much later.
// How long that takes is for the benchmarks.
func TestNoLongStretchWithoutAHost(t *testing.T) {
	for _, c := range []struct {
		bin  []byte
		name string
		arg  uint64
	}{
		{fixture(t, "programs"), "loop", 3_000_000}, {fixture(t, "programs"), "fib", 25},
		{revealedGuest(t), "json_trip", 10}, {revealedGuest(t), "sha_sum", 1 << 16},
	} {
		k := &tank{slice: DefaultSlice}
		g := mustStart(t, "compiler", mustMeter(t, c.bin, MeterOptions{}), k)
		ticks, owed := k.ticks, int64(0)
		k.onTick = func() { owed = max(owed, -int64(g.fuel.Get())) }
		before := g.used()
		if _, err := g.call(c.name, c.arg); err != nil {
			t.Fatal(err)
		}
		used := g.used() - before
		if least := used / (2 * DefaultSlice); owed > DefaultSlice || int64(k.ticks-ticks) < least || least == 0 {
			t.Errorf("%s: %d ticks for %d units of fuel, owed %d at most, want %d ticks or more, and to owe %d at most", c.name, k.ticks-ticks, used, owed, max(1, least), DefaultSlice)
		}
	}
}

// Work in proportion to a number in the module is charged and, where it could add up, checked:
// locals, and the values that blocks and calls hand over.
func TestValuesAreCharged(t *testing.T) {
	const n, turns, calls = 1000, 100, 50
	push, count := strings.Repeat("\x42\x01", n), "\x23\x00\x41\x01\x6b\x24\x00\x23\x00" // global 0 less one
	counter := texts("\x01\x7f\x01\x41", "\xe4\x00", "\x0b")                             // of iterations
	chain, types := sized("\x00"+push+"\x0b"), "\x02\x60\x00\x00"+typed(0, n)
	for i := range calls - 1 {
		chain += sized(texts("\x00\x10", i, "\x0b"))
	}
	for name, bin := range map[string][]byte{
		// a loop that shifts its parameters by one
		"loop": moduleOf(secType, "\x02\x60\x00\x00"+typed(n, 0), secFunction, "\x01\x00", secGlobal, counter, secExport, "\x01\x03run\x00\x00",
			secCode, "\x01"+sized("\x00"+push+"\x03\x01\x42\x02"+count+"\x0d\x00\x0f\x0b\x0b")),
		// functions that return what the next one returned
		"results": moduleOf(secType, types, secFunction, texts(calls+1, strings.Repeat("\x01", calls), "\x00"), secGlobal, counter,
			secExport, texts("\x01\x03run\x00", calls), secCode, texts(calls+1, chain)+sized(texts("\x00\x10", calls-1, "\x0f\x0b"))),
	} {
		want := int64(turns * n / valuesPerWeight)
		if name == "results" {
			want = calls * n / valuesPerWeight
		}
		for engine := range engines {
			g := mustStart(t, engine, mustMeter(t, bin, MeterOptions{}), &tank{slice: DefaultSlice})
			if _, err := g.call("run"); err != nil || g.used() < want {
				t.Errorf("%s: %s: fuel %d (want %d or more), error %v", engine, name, g.used(), want, err)
			}
		}
	}
}

// A short function with many locals has a check, because code without loops may call it again
// and again.
func TestManyLocalsAreChecked(t *testing.T) {
	bin := moduleOf(secType, "\x01\x60\x00\x00", secFunction, "\x02\x00\x00", secExport, "\x01\x03run\x00\x01",
		secCode, "\x02"+sized("\x01\xd0\x86\x03\x7f\x0b")+sized("\x00"+strings.Repeat("\x10\x00", 4000)+"\x0b"))
	for engine := range engines {
		k := &tank{slice: DefaultSlice}
		g := mustStart(t, engine, mustMeter(t, bin, MeterOptions{}), k)
		owed := int64(0)
		k.onTick = func() { owed = max(owed, -int64(g.fuel.Get())) }
		if _, err := g.call("run"); err != nil || owed > 10_000 {
			t.Errorf("%s: owed %d at most (want at most 10,000), error %v", engine, owed, err)
		}
	}
}
