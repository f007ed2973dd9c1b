package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/anchor-host/anchor-host/internal/config"
)

// maxText is the maximum length of a text on stdin. A text of this length fits into a record of
// the store.
const maxText = 8 << 20

// Text returns a value of the command line, or the content of stdin if the value is "-". what names
// it in errors.
func (a *App) Text(value, what string) (string, error) {
	if value != "-" {
		return value, nil
	}
	data, err := io.ReadAll(io.LimitReader(a.In, maxText+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", what, err)
	}
	if len(data) > maxText {
		return "", fmt.Errorf("%w: stdin: the %s is longer than %d MiB", config.ErrInvalid, what, maxText>>20)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// ReadAll reads a file, or stdin for "-", of at most limit bytes, and returns its name for messages.
func (a *App) ReadAll(path, what string, limit int) (name string, data []byte, err error) {
	r, name, err := a.Open(path)
	if err != nil {
		return "", nil, fmt.Errorf("read %s: %w", what, err)
	}
	defer r.Close()
	data, err = io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return "", nil, fmt.Errorf("read %s: %w", what, err)
	}
	if len(data) > limit {
		return "", nil, fmt.Errorf("%w: %s: larger than %d MiB", config.ErrInvalid, name, limit>>20)
	}
	return name, data, nil
}

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
