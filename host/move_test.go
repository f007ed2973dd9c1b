package host

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// movingModule imports move and has a memory of one page. Its function one calls move
// with its arguments, many as often as its last argument says, without variables.
const movingModule = "\x00asm\x01\x00\x00\x00" +
	"\x01\x0b\x01\x60\x06\x7f\x7e\x7e\x7e\x7e\x7e\x01\x7e" +
	"\x02\x15\x01\x0canchor:meter\x04move\x00\x00" +
	"\x03\x03\x02\x00\x00" +
	"\x05\x03\x01\x00\x01" +
	"\x07\x0e\x02\x03one\x00\x01\x04many\x00\x02" +
	"\x0a\x36\x02" +
	"\x10\x00\x20\x00\x20\x01\x20\x02\x20\x03\x20\x04\x20\x05\x10\x00\x0b" +
	"\x23\x00\x03\x40" + // loop
	"\x20\x00\x20\x01\x20\x02\x20\x03\x42\x00\x42\x00\x10\x00\x21\x04" +
	"\x20\x05\x42\x01\x7d\x22\x05\x42\x00\x52\x0d\x00\x0b" + // while --last != 0
	"\x20\x04\x0b"

// mover is an instance whose guest can call move, with a kernel.
type mover struct {
	tb  testing.TB
	e   *engine
	in  *instance
	fns map[string]api.Function
}

// movers are what the host may run on.
var movers = []struct {
	name, kind string
	portable   bool
}{{"linked", EngineCompiler, false}, {"local", EngineCompiler, true}, {"interpreted", EngineInterpreter, false}}

func newMover(tb testing.TB, kind string, portable bool) *mover {
	tb.Helper()
	e, err := newEngine(context.Background(), &Config{Portable: portable, Logger: slog.New(slog.DiscardHandler)}, kind, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = e.close(context.Background()) })
	m := &mover{tb, e, &instance{}, map[string]api.Function{}}
	m.in.state.inst, m.in.state.Context = m.in, context.Background()
	m.in.local = kernel.NewLocal(func(int64) bool { return true })
	m.in.kernel = m.in.local
	if e.findKernel(context.Background()); e.linked != nil {
		lin := linear.New(1<<20, func(int64) bool { return true })
		if m.in.kernelModule, m.in.kernel, err = e.linked.open(wazerox.WithMemory(&m.in.state, lin)); err != nil {
			tb.Fatal(err)
		}
	} else if kind == EngineCompiler && !portable {
		tb.Skip("this system links no kernels")
	}
	tb.Cleanup(m.in.kernel.Close)
	m.in.mod, m.in.mem = m.open()
	return m
}

// open makes a module that can call move.
func (m *mover) open() (api.Module, api.Memory) {
	m.tb.Helper()
	mod, err := m.e.rt.InstantiateWithConfig(&m.in.state, []byte(movingModule), wazero.NewModuleConfig().WithName(""))
	if err != nil {
		m.tb.Fatal(err)
	}
	return mod, mod.Memory()
}

// move calls move from a module.
func (m *mover) move(mod api.Module, kind uint32, at, off, n, low, high uint64) uint64 {
	m.tb.Helper()
	s := []uint64{uint64(kind), at, off, n, low, high}
	if err := mod.ExportedFunction("one").CallWithStack(&m.in.state, s); err != nil {
		m.tb.Fatal(kind, at, off, n, low, high, err)
	}
	return s[0]
}

// guestBytes and kernelBytes are the memories.
func (m *mover) guestBytes() []byte {
	b, _ := m.in.mem.Read(0, m.in.mem.Size())
	return b
}

func kernelBytes(k kernel.Kernel) []byte { return k.Window(firstByte, math.MaxUint64) }

// What is in a kernel that is filled: the first byte that guests reach, the input,
// a block and its end.
const (
	firstByte = 528
	inputAt   = firstByte + 32
	inputSize = 100
	blockAt   = inputAt + 112 + 16
	blockEnd  = blockAt + 64
)

// fillKernel makes the input and a block, without zeros.
func fillKernel(tb testing.TB, k kernel.Kernel) {
	k.Reset()
	fits := k.SetInput(bytes.Repeat([]byte("input"), inputSize/5))
	if off, err := k.Alloc(context.Background(), 64); !fits || off != blockAt || err != nil {
		tb.Fatal(fits, off, err)
	}
	block, _ := k.Bytes(blockAt)
	copy(block, strings.Repeat("the block at the end of all... ", 3))
}

// function is that of the kernel in Go which a kind stands for.
func function(kind wasmbin.Transfer) func(k *kernel.Local, s ...uint64) uint64 {
	for name, t := range transfers {
		if t == kind {
			return func(k *kernel.Local, s ...uint64) uint64 {
				kernel.LocalFunctions[name](k, s)
				return s[0]
			}
		}
	}
	return nil
}

// reaches reports whether one call of a kind at off does anything.
func reaches(k *kernel.Local, kind wasmbin.Transfer, off uint64) bool {
	if kind.Input() {
		return function(kind)(k, off) != 0 // the input is without zeros
	}
	load, store := function(wasmbin.LoadU8), function(wasmbin.StoreU8)
	if kind.Width() == 8 {
		load, store = function(wasmbin.LoadU64), function(wasmbin.StoreU64)
	}
	old := load(k, off)
	store(k, off, old^1)
	defer store(k, off, old)
	return load(k, off) == old^1
}

// iterate does what iterations of a loop do that together move n bytes.
func iterate(k *kernel.Local, guest []byte, kind wasmbin.Transfer, at, off, n uint64) {
	f, w := function(kind), kind.Width()
	for i := uint64(0); i < n; i += w {
		bytes := guest[at+i : at+i+w]
		v := uint64(0)
		for j := range w {
			v |= uint64(bytes[j]) << (8 * j)
		}
		if kind.Store() {
			f(k, off+i, v)
			continue
		}
		v = f(k, off+i)
		for j := range w {
			bytes[j] = byte(v >> (8 * j))
		}
	}
}

// touches reports whether n bytes at at and [low, high) have one in common.
func touches(at, n, low, high uint64) bool {
	end, carry := bits.Add64(at, n, 0)
	return n > 0 && max(at, low) < high && low < high && (carry > 0 || max(at, low) < end)
}

// Arguments of move at and around what bounds the memories: addresses of the guest,
// offsets of the input and of the kernel's memory, sizes.
var (
	hostileAddresses    = []uint64{0, 1000, wasmPage - 100, wasmPage - 7, wasmPage, 1<<32 + 8, math.MaxUint64 - 7}
	hostileInputOffsets = []uint64{0, 3, inputSize - 8, inputSize - 7, inputSize, 1 << 32, 1<<32 + 8, math.MaxUint64 - 7, math.MaxUint64 - inputSize}
	hostileOffsets      = []uint64{
		0, firstByte - 1, firstByte, inputAt, blockAt + 3, blockEnd - 8, blockEnd - 7, blockEnd - 1, blockEnd,
		wasmPage, 1<<32 + blockAt, math.MaxUint64 - 7, math.MaxUint64,
	}
	hostileSizes = []uint64{0, 7, 9, 200, 1 << 32, 1<<32 + 8, math.MaxUint64}
)

// hostileMovements calls f for all of these together, with variables on either side of
// what is moved, in it and everywhere.
func hostileMovements(kind wasmbin.Transfer, f func(movement)) {
	offsets := hostileOffsets
	if kind.Input() {
		offsets = hostileInputOffsets
	}
	for _, at := range hostileAddresses {
		for _, off := range offsets {
			for _, n := range hostileSizes {
				for _, v := range [][2]uint64{
					{0, 0}, {at - 8, at}, {at - 8, at + 1}, {at + 9, at}, {at + 8, at + 9}, {at + n, at + n + 8}, {0, math.MaxUint64},
				} {
					f(movement{kind, at, off, n, v[0], v[1]})
				}
			}
		}
	}
}

// Whatever its arguments are, move does what so many iterations of the loop do, and
// as many as are of use.
func TestMoveIsIterations(t *testing.T) {
	for _, on := range movers {
		t.Run(on.name, func(t *testing.T) {
			m := newMover(t, on.kind, on.portable)
			before := bytes.Repeat([]byte("the memory of the guest "), wasmPage/24+1)[:wasmPage]
			twin := kernel.NewLocal(func(int64) bool { return true })
			for kind := wasmbin.LoadU8; kind <= wasmbin.StoreU64; kind++ {
				moved := uint64(0)
				hostileMovements(kind, func(v movement) { moved += checkMove(t, m, twin, before, v) })
				if moved == 0 {
					t.Errorf("kind %d moves nothing, the test is idle", kind)
				}
			}
		})
	}
}

// checkMove holds one call of move against iterations on a second kernel.
func checkMove(t *testing.T, m *mover, twin *kernel.Local, before []byte, v movement) uint64 {
	copy(m.guestBytes(), before)
	fillKernel(t, m.in.kernel)
	fillKernel(t, twin)
	got, w := m.move(m.in.mod, uint32(v.kind), v.at, v.off, v.n, v.low, v.high), v.kind.Width()
	switch {
	case touches(v.at, v.n, v.low, v.high):
		if got != 0 {
			t.Fatalf("%+v = %d, over variables", v, got)
		}
	case got > v.n || got%w != 0:
		t.Fatalf("%+v = %d", v, got)
	case got+w <= v.n && v.at < wasmPage && v.at+got+w <= wasmPage && reaches(twin, v.kind, v.off+got):
		t.Fatalf("%+v = %d, and could be more", v, got)
	}
	guest := before
	if got > 0 {
		guest = slices.Clone(before)
		iterate(twin, guest, v.kind, v.at, v.off, got)
	}
	if !bytes.Equal(guest, m.guestBytes()) {
		t.Fatalf("%+v = %d: other bytes in the guest's memory", v, got)
	}
	if !bytes.Equal(kernelBytes(twin), kernelBytes(m.in.kernel)) {
		t.Fatalf("%+v = %d: other bytes in the kernel's memory", v, got)
	}
	return got
}

// How much is moved, said outright.
func TestMove(t *testing.T) {
	for _, on := range movers {
		t.Run(on.name, func(t *testing.T) {
			m := newMover(t, on.kind, on.portable)
			for _, tc := range []struct {
				kind             wasmbin.Transfer
				at, off, n, want uint64
			}{
				{wasmbin.LoadU8, 16, blockAt, 64, 64},
				{wasmbin.LoadU8, 16, blockAt + 4, 64, 60},
				{wasmbin.LoadU64, 16, blockAt + 4, 64, 56},
				{wasmbin.LoadU64, wasmPage - 12, blockAt, 64, 8},
				{wasmbin.StoreU64, 16, blockAt, math.MaxUint64, 64},
				{wasmbin.StoreU8, wasmPage - 3, blockAt, 64, 3},
				{wasmbin.InputLoadU8, 16, 0, 1 << 40, inputSize},
				{wasmbin.InputLoadU64, 16, 0, 1 << 40, 96},
				{wasmbin.InputLoadU64, 16, 96, 8, 0},
				{wasmbin.InputLoadU64, 16, 92, 8, 8},
			} {
				fillKernel(t, m.in.kernel)
				if got := m.move(m.in.mod, uint32(tc.kind), tc.at, tc.off, tc.n, 0, 0); got != tc.want {
					t.Errorf("move(%d, %d, %d, %d) = %d (want %d)", tc.kind, tc.at, tc.off, tc.n, got, tc.want)
				}
			}
			for _, kind := range []uint32{0, uint32(wasmbin.Reach) + 1, math.MaxUint8, 256 + uint32(wasmbin.LoadU8), math.MaxUint32} {
				if got := m.move(m.in.mod, kind, 16, blockAt, 64, 0, 0); got != 0 {
					t.Errorf("kind %d moves %d bytes", kind, got)
				}
			}
			if _, ok := m.in.mem.Grow(1); !ok {
				t.Fatal("the memory does not grow")
			}
			m.move(m.in.mod, uint32(wasmbin.LoadU64), wasmPage-32, blockAt, 64, 0, 0)
			if b, _ := m.in.mem.Read(wasmPage-32, 64); string(b) != strings.Repeat("the block at the end of all... ", 3)[:64] {
				t.Errorf("across the old end of the memory: %q", b)
			}
		})
	}
}

// How far can be stored is how far bytes are moved, and asking moves none.
func TestReach(t *testing.T) {
	for _, on := range movers {
		t.Run(on.name, func(t *testing.T) {
			m := newMover(t, on.kind, on.portable)
			seen := 0
			hostileMovements(wasmbin.StoreU8, func(v movement) {
				if v.at != 0 || v.low < v.high {
					return
				}
				fillKernel(t, m.in.kernel)
				before := slices.Clone(kernelBytes(m.in.kernel))
				got := m.move(m.in.mod, uint32(wasmbin.Reach), math.MaxUint64, v.off, v.n, 0, math.MaxUint64)
				if !bytes.Equal(before, kernelBytes(m.in.kernel)) {
					t.Fatalf("asking how far %+v reaches writes", v)
				}
				if stored := m.move(m.in.mod, uint32(v.kind), 0, v.off, v.n, 0, 0); got != stored && stored < wasmPage {
					t.Fatalf("%+v reaches %d bytes, and stores %d", v, got, stored)
				}
				seen++
			})
			if seen == 0 {
				t.Error("the test is idle")
			}
		})
	}
}

// Nothing is moved for what is not a part of the instance, or has no memory; a link
// has its own.
func TestMoveIsOfTheCallersMemory(t *testing.T) {
	for _, on := range movers {
		t.Run(on.name, func(t *testing.T) {
			m := newMover(t, on.kind, on.portable)
			fillKernel(t, m.in.kernel)
			mod, mem := m.open()
			move := func() uint64 { return m.move(mod, uint32(wasmbin.InputLoadU8), 0, 0, 5, 0, 0) }
			if got := move(); got != 0 {
				t.Errorf("%d bytes for a stranger", got)
			}
			m.in.members = []*part{{mod: mod}}
			if got := move(); got != 0 {
				t.Errorf("%d bytes for a link without memory", got)
			}
			m.in.members[0].mem = mem
			got := move()
			theirs, _ := mem.Read(0, 5)
			if got != 5 || string(theirs) != "input" || !bytes.Equal(m.guestBytes(), make([]byte, wasmPage)) {
				t.Errorf("%d bytes for a link, whose memory begins with %q, the guest's with %q", got, theirs, m.guestBytes()[:5])
			}
		})
	}
}

// move takes no memory of the host, whatever it moves, and the upper half of an i32
// counts for nothing.
func TestMoveAllocatesNothing(t *testing.T) {
	for _, on := range movers {
		t.Run(on.name, func(t *testing.T) {
			m := newMover(t, on.kind, on.portable)
			fillKernel(t, m.in.kernel)
			for kind := range wasmbin.Reach + 2 {
				s := make([]uint64, 6)
				n := testing.AllocsPerRun(100, func() {
					copy(s, []uint64{1<<32 | uint64(kind), 8, inputAt, 8, 0, 0})
					if kind.Input() {
						s[2] = 0
					}
					move(&m.in.state, m.in.mod, s)
				})
				want := 8 * min(kind.Width(), 1)
				if kind == wasmbin.Reach {
					want = 8
				}
				if n != 0 || s[0] != want {
					t.Errorf("kind %d: %v allocations, %d bytes", kind, n, s[0])
				}
			}
		})
	}
}

// The functions of the kernel that move bytes are those that move knows, under the
// name that no link can take, and of the types that the meter counts on.
func TestTransferImports(t *testing.T) {
	seen := 0
	for _, s := range abi.Imports {
		kind := transferImport(s.Module, s.Name)
		load, store := strings.Contains(s.Name, "load_u"), strings.Contains(s.Name, "store_u")
		if s.Module != abi.EnvModule || !load && !store {
			if kind != wasmbin.NoTransfer {
				t.Errorf("%s.%s moves bytes as %d", s.Module, s.Name, kind)
			}
			continue
		}
		seen++
		value := abi.I64
		if kind.Width() == 1 {
			value = abi.I32
		}
		params, results := []abi.ValueType{abi.I64}, []abi.ValueType{value}
		if store {
			params, results = append(params, value), nil
		}
		if !slices.Equal(s.Params, params) || !slices.Equal(s.Results, results) || kind.Store() != store ||
			kind.Input() != strings.HasPrefix(s.Name, "input_") || strings.HasSuffix(s.Name, "64") != (kind.Width() == 8) || kind.Width() == 0 {
			t.Errorf("%s of type %v -> %v is kind %d", s.Name, s.Params, s.Results, kind)
		}
		if transferImport(oldEnvModule, oldEnvPrefix+s.Name) != wasmbin.NoTransfer {
			t.Errorf("%s of %s, whose name a link may take, is a transfer", s.Name, oldEnvModule)
		}
	}
	if seen != len(transfers) {
		t.Errorf("%d functions move bytes, %d are known", seen, len(transfers))
	}
}

// Code that was made without transfers is not taken for what is made with them.
func TestCodeKeyHasTransfers(t *testing.T) {
	spec := &Spec{imports: []wasmbin.Import{{Module: abi.EnvModule, Name: "load_u8"}}}
	with := meterOptions(wasmbin.Bounds{}, 0)
	without := with
	without.Transfers = func(string, string) wasmbin.Transfer { return wasmbin.NoTransfer }
	if codeKey(spec, with) == codeKey(spec, without) {
		t.Error("the same key")
	}
}

// BenchmarkMove is what a call of move takes, from within a guest.
func BenchmarkMove(b *testing.B) {
	for _, on := range movers {
		m := newMover(b, on.kind, on.portable)
		const room = 16 << 10
		off, err := m.in.kernel.Alloc(context.Background(), room)
		if err != nil {
			b.Fatal(err)
		}
		many := m.in.mod.ExportedFunction("many")
		for _, n := range []uint64{8, 64, 4 << 10, room} {
			for _, kind := range []wasmbin.Transfer{wasmbin.LoadU64, wasmbin.StoreU64} {
				b.Run(fmt.Sprintf("%s/store=%t/%d", on.name, kind.Store(), n), func(b *testing.B) {
					b.SetBytes(int64(n))
					s := []uint64{uint64(kind), 1024, off, n, 0, uint64(b.N)}
					if err := many.CallWithStack(&m.in.state, s); err != nil || s[0] != n {
						b.Fatal(s[0], err)
					}
				})
			}
		}
	}
}
