package host

import (
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
)

// What the host does for a guest costs fuel beyond the weight of the call, about one unit
// for each nanosecond. Otherwise a guest could have the host do work that it may not do
// itself. Functions that take constant time cost nothing more: the weight of the call
// covers them.
const (
	// costLog is the cost of a message, which the logger handles.
	costLog = 2_000
	// costTokenByte is the cost of each byte of text to be tokenized.
	costTokenByte = 32
)

const (
	// maxName bounds the names of variables and settings and the keys of the key-value
	// store, in bytes.
	maxName = 4 << 10
	// maxTokenText bounds a text whose tokens are counted, in bytes: several windows of the
	// largest models, and about 30 ms of work that nothing interrupts.
	maxTokenText = 1 << 20
)

// put copies b into a new block of the guest. It returns 0 if b is empty or does not fit.
func (c *callState) put(b []byte) uint64 {
	k := c.inst.kernel
	off, err := k.Alloc(c, uint64(len(b)))
	if err != nil {
		panic(err)
	}
	if block, ok := k.Bytes(off); ok {
		copy(block, b)
	}
	c.spend(0)
	return off
}

// name reads the block of a handle as a name. ok is false if the handle names no block, or
// the name is too long.
func (c *callState) name(off uint64) (string, bool) {
	b, ok := c.inst.kernel.Bytes(off)
	if !ok || len(b) > maxName {
		return "", false
	}
	c.spend(int64(len(b)))
	return string(b), true
}

// key is name for functions that cannot do without one: without a valid name the call ends.
// what names the function and the argument in the error.
func (c *callState) key(off uint64, what string) string {
	b, ok := c.inst.kernel.Bytes(off)
	switch {
	case !ok:
		panic(faultf(abi.ReasonTrap, "%s is not a block", what))
	case len(b) > maxName:
		panic(faultf(abi.ReasonTrap, "%s has %d bytes, allowed %d", what, len(b), maxName))
	}
	c.spend(int64(len(b)))
	return string(b)
}

// slow wraps a host function that may take long. If it returns after the call's deadline,
// the call ends.
func slow(fn hostFunc) hostFunc {
	return func(c *callState, s []uint64) {
		fn(c, s)
		c.stop()
	}
}

// blocking is slow for a host function that may wait for something outside. Meanwhile other
// calls may take the processor.
func blocking(fn hostFunc) hostFunc {
	return func(c *callState, s []uint64) {
		c.leave()
		fn(c, s)
		c.rejoin()
	}
}

// clipBytes is clip for bytes. It copies only the beginning.
func clipBytes(b []byte, n int) string {
	return guesttext.Clip(string(b[:min(len(b), n+utf8.UTFMax)]), n)
}
