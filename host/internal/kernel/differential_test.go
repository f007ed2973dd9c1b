package kernel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// Every sequence of calls, also of invalid ones, returns the same results and leaves the same
// bytes in both kernels.
func FuzzSameInBoth(f *testing.F) {
	f.Add([]byte("a few operations to start with, of any kind"))
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := make([]byte, 600)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 2000 {
			return
		}
		var settled int64
		module := linked(t, 1<<20, &settled)
		local := localGuest{NewLocal((&room{limit: 1 << 20}).resize)}
		if err := runBoth(program, module, local); err != nil {
			t.Fatal(err)
		}
		if d := module.Debt() + settled; d != local.Debt() {
			t.Errorf("debt %d and %d", d, local.Debt())
		}
	})
}

// runBoth runs a program of 4 bytes per operation, which encode the function, sizes and
// handles.
func runBoth(program []byte, a linkedGuest, b localGuest) error {
	var handles []uint64
	for _, g := range []guest{a, b} { // both have their first page
		g.do("alloc", 1)
	}
	for i := 0; i+4 <= len(program); i += 4 {
		op := program[i : i+4]
		name, args := operation(op, handles)
		if name == "input" {
			input := bytes.Repeat([]byte{op[2]}, int(op[1])*int(op[3]))
			if x, y := a.SetInput(input), b.SetInput(input); x != y {
				return fmt.Errorf("%d: input of %d bytes: %v and %v", i, len(input), x, y)
			}
			continue
		}
		x, y := a.do(name, args...), b.do(name, args...)
		if len(args) == 2 || name == "free" || name == "error_set" {
			x, y = 0, 0 // no result
		}
		if x != y {
			return fmt.Errorf("%d: %s%v = %d and %d", i, name, args, x, y)
		}
		if name == "alloc" && x != 0 {
			handles = append(handles, x)
		}
		if a.Refused() != b.Refused() || a.Size() != b.Size() {
			return fmt.Errorf("%d: %s%v: refused %v, %v, size %d, %d", i, name, args, a.Refused(), b.Refused(), a.Size(), b.Size())
		}
	}
	return sameEnd(a, b)
}

// operation decodes one operation.
func operation(op []byte, handles []uint64) (string, []uint64) {
	names := []string{
		"alloc", "alloc", "alloc", "free", "free", "length", "load_u8", "load_u64", "store_u8", "store_u64",
		"input_length", "input_offset", "input_load_u8", "input_load_u64", "output_set", "error_set", "input",
	}
	name := names[int(op[0])%len(names)]
	handle := uint64(op[1]) << 3
	if len(handles) > 0 && op[3] < 250 {
		handle = handles[int(op[1])%len(handles)]
	}
	near := handle + uint64(int64(int8(op[2]))) // around the block, including its header
	wild := uint64(binary.LittleEndian.Uint16(op[1:])) << (op[3] % 49)
	switch name {
	case "alloc":
		return name, []uint64{wild >> 3 % (1 << 18)}
	case "free", "error_set":
		return name, []uint64{handle}
	case "length", "load_u8", "load_u64", "input_load_u8", "input_load_u64":
		return name, []uint64{near - wild*(uint64(op[3])&1)}
	case "store_u8", "store_u64":
		return name, []uint64{near, wild}
	case "output_set":
		return name, []uint64{handle, uint64(op[2])}
	}
	return name, nil
}

// sameEnd compares what the host reads, and the bytes of the memory.
func sameEnd(a linkedGuest, b localGuest) error {
	_, _, x := a.Output()
	_, _, y := b.Output()
	if !bytes.Equal(x, y) || (x == nil) != (y == nil) {
		return fmt.Errorf("output %q and %q", x, y)
	}
	if x, y := a.Failure(), b.Failure(); !bytes.Equal(x, y) {
		return fmt.Errorf("failure %q and %q", x, y)
	}
	if x, y := a.view(a.globals[gPos].Get()), b.data; !bytes.Equal(x, y) {
		return fmt.Errorf("memories of %d and %d bytes differ", len(x), len(y))
	}
	return nil
}
