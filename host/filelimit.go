package host

import (
	"errors"
	"sync"

	"github.com/anchor-host/anchor-host/host/internal/capacity"
	"github.com/anchor-host/anchor-host/internal/rlimit"
)

const (
	// maxOpenFiles bounds the files and connections that one plugin has open at a time.
	// fewOpenFiles is what it has at least if the process may have only few.
	maxOpenFiles = 256
	fewOpenFiles = 16
	// filesShare is the divisor for one plugin: it may have an eighth of what all plugins
	// may have open together.
	filesShare = 8
)

// The errors of a file that would be one too many: for the plugin, and for all plugins
// together.
var (
	errPluginFiles  = errors.New("the plugin has as many files and connections open as it may")
	errProcessFiles = errors.New("all plugins together have as many files and connections open as they may (" + moreFiles + ")")
)

// processFiles counts the file descriptors that plugins take. Descriptors belong to the
// process, so all of its hosts share them. Plugins may take half of what the process may
// have, which leaves the embedder the other half.
var processFiles = sync.OnceValue(func() *capacity.Budget { return &capacity.Budget{Limit: fileLimit() / 2} })

// fileLimit is how many files the process may have open. Where nothing bounds them, it is a
// number that suffices for many plugins.
func fileLimit() int64 {
	const most = 1 << 20
	n, bounded := rlimit.OpenFiles()
	if !bounded {
		return 64 * maxOpenFiles
	}
	return min(n, most)
}

// fileBudget counts the descriptors that one plugin has open.
type fileBudget struct {
	own   capacity.Budget
	whole *capacity.Budget
}

func newFileBudget(whole *capacity.Budget) *fileBudget {
	b := &fileBudget{whole: whole}
	b.own.Limit = min(max(whole.Limit/filesShare, fewOpenFiles), maxOpenFiles)
	return b
}

// take reserves a descriptor.
func (b *fileBudget) take() error {
	if !b.own.Take(1) {
		return errPluginFiles
	}
	if !b.whole.Take(1) {
		b.own.Give(1)
		return errProcessFiles
	}
	return nil
}

// give gives a descriptor back.
func (b *fileBudget) give() {
	b.own.Give(1)
	b.whole.Give(1)
}
