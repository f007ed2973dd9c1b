// Package mem owns the memory that a guest lends to the host: the mailbox, the buffer into
// which the host writes a batch or a document, and the buffer from which it reads the answer.
// It is the only package of the SDK that converts addresses to numbers.
//
// All lent memory belongs to package variables, so the garbage collector neither frees nor
// moves it.
package mem

import (
	"errors"
	"unsafe"

	"github.com/anchor-host/anchor-host/abi"
)

// MaxInput is the largest batch a host may send, in bytes.
const MaxInput = abi.MaxBytes

// minInput is the smallest size of the buffer, in bytes. It avoids reallocations in the first calls.
const minInput = 64 << 10

// ErrInput means that the host passed an address or a length outside of the reserved buffer.
var ErrInput = errors.New("batch: is not in the reserved buffer (call anchor_reserve and write to the address it returns)")

// Mailbox returns the address of the mailbox.
func Mailbox() uint32 { return address(unsafe.Pointer(&state.box)) }

// Reserve makes room for n bytes of input and returns the address, or 0 when n is more than
// MaxInput. Previous contents are lost.
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

// warmers do work in advance that the first calls would otherwise do.
var warmers []func()

// Warm registers f to run in the warm-up, when the host prepares this instance for calls.
// The host starts the warm-up by reserving exactly 64 KiB. If the host restores the memory
// after each call, no call has to repeat the work of f.
func Warm(f func()) { warmers = append(warmers, f) }

// warmUp runs the warmers once. It ignores a panic, which the types of an author may cause;
// the call that needs the same work panics again and reports it.
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

// roundUp returns the smallest power of two that is at least n and minInput. Batches that
// grow slowly then do not each need a new buffer.
func roundUp(n int) int {
	size := minInput
	for size < n {
		size *= 2
	}
	return size
}

// Input returns the n bytes that the host wrote at address ptr.
func Input(ptr, n uint32) ([]byte, error) {
	if len(state.in) == 0 || ptr != state.box.InAddr || n > state.box.InCap {
		return nil, ErrInput
	}
	return Buffer()[:n:n], nil
}

// Document returns the document that the host wrote into the buffer, and removes it. It
// returns nil if there is none. Older hosts do not use the buffer for documents.
func Document() []byte {
	n := state.box.Document
	state.box.Document = 0
	if n == 0 || n > state.box.InCap {
		return nil
	}
	return Buffer()[:n:n]
}

// Buffer returns the whole reserved buffer. Tests write into it as a host would.
func Buffer() []byte {
	if len(state.in) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(state.in))), 8*len(state.in))
}

// Holds reports whether s is within the reserved buffer. That is so for each text of the
// batch and for every part of one.
func Holds(s string) bool {
	in := Buffer()
	if len(s) == 0 || len(in) == 0 {
		return false
	}
	from := uintptr(unsafe.Pointer(unsafe.StringData(s))) - uintptr(unsafe.Pointer(unsafe.SliceData(in)))
	return from < uintptr(len(in)) && uintptr(len(s)) <= uintptr(len(in))-from
}

// Output returns the answer buffer with length 0. Append the answer to it.
func Output() []byte { return state.out[:0] }

// SetOutput makes b the answer that the host reads. The next call reuses its memory.
func SetOutput(b []byte) {
	state.out = b
	state.box.OutLen = uint32(len(b))
	state.box.OutAddr = 0
	if len(b) > 0 {
		state.box.OutAddr = address(unsafe.Pointer(unsafe.SliceData(b)))
	}
}

// Answer returns the current answer.
func Answer() []byte { return state.out }

// address returns p as a 32-bit address of the guest. Outside Wasm the address is cut to 32
// bits; Input compares it with the same value.
func address(p unsafe.Pointer) uint32 { return uint32(uintptr(p)) }
