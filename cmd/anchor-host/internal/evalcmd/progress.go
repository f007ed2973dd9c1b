package evalcmd

import (
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
)

// progressEvery is the time between progress lines where there is no terminal.
const progressEvery = 5 * time.Second

// evalProgress shows the progress of the builds of one configuration: a bar on a terminal, lines
// of text elsewhere. Its methods are not safe for concurrent use.
type evalProgress struct {
	app  *cli.App
	what string
	now  func() time.Time
	next time.Time
	bar  *progressbar.ProgressBar
}

func newEvalProgress(a *cli.App, what string) *evalProgress {
	return &evalProgress{app: a, what: cli.OneCell(what), now: time.Now, next: time.Now().Add(progressEvery)}
}

// step updates the display after each build. A total below 0 is not known.
func (p *evalProgress) step(done, total int) {
	if p.app.Err.Terminal() {
		if p.bar == nil {
			p.bar = progressbar.NewOptions(total,
				progressbar.OptionSetWriter(p.app.Err.Drawing()), progressbar.OptionSetDescription("anchor-host: "+p.what),
				progressbar.OptionShowCount(), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond),
				progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
		}
		_ = p.bar.Set(done) // a missed update does no harm
		return
	}
	now := p.now()
	switch {
	case now.Before(p.next) || done == total:
		return
	case total < 0:
		p.app.Say("%s: %d rankings measured …", p.what, done)
	default:
		p.app.Say("%s: %d of %d queries …", p.what, done, total)
	}
	p.next = now.Add(progressEvery)
}

// stop clears the bar.
func (p *evalProgress) stop() {
	if p.bar != nil {
		_ = p.bar.Clear() // the next line overwrites the bar anyway
	}
}
