package wasmbin

import (
	"testing"
)

// BenchmarkMeter measures the work of loading a plugin before it is compiled.
func BenchmarkMeter(b *testing.B) {
	for _, c := range []struct {
		name string
		bin  []byte
	}{{"programs", fixture(b, "programs")}, {"stock_go", goGuest(b)}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.bin)))
			b.ReportAllocs()
			for b.Loop() {
				mustMeter(b, c.bin, MeterOptions{})
			}
		})
	}
}

// BenchmarkInspect measures the work of reading a plugin's specification.
func BenchmarkInspect(b *testing.B) {
	bin := goGuest(b)
	b.SetBytes(int64(len(bin)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Inspect(bin); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRun measures how much slower a metered guest is.
func BenchmarkRun(b *testing.B) {
	for _, guest := range []struct {
		name  string
		bin   []byte
		calls []workload
	}{
		{"wat", fixture(b, "programs"), []workload{{"fib", 24}, {"loop", 500_000}, {"fnv", 500_000}, {"sieve", 60_000}}},
		{"go", goGuest(b), []workload{{"fnv_sum", 1 << 18}, {"sha_sum", 1 << 18}, {"sort_floats", 5000}, {"json_trip", 200},
			{"count_words", 1 << 18}, {"fib", 20}}},
	} {
		plain := mustStart(b, "compiler", guest.bin, &tank{})
		metered := mustStart(b, "compiler", mustMeter(b, guest.bin, MeterOptions{}), &tank{slice: DefaultSlice})
		for _, c := range guest.calls {
			b.Run(guest.name+"/"+c.name+"/plain", func(b *testing.B) { c.run(b, plain) })
			b.Run(guest.name+"/"+c.name+"/metered", func(b *testing.B) { c.run(b, metered) })
		}
	}
}

type workload struct {
	name string
	arg  uint64
}

func (w workload) run(b *testing.B, g *guest) {
	for b.Loop() {
		if _, err := g.call(w.name, w.arg); err != nil {
			b.Fatal(err)
		}
	}
}
