package host

import (
	"bytes"
	"strings"
)

// capture keeps what a guest writes to stdout, stderr and the log during one call, up to
// limit bytes. Beyond that it counts the bytes and drops them, so that a guest never blocks
// or fails on it.
type capture struct {
	limit   int
	buf     bytes.Buffer
	dropped int
}

// Write implements io.Writer. It never fails.
func (c *capture) Write(b []byte) (int, error) {
	room := c.limit - c.buf.Len()
	if room < len(b) {
		c.dropped += len(b) - max(room, 0)
	}
	if room > 0 {
		c.buf.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

// line adds one log message and reports whether there was room for all of it.
func (c *capture) line(level, msg string) bool {
	if c.buf.Len() >= c.limit {
		c.dropped += len(msg)
		return false
	}
	_, _ = c.Write([]byte(level + ": " + msg + "\n"))
	return true
}

func (c *capture) reset() {
	c.buf.Reset()
	c.dropped = 0
}

// maxErrorLog bounds the log that an error carries, in bytes.
const maxErrorLog = 8 << 10

// tail returns the end of what was written, where the cause of a failure mostly is.
func (c *capture) tail() string {
	b := c.buf.Bytes()
	if len(b) > maxErrorLog {
		b = b[len(b)-maxErrorLog:]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// firstLine returns the first line of s that is not blank, without surrounding space.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
