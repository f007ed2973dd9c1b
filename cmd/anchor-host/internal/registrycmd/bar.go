package registrycmd

import (
	"sync"

	"github.com/schollz/progressbar/v3"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/registry"
)

// bar draws on a terminal how far all downloads and uploads of a command are together.
type bar struct {
	app *cli.App
	mu  sync.Mutex
	at  map[registry.Reference]registry.Progress
	bar *progressbar.ProgressBar
}

func newBar(a *cli.App) *bar { return &bar{app: a, at: map[registry.Reference]registry.Progress{}} }

// progress returns what a client calls, nil if nothing is drawn.
func (b *bar) progress() func(registry.Progress) {
	if !b.app.Err.Terminal() {
		return nil
	}
	return b.show
}

func (b *bar) show(p registry.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at[p.Reference] = p
	var done, total int64
	for _, each := range b.at {
		done, total = done+each.Done, total+each.Total
	}
	if b.bar == nil {
		b.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(b.app.Err.Drawing()), progressbar.OptionShowBytes(true),
			progressbar.OptionSetDescription("anchor-host: transfer"), progressbar.OptionClearOnFinish())
	}
	b.bar.ChangeMax64(total + 1) // full only when all is over
	_ = b.bar.Set64(done)        // a lost frame does not matter
}

// finish clears the line.
func (b *bar) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar != nil {
		_ = b.bar.Finish()
		b.bar = nil
	}
}
