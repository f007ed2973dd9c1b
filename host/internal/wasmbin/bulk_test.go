package wasmbin

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// bulkModule fills, copies and adds up the bytes of a memory of 32 pages that may grow to 64.
func bulkModule() []byte {
	bulk := func(op string) string { return sized("\x00\x20\x00\x20\x01\x20\x02\xfc" + op + "\x0b") }
	return moduleOf(secType, "\x01\x60\x03\x7f\x7f\x7f\x00", secFunction, "\x02\x00\x00", secMemory, "\x01\x01\x20\x40",
		secExport, "\x03\x04fill\x00\x00\x04copy\x00\x01\x06memory\x02\x00", secCode, "\x02"+bulk("\x0b\x00")+bulk("\x0a\x00\x00"))
}

// Filling and copying in pieces has the same effect and the same charge as at once.
func TestBulkInPieces(t *testing.T) {
	const size = 32 * PageSize
	bin := bulkModule()
	for engine := range engines {
		plain := mustStart(t, engine, bin, &tank{})
		k := &tank{slice: DefaultSlice}
		metered := mustStart(t, engine, mustMeter(t, bin, MeterOptions{}), k)
		owed := int64(0)
		k.onTick = func() { owed = max(owed, -int64(metered.fuel.Get())) }
		r := rand.New(rand.NewPCG(1, 2))
		start := make([]byte, size)
		for i := range start {
			start[i] = byte(r.Uint32())
		}
		plain.mod.Memory().Write(0, start)
		metered.mod.Memory().Write(0, start)
		near := []uint64{0, 1, bulkPiece - 1, bulkPiece, bulkPiece + 1, 2 * bulkPiece, 2*bulkPiece + 7, size / 2, size - 1, size, size + 1, 1<<32 - 1}
		pick := func() uint64 {
			if r.IntN(3) == 0 {
				return r.Uint64N(size)
			}
			return near[r.IntN(len(near))]
		}
		base := int64(-1)
		for range 400 {
			name := []string{"fill", "copy"}[r.IntN(2)]
			to, from, n := pick(), pick(), pick()
			_, err := plain.call(name, to, from, n)
			before := metered.used()
			_, merr := metered.call(name, to, from, n)
			used := metered.used() - before
			if firstLine(err) != firstLine(merr) {
				t.Fatalf("%s %s(%d, %d, %d): error %v, metered %v", engine, name, to, from, n, err, merr)
			}
			if n > 64*PageSize {
				n = 0 // more than the memory can have: it traps and is not charged
			}
			if base < 0 {
				base = used - int64(n)
			}
			if used != base+int64(n) {
				t.Fatalf("%s %s(%d, %d, %d): fuel %d (want %d)", engine, name, to, from, n, used, base+int64(n))
			}
			a, _ := plain.mod.Memory().Read(0, size)
			b, _ := metered.mod.Memory().Read(0, size)
			if !bytes.Equal(a, b) {
				t.Fatalf("%s %s(%d, %d, %d): the memories differ", engine, name, to, from, n)
			}
		}
		if owed > 64*PageSize || owed < bulkPiece {
			t.Errorf("%s: the guest owed %d at most", engine, owed)
		}
	}
}

// The guest calls the host for every piece of a large range.
func TestBulkAsksTheHost(t *testing.T) {
	for engine := range engines {
		k := &tank{slice: DefaultSlice}
		g := mustStart(t, engine, mustMeter(t, bulkModule(), MeterOptions{}), k)
		owed := int64(0)
		k.onTick = func() { owed = max(owed, -int64(g.fuel.Get())) }
		for _, c := range []struct {
			name         string
			to, from, by uint64
		}{
			{"fill", 0, 7, 32 * PageSize}, {"copy", 0, 1, 31 * PageSize}, {"copy", 1, 0, 31 * PageSize},
		} {
			owed, k.ticks = 0, 0
			if _, err := g.call(c.name, c.to, c.from, c.by); err != nil {
				t.Fatal(err)
			}
			if owed > bulkPiece+100 || k.ticks < int(c.by/bulkPiece) {
				t.Errorf("%s: %s of %d bytes: asked %d times, and owed %d at most", engine, c.name, c.by, k.ticks, owed)
			}
		}
	}
}
