package cli

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// progressDelay is how long an action may take before a line reports it.
const progressDelay = time.Second

// Progress reports on stderr an action that takes longer than a second: with a spinner on a
// terminal, and with one line elsewhere. It is safe for concurrent use.
type Progress struct {
	app   *App
	delay time.Duration
	// Off disables all output. Set it before the first use.
	Off bool

	mu      sync.Mutex
	work    string // what modules are compiled for
	what    string
	timer   *time.Timer
	spinner *progressbar.ProgressBar
	ended   chan struct{}
}

// NewProgress returns a progress without a current action.
func NewProgress(a *App) *Progress {
	return &Progress{app: a, delay: cmp.Or(a.Patience, progressDelay)}
}

// Start begins the action what. Nothing is printed if [Progress.Stop] follows soon.
func (p *Progress) Start(what string) {
	p.mu.Lock()
	p.work = what
	p.mu.Unlock()
	p.turn(what)
}

// turn shows what happens now.
func (p *Progress) turn(what string) {
	p.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Off {
		return
	}
	p.what = what
	p.timer = time.AfterFunc(p.delay, func() { p.show(what) })
}

// Compiling reports that the compilation of a module begins or is done. When it is done, the
// line of the work that was under way comes back.
func (p *Progress) Compiling(plugin string, done bool, _ time.Duration) {
	if !done {
		p.turn(fmt.Sprintf("compiling plugin %q (the next start will be faster)", plugin))
		return
	}
	p.mu.Lock()
	work := p.work
	p.mu.Unlock()
	p.turn(cmp.Or(work, "starting the plugins"))
}

// show prints the action, unless it has ended meanwhile.
func (p *Progress) show(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.what != what || p.ended != nil {
		return
	}
	if !p.app.Err.Terminal() {
		p.app.Say("%s …", what)
		return
	}
	p.spinner = progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(p.app.Err.Drawing()), progressbar.OptionSetDescription("anchor-host: "+plain.Line(what)),
		progressbar.OptionSpinnerType(14), progressbar.OptionClearOnFinish(), progressbar.OptionSetElapsedTime(true))
	p.ended = make(chan struct{})
	go spin(p.spinner, p.ended)
}

// spin turns the spinner until ended is closed.
func spin(bar *progressbar.ProgressBar, ended <-chan struct{}) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			_ = bar.Add(1) // a lost frame does not matter
		}
	}
}

// Stop ends the action that [Progress.Start] began, and clears the spinner.
func (p *Progress) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	p.what = ""
	if p.ended != nil {
		close(p.ended)
		_ = p.spinner.Finish() // clears the line
		p.ended, p.spinner = nil, nil
	}
}
