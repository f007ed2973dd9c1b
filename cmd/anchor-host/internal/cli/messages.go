package cli

import (
	"io"
	"os"
	"sync"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// Messages is stderr. The command, its log, and toolchains write to it. Control characters
// become escapes, so that no message can control the terminal. It is safe for concurrent use.
type Messages struct {
	mu    sync.Mutex
	raw   io.Writer
	plain plain.Writer
}

func newMessages(w io.Writer) *Messages { return &Messages{raw: w, plain: plain.Writer{To: w}} }

// Write implements io.Writer.
func (m *Messages) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.plain.Write(b)
}

// Terminal reports whether stderr is a terminal.
func (m *Messages) Terminal() bool { return isTerminal(m.raw) }

// Drawing returns a writer to a terminal that does not escape, for bars, which move the cursor on
// purpose.
func (m *Messages) Drawing() io.Writer { return drawing{m} }

type drawing struct{ *Messages }

func (d drawing) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.raw.Write(b)
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
