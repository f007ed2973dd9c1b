package mcpsource

import (
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// maxTail is how much is kept of what a server writes to its stderr, in bytes.
const maxTail = 500

// tail keeps the end of what is written.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p[max(0, len(p)-maxTail):]...)
	t.data = t.data[max(0, len(t.data)-maxTail):]
	return len(p), nil
}

// text returns it on one line.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return plain.Line(strings.Join(strings.Fields(strings.ToValidUTF8(string(t.data), "?")), " "))
}
