package wasmbin

import (
	"strings"
	"testing"
	"time"
)

// transferBombs are modules that give the search for loops as much to do as their size
// allows.
func transferBombs() map[string][]byte {
	// Of the type of the fixture's functions: (at i32, off i64, n i64) -> ().
	const (
		turn = "\x20\x00\x20\x01\x10\x01\x37\x00\x00" // moves 8 bytes
		step = "\x20\x00\x41\x08\x6a\x21\x00\x20\x01\x42\x08\x7c\x21\x01"
		loop = "\x02\x40\x03\x40\x20\x01\x20\x02\x5a\x0d\x01" + turn + step + "\x0c\x00\x0b\x0b"
		fork = "\x20\x01\x50\x04\x40\x01\x0b" // if off is 0
	)
	many := func(n int, body string) []byte { return transferModule(n, "\x00"+body+"\x0b") }
	looped := func(body string) string { return "\x03\x40" + turn + step + body + "\x0c\x00\x0b" }
	wide := func(n int, body string) []byte { return transferModule(n, "\x01\x3d\x7e"+body+"\x0b") }
	var symbols, globals strings.Builder
	for i := range 1500 {
		symbols.WriteString(texts("\x20\x00\x41", string(appendS32(nil, int32(i))), "\x6a\xad\x1a"))
		globals.WriteString(texts("\x23", i%1000, "\x1a"))
	}
	deep := strings.Repeat("\x02\x40", 2000) + strings.Repeat(turn, 1200) + strings.Repeat("\x0b", 2000)
	leads := strings.Repeat("\x02\x40", 2000) + strings.Repeat("\x41\x01\x21\x00\x0c\x8f\x0f", 900) + strings.Repeat("\x0b", 2000)
	return map[string][]byte{
		"loops":          many(100_000, loop),
		"other loops":    many(100_000, strings.Replace(loop, "\x42\x08", "\x42\x09", 1)),
		"loops in one":   many(40, strings.Repeat(loop, 150)),
		"branches":       wide(150, looped(strings.Repeat(fork, 500))),
		"branches first": wide(150, "\x03\x40"+strings.Repeat(fork, 500)+turn+step+"\x0c\x00\x0b"),
		"exits":          wide(150, "\x02\x40\x03\x40"+strings.Repeat("\x20\x01\x50\x0d\x01", 8)+turn+step+strings.Repeat(turn, 100)+"\x0c\x00\x0b\x0b"),
		"stack":          many(60, looped(strings.Repeat("\x20\x01", 3000)+strings.Repeat(fork, 100)+strings.Repeat("\x1a", 3000))),
		"symbols":        many(300, looped(symbols.String())),
		"globals":        many(300, looped(globals.String())),
		"deep":           many(300, "\x03\x40"+deep+"\x0b"),
		"deep branches":  many(300, "\x03\x40"+turn+leads+"\x0b"),
		"tables":         many(100, "\x03\x40"+turn+strings.Repeat(texts("\x41\x00\x0e", 200, strings.Repeat("\x00", 201)), 100)+"\x0b"),
		"states":         many(300, "\x03\x40"+strings.Repeat("\x02\x40\x20\x01\x50\x0d\x00\x41\x07\x21\x00\x0c\x01\x0b", 200)+turn+step+"\x0c\x00\x0b"),
	}
}

// transferModule is a module of so many functions with that body.
func transferModule(n int, body string) []byte {
	functions, code := texts(n, strings.Repeat("\x04", n)), texts(n)+strings.Repeat(sized(body), n)
	globals := texts(1000, strings.Repeat("\x7e\x01\x42\x00\x0b", 1000))
	return moduleOf(secType, "\x05\x60\x01\x7e\x01\x7f\x60\x01\x7e\x01\x7e\x60\x02\x7e\x7f\x00\x60\x02\x7e\x7e\x00\x60\x03\x7f\x7e\x7e\x00",
		secImport, "\x02\x01k\x07load_u8\x00\x00\x01k\x08load_u64\x00\x01", secFunction, functions, secMemory, "\x01\x01\x01\x01",
		secGlobal, globals, secCode, code)
}

// TestTransferBombs: the search takes little of the time of a rewrite, and no more than
// a bound that does not depend on the module.
func TestTransferBombs(t *testing.T) {
	took := func(bin []byte, o MeterOptions) time.Duration {
		begin := time.Now()
		if _, err := Meter(bin, o); err != nil {
			t.Fatal(err)
		}
		return time.Since(begin)
	}
	for name, bin := range transferBombs() {
		o := moving()
		with, without := time.Hour, time.Hour
		for round := 0; round < 2 || round < 8 && with > 2*without+time.Second/2; round++ { // more on a busy machine
			o.Transfers = nil
			without = min(without, took(bin, o))
			o.Transfers = moving().Transfers
			with = min(with, took(bin, o))
		}
		if with > 2*without+time.Second/2 {
			t.Errorf("%s, %d bytes: %v, without the search %v", name, len(bin), with, without)
		}
		t.Logf("%-14s %8d bytes: %6.1f ms, without %6.1f: %.2f", name, len(bin), with.Seconds()*1e3, without.Seconds()*1e3, with.Seconds()/without.Seconds())
	}
}
