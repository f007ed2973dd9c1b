package mounts

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/anchor-host/anchor-host/internal/rlimit"
)

const (
	// MaxOpen is the most files and connections that one plugin has open at a time.
	MaxOpen = 256
	// leastOpen is what a plugin may have open if the process may have only few.
	leastOpen = 16
	// shareOfOne is the divisor for one plugin: it may have an eighth of what all plugins
	// may have open together.
	shareOfOne = 8
)

// HowToHaveMore is the remedy if the process cannot have more files open.
const HowToHaveMore = "raise the limit of open files of the process, ulimit -n"

// The errors of a file that would be one too many: for the plugin, and for all plugins
// together.
var (
	errPluginFiles  = errors.New("the plugin has as many files and connections open as it may")
	errProcessFiles = errors.New("all plugins together have as many files and connections open as they may (" + HowToHaveMore + ")")
)

// Budget counts the file descriptors that one plugin has open: files and connections. It is
// safe for concurrent use.
type Budget struct {
	own     counter
	process *counter
}

// processFiles counts the descriptors of all plugins. Descriptors belong to the process, so
// all of its hosts share them. Plugins may take half of what the process may have, which
// leaves the embedder the other half.
var processFiles = sync.OnceValue(func() *counter { return &counter{limit: fileLimit() / 2} })

// fileLimit is how many files the process may have open. Where nothing bounds them, it is a
// number that suffices for many plugins.
func fileLimit() int64 {
	const most = 1 << 20
	n, bounded := rlimit.OpenFiles()
	if !bounded {
		return 64 * MaxOpen
	}
	return min(n, most)
}

// NewBudget returns the budget of a plugin: an eighth of what all plugins of the process may
// have open together, at least 16 and at most [MaxOpen].
func NewBudget() *Budget { return newBudget(processFiles()) }

func newBudget(process *counter) *Budget {
	b := &Budget{process: process}
	b.own.limit = min(max(process.limit/shareOfOne, leastOpen), MaxOpen)
	return b
}

// Take reserves a descriptor. The error says whether the plugin or the process has too many.
func (b *Budget) Take() error {
	if !b.own.take() {
		return errPluginFiles
	}
	if !b.process.take() {
		b.own.give()
		return errProcessFiles
	}
	return nil
}

// Give gives back a descriptor that Take reserved.
func (b *Budget) Give() {
	b.own.give()
	b.process.give()
}

// counter counts up to a limit.
type counter struct {
	limit int64
	used  atomic.Int64
}

func (c *counter) take() bool {
	for {
		used := c.used.Load()
		if used >= c.limit {
			return false
		}
		if c.used.CompareAndSwap(used, used+1) {
			return true
		}
	}
}

func (c *counter) give() { c.used.Add(-1) }
