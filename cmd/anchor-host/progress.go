package main

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// progressDelay is how long something may take before a line says so.
const progressDelay = time.Second

// progress tells on stderr what takes longer than a moment: a spinner on a
// terminal, one plain line elsewhere. It is safe for concurrent use.
type progress struct {
	app   *app
	delay time.Duration
	// off, set before the first use, keeps it from saying anything.
	off bool

	mu      sync.Mutex
	work    string // what modules are compiled for
	what    string
	timer   *time.Timer
	spinner *progressbar.ProgressBar
	ended   chan struct{}
}

func newProgress(a *app) *progress {
	return &progress{app: a, delay: progressDelay}
}

// start names what happens from now on.
func (p *progress) start(what string) {
	p.mu.Lock()
	p.work = what
	p.mu.Unlock()
	p.turn(what)
}

// turn shows what happens now.
func (p *progress) turn(what string) {
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.off {
		return
	}
	p.what = what
	p.timer = time.AfterFunc(p.delay, func() { p.show(what) })
}

// compiling is called before each module is compiled and when it is. Then what was started
// goes on.
func (p *progress) compiling(plugin string, done bool, _ time.Duration) {
	if !done {
		p.turn(fmt.Sprintf("compiling plugin %q (the next start will be faster)", plugin))
		return
	}
	p.mu.Lock()
	work := p.work
	p.mu.Unlock()
	p.turn(cmp.Or(work, "starting the plugins"))
}

// show says what takes so long, unless it has ended meanwhile.
func (p *progress) show(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.what != what || p.ended != nil {
		return
	}
	if !p.app.err.terminal() {
		p.app.say("%s …", what)
		return
	}
	p.spinner = progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(drawing{p.app.err}), progressbar.OptionSetDescription("anchor-host: "+plain.Line(what)),
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
			_ = bar.Add(1) // a lost frame is no matter
		}
	}
}

// stop ends what start began.
func (p *progress) stop() {
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
