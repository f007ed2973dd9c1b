// Package mem owns the memory a guest lends to the host: the mailbox, the
// buffer the host writes a batch or a document into, and the buffer it reads the
// answer from.
// It is the only package of the SDK that turns addresses into numbers.
//
// Everything handed out lives in package variables, so the garbage collector
// neither frees nor moves it.
package mem

import (
	"errors"
	"unsafe"

	"github.com/anchor-host/anchor-host/abi"
)

// MaxInput is the largest batch a host may send, in bytes.
const MaxInput = abi.MaxBytes

// minInput spares the first calls a series of growing buffers.
const minInput = 64 << 10

// ErrInput says that the host passed something other than the buffer it was
// lent.
var ErrInput = errors.New("batch: is not in the reserved buffer (call anchor_reserve and write to the address it returns)")

// state keeps the buffers reachable. in is a slice of words because those are
// 8-aligned in every runtime, which bytes are not.
var state = struct {
	box abi.Mailbox
	in  []uint64
	out []byte
}{box: abi.Mailbox{Size: abi.MailboxDocumentSize}}

// Mailbox returns the address of the mailbox.
func Mailbox() uint32 { return address(unsafe.Pointer(&state.box)) }

// Reserve makes room for n bytes of input and returns the address, or 0 when n
// is more than MaxInput. The contents do not survive.
func Reserve(n uint32) uint32 {
	if n > MaxInput {
		return 0
	}
	if int(n) > 8*len(state.in) {
		state.in = make([]uint64, roundUp(int(n))/8)
	}
	if len(state.in) == 0 {
		state.in = make([]uint64, minInput/8)
	}
	if n == minInput {
		warmUp()
	}
	state.box.InAddr = address(unsafe.Pointer(unsafe.SliceData(state.in)))
	state.box.InCap = uint32(8 * len(state.in))
	return state.box.InAddr
}

// WarmRows is the number of rows for which room is made ahead.
const WarmRows = 1024

// warmers do what the first calls would have to do.
var warmers []func()

// Warm has f run when the host prepares this instance for its calls: it asks for
// exactly 64 KiB of room then. What f does is saved to every call where the host
// puts the memory back after each.
func Warm(f func()) { warmers = append(warmers, f) }

// warmUp runs the warmers, once. A panic in one, as the types of an author may
// cause, is left for the call that meets it.
func warmUp() {
	if warmers == nil {
		return
	}
	prime()
	for _, f := range warmers {
		func() {
			defer func() { _ = recover() }()
			f()
		}()
	}
	warmers = nil
}

// roundUp returns the power of two that holds n bytes, at least minInput, so
// that slowly growing batches do not each leave a buffer behind.
func roundUp(n int) int {
	size := minInput
	for size < n {
		size *= 2
	}
	return size
}

// Input returns the n bytes the host wrote at address ptr.
func Input(ptr, n uint32) ([]byte, error) {
	if len(state.in) == 0 || ptr != state.box.InAddr || n > state.box.InCap {
		return nil, ErrInput
	}
	return Buffer()[:n:n], nil
}

// Document takes the document that the host wrote into the buffer. It is nil if the
// host wrote none, as one that does not know that it may.
func Document() []byte {
	n := state.box.Document
	state.box.Document = 0
	if n == 0 || n > state.box.InCap {
		return nil
	}
	return Buffer()[:n:n]
}

// Buffer returns the whole reserved buffer. A test writes here what the host
// would.
func Buffer() []byte {
	if len(state.in) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(state.in))), 8*len(state.in))
}

// Holds reports whether s lies in the reserved buffer, as a text of the batch does
// and any part of it.
func Holds(s string) bool {
	in := Buffer()
	if len(s) == 0 || len(in) == 0 {
		return false
	}
	from := uintptr(unsafe.Pointer(unsafe.StringData(s))) - uintptr(unsafe.Pointer(unsafe.SliceData(in)))
	return from < uintptr(len(in)) && uintptr(len(s)) <= uintptr(len(in))-from
}

// Output returns the answer buffer, empty, to append to.
func Output() []byte { return state.out[:0] }

// SetOutput publishes b as the answer and keeps it for the next call.
func SetOutput(b []byte) {
	state.out = b
	state.box.OutLen = uint32(len(b))
	state.box.OutAddr = 0
	if len(b) > 0 {
		state.box.OutAddr = address(unsafe.Pointer(unsafe.SliceData(b)))
	}
}

// Answer returns the bytes last published.
func Answer() []byte { return state.out }

// address is p as the host counts. Outside Wasm it is cut to 32 bits, which
// serves as a token that Input recognizes.
func address(p unsafe.Pointer) uint32 { return uint32(uintptr(p)) }
