package host

import (
	"bytes"
	"strings"
)

// capture keeps what a guest writes to stdout, stderr and the log during one
// call, up to limit bytes. A guest never blocks or fails on it.
type capture struct {
	limit   int
	buf     bytes.Buffer
	dropped int
}

// Write implements io.Writer; it always takes everything.
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

// maxErrorLog bounds the log that an error carries.
const maxErrorLog = 8 << 10

// tail is the end of what was written, where the cause of a failure is.
func (c *capture) tail() string {
	b := c.buf.Bytes()
	if len(b) > maxErrorLog {
		b = b[len(b)-maxErrorLog:]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// firstLine is the first line of a text that says anything.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
