package guest

import (
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
)

// What the host does for a guest costs fuel beyond the weight of the call, about one unit
// for each nanosecond. Otherwise a guest could have the host do work that it may not do
// itself. Functions that take constant time cost nothing more: the weight of the call
// covers them, weightHostCall in package wasmbin.

// Function is a function that guests import. s holds the arguments and receives the result.
type Function func(c *Call, s []uint64)

// costLog is the cost of a message, which the logger handles.
const costLog = 2_000

// maxName bounds the names of variables and settings and the keys of the key-value store, in
// bytes.
const maxName = 4 << 10

// Put copies b into a new block of the guest. It returns 0 if b is empty or does not fit.
func (c *Call) Put(b []byte) uint64 {
	k := c.Instance.Extism.Kernel
	off, err := k.Alloc(c, uint64(len(b)))
	if err != nil {
		panic(err)
	}
	if block, ok := k.Bytes(off); ok {
		copy(block, b)
	}
	c.Spend(0)
	return off
}

// name reads the block of a handle as a name. It is empty if the handle names no block, or the
// name is too long.
func (c *Call) name(off uint64) string {
	b, ok := c.Instance.Extism.Kernel.Bytes(off)
	if !ok || len(b) > maxName {
		return ""
	}
	c.Spend(int64(len(b)))
	return string(b)
}

// Key is name for functions that cannot do without one: without a valid name the call ends.
// what names the function and the argument in the error.
func (c *Call) Key(off uint64, what string) string {
	b, ok := c.Instance.Extism.Kernel.Bytes(off)
	switch {
	case !ok:
		panic(Faultf(abi.ReasonTrap, "%s is not a block", what))
	case len(b) > maxName:
		panic(Faultf(abi.ReasonTrap, "%s has %d bytes, allowed %d", what, len(b), maxName))
	}
	c.Spend(int64(len(b)))
	return string(b)
}

// Slow wraps a host function that may take long. If it returns after the call's deadline,
// the call ends.
func Slow(fn Function) Function {
	return func(c *Call, s []uint64) {
		fn(c, s)
		c.Stop()
	}
}

// Blocking is slow for a host function that may wait for something outside. Meanwhile other
// calls may take the processor.
func Blocking(fn Function) Function {
	return func(c *Call, s []uint64) {
		c.Leave()
		fn(c, s)
		c.Rejoin()
	}
}

// clipBytes is clip for bytes. It copies only the beginning.
func clipBytes(b []byte, n int) string {
	return guesttext.Clip(string(b[:min(len(b), n+utf8.UTFMax)]), n)
}
