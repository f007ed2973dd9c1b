package wasi

import (
	"bytes"
	"strings"
)

// Output keeps what a guest writes to stdout, stderr and the log during one call, up to a
// limit in bytes. It drops the rest, so that a guest never blocks or fails on it.
type Output struct {
	limit int
	buf   bytes.Buffer
}

// Write implements io.Writer. It never fails.
func (o *Output) Write(b []byte) (int, error) {
	if room := o.limit - o.buf.Len(); room > 0 {
		o.buf.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

// Line adds a message to the log and reports whether there was room for the beginning of it.
func (o *Output) Line(level, message string) bool {
	if o.buf.Len() >= o.limit {
		return false
	}
	_, _ = o.Write([]byte(level + ": " + message + "\n"))
	return true
}

// Reset forgets what was written.
func (o *Output) Reset() { o.buf.Reset() }

// Tail returns the last n bytes of what was written, where the cause of a failure mostly is.
// What is not UTF-8 is replaced.
func (o *Output) Tail(n int) string {
	b := o.buf.Bytes()
	if len(b) > n {
		b = b[len(b)-n:]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
