package decoded

import (
	"time"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// SettledFile is the age after which a change to a file certainly shows in its times, even on
// file systems that count in seconds. Tests set it.
var SettledFile = 2 * time.Second

// notesFormat must change when the content of the notes on modules changes its meaning.
const notesFormat = "2"

// OpenNotes opens the notes on modules that a store keeps.
func OpenNotes(s *codestore.Store) (*codestore.Notes, error) {
	return codestore.OpenNotes(s, notesFormat+" "+wasmbin.Revision(), SettledFile)
}
