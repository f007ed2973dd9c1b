package wasmbin

import (
	"errors"
	"testing"
	"time"
)

var errDeadline = errors.New("deadline")

// TestDeadlineStopsEverything runs guests that would never end. Each must reach
// the host soon after its deadline, however it spends its time.
func TestDeadlineStopsEverything(t *testing.T) {
	const (
		deadline = 5 * time.Millisecond
		late     = 250 * time.Millisecond // generous: a loaded machine may not run us at all
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
					continue // its start alone takes longer than the test may
				}
				bin = goGuest(t)
			}
			t.Run(engine+"/"+name, func(t *testing.T) {
				out := mustMeter(t, bin, MeterOptions{})
				var err error
				var lateness time.Duration
				for range 5 { // the best of five: we measure the guest, not the scheduler
					if lateness, err = runUntil(t, engine, name, out, deadline); lateness < late {
						break
					}
				}
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

// TestNoLongStretchWithoutAHost measures the longest time between two ticks, for
// the programs and the Go guest at ordinary work.
func TestNoLongStretchWithoutAHost(t *testing.T) {
	for _, c := range []struct {
		bin  []byte
		name string
		arg  uint64
	}{
		{fixture(t, "programs"), "loop", 3_000_000}, {fixture(t, "programs"), "fib", 25},
		{goGuest(t), "json_trip", 50}, {goGuest(t), "sha_sum", 1 << 18},
	} {
		k := &tank{slice: DefaultSlice}
		g := mustStart(t, "compiler", mustMeter(t, c.bin, MeterOptions{}), k)
		var gaps []time.Duration
		last := time.Now()
		k.onTick = func() {
			now := time.Now()
			gaps = append(gaps, now.Sub(last))
			last = now
		}
		if _, err := g.call(c.name, c.arg); err != nil {
			t.Fatal(err)
		}
		over := 0
		for _, gap := range gaps {
			if gap > 5*time.Millisecond {
				over++
			}
		}
		if over > len(gaps)/10+2 {
			t.Errorf("%s: %d of %d stretches took more than 5 ms", c.name, over, len(gaps))
		}
	}
}
