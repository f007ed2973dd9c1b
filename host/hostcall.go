package host

import (
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
)

// What the host does for a guest costs fuel beyond the weight of the call, one
// unit for about a nanosecond, so that a guest cannot have the host do what it
// may not do itself. Functions of constant time cost nothing more: the weight of
// the call covers them.
const (
	// costLog is a message on its way through the logger.
	costLog = 2_000
	// costTokenByte is a byte of text to be tokenized.
	costTokenByte = 32
	// costHTTP is a request, without its bytes.
	costHTTP = 100_000
)

const (
	// maxName bounds the names of variables and settings and the keys of the
	// key-value store, in bytes.
	maxName = 4 << 10
	// maxTokenText bounds a text to count: several windows of the largest
	// models, and some 30 ms of work that nothing interrupts.
	maxTokenText = 1 << 20
	// maxHTTPDocument bounds the document that states URL, method and headers.
	maxHTTPDocument = 256 << 10
)

// put copies b into a new block of the guest, 0 when it is empty or does not
// fit.
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

// name reads the block of a handle as a name; too long ones and wild handles
// name nothing.
func (c *callState) name(off uint64) (string, bool) {
	b, ok := c.inst.kernel.Bytes(off)
	if !ok || len(b) > maxName {
		return "", false
	}
	c.spend(int64(len(b)))
	return string(b), true
}

// key is name for functions that cannot do without one: a wild handle or a long
// name ends the call. what names function and argument.
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

// slow makes the host function of one that takes its time: when it returns
// after the call's deadline, the call is over.
func slow(fn hostFunc) hostFunc {
	return func(c *callState, s []uint64) {
		fn(c, s)
		c.stop()
	}
}

// blocking is slow for one that may wait for something outside, during which others
// have the processor.
func blocking(fn hostFunc) hostFunc {
	return func(c *callState, s []uint64) {
		c.leave()
		fn(c, s)
		c.rejoin()
	}
}

// clipBytes is clip for bytes of which only the beginning is looked at.
func clipBytes(b []byte, n int) string {
	return clip(string(b[:min(len(b), n+utf8.UTFMax)]), n)
}
