package cli

import (
	"context"
	"io"
)

// await returns the results of f, or context.Canceled as soon as the user interrupts. It
// then abandons f: a system call that waits for a terminal or a named pipe cannot be
// cancelled, and the program is about to end.
func await[T any](interrupted <-chan struct{}, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-interrupted:
		var none T
		return none, context.Canceled
	}
}

// input reads data that may never arrive, from stdin and named pipes. It belongs to one
// goroutine.
type input struct {
	r           io.Reader
	interrupted <-chan struct{}
	// buf is the target of reads. An abandoned read may write to it later, so callers get copies.
	buf []byte
}

// Read implements io.Reader.
func (i *input) Read(p []byte) (int, error) {
	select {
	case <-i.interrupted:
		return 0, context.Canceled
	default:
	}
	if i.buf == nil {
		i.buf = make([]byte, 64<<10)
	}
	buf := i.buf[:min(len(p), len(i.buf))]
	n, err := await(i.interrupted, func() (int, error) { return i.r.Read(buf) })
	return copy(p, buf[:n]), err
}

// inputFile is a file that is read like [input].
type inputFile struct {
	input
	io.Closer
}
