package kernel

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// guest is a kernel as guests see it.
type guest interface {
	Kernel
	do(name string, args ...uint64) uint64
}

type localGuest struct{ *Local }

func (g localGuest) do(name string, args ...uint64) uint64 {
	var s [2]uint64
	copy(s[:], args)
	LocalFunctions[name](g.Local, s[:])
	return s[0]
}

type linkedGuest struct {
	*Linked
	t     testing.TB
	funcs map[string]api.Function
}

func (g linkedGuest) do(name string, args ...uint64) uint64 {
	fn := g.funcs[name]
	if fn == nil {
		fn = g.mod.ExportedFunction(name)
		g.funcs[name] = fn
	}
	r, err := fn.Call(context.Background(), args...)
	if err != nil {
		g.t.Fatalf("%s%v: %v", name, args, err)
	}
	if name == "load_u8" || name == "input_load_u8" {
		return r[0] & math.MaxUint32 // an i32: the upper half is not defined
	}
	return append(r, 0)[0]
}

// room is a limit on sizes.
type room struct{ limit, used int64 }

func (r *room) resize(delta int64) bool {
	if delta > r.limit-r.used {
		return false
	}
	r.used += delta
	return true
}

// ownImports are the functions of the kernel itself.
func ownImports() []abi.Signature {
	var out []abi.Signature
	for _, name := range Functions {
		s, _ := abi.LookupImport(abi.EnvModule, name)
		out = append(out, s)
	}
	return out
}

// settling is called when a debt was settled.
var settling = func() {}

// linked makes a kernel as a module. It adds the debt that it settles to settled.
func linked(t testing.TB, limit int64, settled *int64) linkedGuest {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	t.Cleanup(func() { rt.Close(ctx) })
	var k *Linked
	_, err := rt.NewHostModuleBuilder(HostModule).NewFunctionBuilder().WithGoFunction(api.GoFunc(
		func(context.Context, []uint64) { *settled += k.Debt(); k.Settle(); settling() }), nil, nil).Export(SettleName).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r := &room{limit: limit}
	lin := linear.New(uint64(limit), r.resize)
	ctx = wazerox.WithMemory(ctx, lin)
	mod, err := rt.InstantiateWithConfig(ctx, Module(ownImports(), "extism_"), wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	if k, err = Open(mod, wazerox.Shrink); err != nil {
		t.Fatal(err)
	}
	return linkedGuest{k, t, map[string]api.Function{}}
}

// both runs a test on both implementations with room for limit bytes.
func both(t *testing.T, limit int64, f func(*testing.T, guest)) {
	t.Run("local", func(t *testing.T) {
		r := &room{limit: limit}
		k := NewLocal(r.resize)
		f(t, localGuest{k})
		if k.Close(); r.used != 0 {
			t.Errorf("closed with %d bytes", r.used)
		}
	})
	t.Run("linked", func(t *testing.T) {
		var settled int64
		f(t, linked(t, limit, &settled))
	})
}

// put makes a block of b the way a guest does.
func put(g guest, b []byte) uint64 {
	off := g.do("alloc", uint64(len(b)))
	for i, c := range b {
		g.do("store_u8", off+uint64(i), uint64(c))
	}
	return off
}

func TestBlocks(t *testing.T) {
	both(t, 1<<20, func(t *testing.T, g guest) {
		if g.do("length", 544) != 0 || g.do("load_u64", 544) != 0 {
			t.Error("a block before the first")
		}
		a, b := put(g, []byte("hello")), put(g, []byte("world"))
		if a == 0 || b == 0 || a == b {
			t.Fatal(a, b)
		}
		if got, _ := g.Bytes(a); string(got) != "hello" {
			t.Errorf("block %q", got)
		}
		if g.do("length", a) != 5 || g.do("length_unsafe", a) != 5 || g.Length(a) != 5 || g.do("length", a+1) != 0 || g.do("length", 0) != 0 {
			t.Error("length of a block, inside one, or of none is wrong")
		}
		g.do("free", a)
		g.do("free", a)
		g.do("free", 12345)
		if g.do("length", a) != 0 || g.Length(a) != 0 {
			t.Error("a freed block has a length")
		}
		if got, _ := g.Bytes(b); string(got) != "world" {
			t.Errorf("the other block reads %q after a double free", got)
		}
		if off, err := g.Alloc(t.Context(), 3); err != nil || g.do("length", off) != 3 {
			t.Errorf("a block of the host: %d, error %v", off, err)
		}
	})
}

// A freed block is not used again at once, because some kits free it twice or read it
// afterwards.
func TestQuarantine(t *testing.T) {
	both(t, 1<<20, func(t *testing.T, g guest) {
		first := g.do("alloc", 64)
		g.do("store_u64", first, math.MaxUint64)
		g.do("free", first)
		for i := range Quarantine {
			off := g.do("alloc", 64)
			if off == first {
				t.Fatalf("reused after %d others", i)
			}
			g.do("free", off)
		}
		if off := g.do("alloc", 60); off != first || g.do("load_u64", off) != 0 || g.do("length", off) != 60 {
			t.Errorf("block %d with %x (want %d again, zeroed)", off, g.do("load_u64", off), first)
		}
		for range 20_000 {
			g.do("free", g.do("alloc", 64))
		}
		if g.Size() > PageSize {
			t.Errorf("memory of %d bytes for blocks that are freed", g.Size())
		}
	})
}

func TestLimit(t *testing.T) {
	both(t, 4*PageSize, func(t *testing.T, g guest) {
		for _, n := range []uint64{1 << 19, 1 << 32, math.MaxUint64, 1 << 63, 0xffff0000, 0xffff0001} {
			if g.Reset(); g.do("alloc", n) != 0 || !g.Refused() {
				t.Errorf("alloc(%d) was not refused", n)
			}
		}
		if g.Reset(); g.do("alloc", 0) != 0 || g.Refused() {
			t.Error("alloc(0) gave a block, or is noted as refused")
		}
		if g.do("alloc", 4*PageSize-first-header) == 0 {
			t.Error("a block as large as the room was refused")
		}
		if g.do("alloc", 1) != 0 || !g.Refused() || g.Size() > 4*PageSize {
			t.Errorf("memory of %d bytes", g.Size())
		}
	})
}

func TestWildAccess(t *testing.T) {
	both(t, 1<<16, func(t *testing.T, g guest) {
		off := put(g, []byte("1234567812345678"))
		end := off + 16
		for _, wild := range []uint64{end, end - 7, 0, 8, blocks - 1, 1 << 16, 1<<32 + off, math.MaxUint64, math.MaxUint64 - 6, 1 << 40} {
			if g.do("load_u64", wild) != 0 {
				t.Errorf("load_u64(%d) read something", wild)
			}
			g.do("store_u64", wild, math.MaxUint64)
			g.do("free", wild)
			g.do("error_set", wild)
			if g.do("length", wild) != 0 {
				t.Errorf("length(%d) is not 0", wild)
			}
			if b, ok := g.Bytes(wild); ok {
				t.Errorf("bytes(%d) = %q", wild, b)
			}
		}
		for _, wild := range []uint64{end, 0, blocks - 1, math.MaxUint64} {
			g.do("store_u8", wild, 1)
			if g.do("load_u8", wild) != 0 {
				t.Errorf("load_u8(%d) read something", wild)
			}
		}
		if got := g.do("load_u64", off); got != 0x3837363534333231 || g.do("load_u64", end-8) != got {
			t.Errorf("load_u64 = %x", got)
		}
		if g.Failure() != nil {
			t.Errorf("failure %q", g.Failure())
		}
	})
}

func TestInputAndOutput(t *testing.T) {
	both(t, 1<<17, func(t *testing.T, g guest) {
		if !g.SetInput([]byte("abcdefghij")) || g.do("input_length") != 10 {
			t.Fatal("input does not fit")
		}
		in := g.do("input_offset")
		if g.do("length", in) != 10 || g.do("load_u8", in+9) != 'j' {
			t.Error("the input is not a block")
		}
		for off, want := range map[uint64]uint64{0: 'a', 9: 'j', 10: 0, math.MaxUint64: 0} {
			if got := g.do("input_load_u8", off); got != want {
				t.Errorf("input_load_u8(%d) = %d", off, got)
			}
		}
		for off, want := range map[uint64]uint64{2: 0x6a69686766656463, 3: 0, math.MaxUint64: 0, math.MaxUint64 - 3: 0} {
			if got := g.do("input_load_u64", off); got != want {
				t.Errorf("input_load_u64(%d) = %x", off, got)
			}
		}
		for _, bad := range [][2]uint64{{math.MaxUint64, 2}, {in, math.MaxUint64}, {0, 1}, {in, 1 << 20}} {
			g.do("output_set", bad[0], bad[1])
			if off, n, view := g.Output(); view != nil || off != bad[0] || n != bad[1] {
				t.Errorf("output %v reads %d bytes", bad, len(view))
			}
		}
		g.do("output_set", in, 3)
		if _, _, view := g.Output(); string(view) != "abc" {
			t.Errorf("output %q", view)
		}
		g.do("free", in)
		if g.do("input_length") != 0 || g.do("input_load_u64", 0) != 0 {
			t.Error("a freed input has a length")
		}
		if g.SetInput(make([]byte, 1<<17)) {
			t.Error("an input larger than the limit fits")
		}
	})
}

// Output and error can be read when the call ends, even though kits free their blocks at once.
func TestOutputAndErrorOutliveTheirBlocks(t *testing.T) {
	both(t, 1<<20, func(t *testing.T, g guest) {
		out, failure := put(g, []byte("the output")), put(g, []byte("the error!"))
		g.do("output_set", out, 10)
		g.do("error_set", failure)
		g.do("free", out)
		g.do("free", failure)
		for range 100 {
			g.do("free", put(g, []byte("something.")))
		}
		if _, _, view := g.Output(); string(view) != "the output" {
			t.Errorf("output %q", view)
		}
		if got := g.Failure(); string(got) != "the error!" {
			t.Errorf("failure %q", got)
		}
		g.do("error_set", failure) // freed: no block
		if got := g.Failure(); string(got) != "the error!" {
			t.Errorf("failure %q after one of a freed block", got)
		}
		if g.do("error_set", 0); g.Failure() != nil {
			t.Error("0 does not clear the error")
		}
	})
}

func TestForgetsBetweenCalls(t *testing.T) {
	both(t, 16<<20, func(t *testing.T, g guest) {
		for _, size := range []uint64{4 << 10, 8 << 20} {
			off := put(g, bytes.Repeat([]byte("secret"), 100))
			g.do("error_set", off)
			g.do("output_set", off, 600)
			if g.do("alloc", size) == 0 {
				t.Fatalf("%d bytes do not fit", size)
			}
			g.Reset()
			if _, n, _ := g.Output(); n != 0 || g.do("length", off) != 0 || g.Failure() != nil || g.Debt() != 0 {
				t.Error("state of the last call is left")
			}
			off = g.do("alloc", 1<<20)
			for i := range uint64(4 << 10) {
				if g.do("load_u8", off+i) != 0 {
					t.Fatalf("byte %d of the last call is left", i)
				}
			}
			if g.Reset(); g.Size() > Keep {
				t.Errorf("kept %d bytes between calls", g.Size())
			}
		}
	})
}

// A guest that forges headers and queues harms only its own blocks.
func TestForgedHeaders(t *testing.T) {
	both(t, 1<<20, func(t *testing.T, g guest) {
		off := g.do("alloc", 64)
		fake := off + 32
		g.do("store_u64", fake-16, 0xfffffff0) // a size of nearly 4 GiB
		g.do("store_u64", fake-8, fake^cookie)
		if g.do("length", fake) != 0xfffffff0 {
			t.Fatal("the forgery is not seen, the test is idle")
		}
		if b, ok := g.Bytes(fake); ok {
			t.Errorf("the host reads %d bytes", len(b))
		}
		g.do("error_set", fake)
		if b := g.Failure(); b != nil {
			t.Errorf("a failure of %d bytes", len(b))
		}
		for range 40 {
			g.do("free", fake)
			g.do("store_u64", fake-16, 0xfffffff0)
		}
		g.do("alloc", 0xfffe0000)
		for range 40 { // freed blocks whose successor lies outside
			b := g.do("alloc", 16)
			g.do("free", b)
			g.do("store_u64", b-16, 0xffffffff00000000)
		}
		for range 60 {
			if b := g.do("alloc", 16); b != 0 && g.do("length", b) != 16 {
				t.Fatalf("block %d of %d bytes", b, g.do("length", b))
			}
		}
	})
}

// The debt is the number of bytes of the blocks. The module settles it in slices.
func TestDebt(t *testing.T) {
	var settled int64
	a, b := guest(linked(t, 16<<20, &settled)), guest(localGuest{NewLocal((&room{limit: 16 << 20}).resize)})
	for _, g := range []guest{a, b} {
		for _, n := range []uint64{0, 1, 100, 1 << 17, 3000, 1 << 40} {
			g.do("alloc", n)
		}
	}
	const want = 1 + 100 + 1<<17 + 3000
	if settled != 101+1<<17 || a.Debt()+settled != want || b.Debt() != want {
		t.Errorf("settled %d and %d, local %d (want %d)", settled, a.Debt(), b.Debt(), want)
	}
}

// While a large block is zeroed to be used again, the module calls the host between the
// pieces, and the host may end the call.
func TestLargeBlocksAreZeroedInPieces(t *testing.T) {
	const n = 3<<20 + 5
	both(t, 128<<20, func(t *testing.T, g guest) {
		var blocks []uint64
		for range Quarantine + 1 {
			blocks = append(blocks, g.do("alloc", n))
			g.do("store_u8", blocks[0]+n-1, 7)
		}
		for _, b := range blocks {
			g.do("free", b)
		}
		pieces := 0
		settling = func() { pieces++ }
		defer func() { settling = func() {} }()
		if b := g.do("alloc", n); b != blocks[0] || g.do("load_u8", b+n-1) != 0 || g.do("length", b) != n {
			t.Errorf("block %d (want %d), last byte %d, length %d", b, blocks[0], g.do("load_u8", b+n-1), g.do("length", b))
		}
		if _, ok := g.(linkedGuest); ok && pieces != n/zeroPiece {
			t.Errorf("the host is asked %d times (want %d)", pieces, n/zeroPiece)
		}
	})
}
