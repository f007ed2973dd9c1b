package egress

import (
	"fmt"
	"io"
	"sync/atomic"
)

// TooLarge is the error of a body that exceeds the bound of a client.
type TooLarge struct{ text string }

// Error says which body, and what is allowed.
func (e *TooLarge) Error() string { return e.text }

// bound is a number of bytes that requests share. It is safe for concurrent use.
type bound struct{ left atomic.Int64 }

func newBound(bytes int64) *bound {
	b := new(bound)
	b.left.Store(bytes)
	return b
}

// take takes n bytes, and reports whether there were as many.
func (b *bound) take(n int) bool { return b.left.Add(-int64(n)) >= 0 }

// boundedReader reads a body until the bytes of all bodies exceed a bound.
type boundedReader struct {
	io.Reader
	bodies *bound
	most   int64 // for the error
}

// Read implements io.Reader. The error of one byte too many is a [TooLarge].
func (r *boundedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if !r.bodies.take(n) {
		return 0, &TooLarge{fmt.Sprintf("http response of more than %d bytes", r.most)}
	}
	return n, err
}
