package openregistry

import (
	"sync"

	"github.com/schollz/progressbar/v3"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/registry"
)

// Bar draws on a terminal how far all downloads and uploads of a command are together.
type Bar struct {
	app *cli.App
	mu  sync.Mutex
	at  map[registry.Reference]registry.Progress
	bar *progressbar.ProgressBar
}

// NewBar returns a bar that is not drawn yet.
func NewBar(a *cli.App) *Bar { return &Bar{app: a, at: map[registry.Reference]registry.Progress{}} }

// progress returns what a client calls, nil if nothing is drawn.
func (b *Bar) progress() func(registry.Progress) {
	if b == nil || !b.app.Err.Terminal() {
		return nil
	}
	return b.show
}

// tell returns what a client calls when it waits. The line takes the place of what is drawn.
func (b *Bar) tell() func(string) {
	if b == nil {
		return nil
	}
	return func(line string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.bar != nil {
			_ = b.bar.Clear() // it is drawn again
		}
		b.app.Say("%s", line)
	}
}

func (b *Bar) show(p registry.Progress) {
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

// Finish clears the line.
func (b *Bar) Finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar != nil {
		_ = b.bar.Finish()
		b.bar = nil
	}
}
