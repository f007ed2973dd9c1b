package cli

import (
	"context"
	"io"
)

// await returns what f returns, or context.Canceled as soon as the user
// interrupts. f is then left behind: no system call that waits for a terminal or
// a named pipe can be taken back, and the program is about to end.
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

// input reads what may never come: stdin and named pipes. It belongs to one
// goroutine.
type input struct {
	r           io.Reader
	interrupted <-chan struct{}
	// buf is what reads fill, as one that is left behind may still write to it.
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

// inputFile is a file that is read as [input].
type inputFile struct {
	input
	io.Closer
}
