package host

import (
	"bytes"
	"math"
	"testing"
)

func testKernel(limit int64) *kernel {
	k := newKernel(limit)
	k.reset()
	return &k
}

func TestKernelBlocks(t *testing.T) {
	k := testKernel(1 << 20)
	a := k.put([]byte("hello"))
	b := k.put([]byte("world"))
	if a == 0 || b == 0 || a == b {
		t.Fatal(a, b)
	}
	if got, _ := k.bytes(a); string(got) != "hello" {
		t.Errorf("block %q", got)
	}
	if k.length(a) != 5 || k.length(a+1) != 0 || k.length(0) != 0 {
		t.Error("length of a block, inside one, or of none is wrong")
	}
	k.release(a)
	k.release(a)
	k.release(12345)
	if k.length(a) != 0 {
		t.Error("a freed block has a length")
	}
	if got, _ := k.bytes(b); string(got) != "world" {
		t.Errorf("the other block reads %q after a double free", got)
	}
}

// A freed block is not handed out at once: some kits free it twice, or read it
// afterwards.
func TestKernelQuarantine(t *testing.T) {
	k := testKernel(1 << 20)
	first := k.alloc(64)
	k.release(first)
	for i := range quarantine {
		off := k.alloc(64)
		if off == first {
			t.Fatalf("reused after %d others", i)
		}
		k.release(off)
	}
	if off := k.alloc(64); off != first {
		t.Errorf("block %d (want %d again)", off, first)
	}
	size := len(k.data)
	for range 1000 {
		k.release(k.alloc(64))
	}
	if len(k.data) > size+quarantine*64 {
		t.Errorf("memory grew from %d to %d for blocks that are freed", size, len(k.data))
	}
}

func TestKernelLimit(t *testing.T) {
	k := testKernel(1 << 16)
	for _, n := range []uint64{1 << 17, math.MaxUint64, 1 << 63} {
		if k.refused = false; k.alloc(n) != 0 || !k.refused {
			t.Errorf("alloc(%d) was not refused", n)
		}
	}
	if k.alloc(0) != 0 {
		t.Error("alloc(0) gave a block")
	}
	if off := k.alloc(1<<16 - kernelBase); off == 0 {
		t.Error("a block as large as the room was refused")
	}
	if k.alloc(1) != 0 || len(k.data) > 1<<16 {
		t.Errorf("memory of %d bytes", len(k.data))
	}
}

func TestKernelWildAccess(t *testing.T) {
	k := testKernel(1 << 16)
	off := k.put([]byte("12345678"))
	before := bytes.Clone(k.data)
	for _, wild := range []uint64{uint64(len(k.data)), uint64(len(k.data)) - 7, math.MaxUint64, math.MaxUint64 - 6, 1 << 40} {
		if k.load64(wild) != 0 {
			t.Errorf("load64(%d) read something", wild)
		}
		k.store64(wild, math.MaxUint64)
	}
	k.store8(math.MaxUint64, 1)
	if k.load8(uint64(len(k.data))) != 0 || !bytes.Equal(before, k.data) {
		t.Error("wild access changed the memory or read outside")
	}
	if got := k.load64(off); got != 0x3837363534333231 {
		t.Errorf("load64 = %x", got)
	}
}

func TestKernelInputAndOutput(t *testing.T) {
	k := testKernel(1 << 16)
	if !k.setInput([]byte("abcdefghij")) || k.input.n != 10 {
		t.Fatal("input does not fit")
	}
	for off, want := range map[uint64]uint64{0: 'a', 9: 'j', 10: 0, math.MaxUint64: 0} {
		if got := k.inputLoad8(off); got != want {
			t.Errorf("inputLoad8(%d) = %d", off, got)
		}
	}
	for off, want := range map[uint64]uint64{2: 0x6a69686766656463, 3: 0, math.MaxUint64: 0, math.MaxUint64 - 3: 0} {
		if got := k.inputLoad64(off); got != want {
			t.Errorf("inputLoad64(%d) = %x", off, got)
		}
	}
	k.setOutput(math.MaxUint64, 2)
	if !k.outputBad {
		t.Error("an output outside the memory is not noted")
	}
	k.setOutput(k.input.off, 3)
	if k.outputBad {
		t.Error("a good output is noted as bad")
	}
	k.release(k.input.off)
	if k.input.n != 0 {
		t.Error("a freed input has a length")
	}
	if k.setInput(make([]byte, 1<<17)) {
		t.Error("an input larger than the limit fits")
	}
}

func TestKernelForgetsBetweenCalls(t *testing.T) {
	k := testKernel(8 << 20)
	off := k.put(bytes.Repeat([]byte("secret"), 100))
	k.setFailure(off)
	k.setOutput(off, 600)
	big := k.alloc(4 << 20)
	if big == 0 {
		t.Fatal("4 MiB do not fit")
	}
	k.reset()
	if k.length(off) != 0 || k.failure != "" || k.output.n != 0 {
		t.Error("state of the last call is left")
	}
	if got := k.alloc(1 << 20); got == 0 || bytes.Contains(k.data, []byte("secret")) {
		t.Error("bytes of the last call are left")
	}
	if cap(k.data) > 4<<20 {
		t.Errorf("kept %d bytes between calls", cap(k.data))
	}
}
