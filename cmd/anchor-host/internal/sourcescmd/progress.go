package sourcescmd

import (
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
)

// progressEvery is the time between progress lines where there is no terminal.
const progressEvery = 5 * time.Second

// progress shows how far an ingestion is: a bar with rate and remaining time on a terminal, lines
// elsewhere. Its methods are not called at the same time.
type progress struct {
	app     *cli.App
	now     func() time.Time
	started time.Time
	next    time.Time
	bar     *progressbar.ProgressBar
}

func newProgress(a *cli.App) *progress {
	now := time.Now()
	return &progress{app: a, now: time.Now, started: now, next: now.Add(progressEvery)}
}

func (p *progress) step(s ingest.Progress) {
	now := p.now()
	if p.app.Err.Terminal() {
		if p.bar == nil {
			if now.Sub(p.started) < time.Second { // a short run needs no bar
				return
			}
			p.bar = progressbar.NewOptions64(s.TotalBytes, progressbar.OptionSetWriter(p.app.Err), progressbar.OptionSetDescription("anchor-host: ingest"),
				progressbar.OptionShowBytes(true), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond),
				progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
		}
		_ = p.bar.Set64(s.Bytes) // a missed update does no harm
		return
	}
	if now.Before(p.next) || s.Files == s.TotalFiles {
		return
	}
	p.next = now.Add(progressEvery)
	rate := float64(s.Bytes) / now.Sub(p.started).Seconds()
	left := "-"
	if rate > 0 {
		left = time.Duration(float64(s.TotalBytes-s.Bytes) / rate * float64(time.Second)).Round(time.Second).String()
	}
	p.app.Say("ingest: %d of %d files, %s of %s, %.1f MB/s, %s left", s.Files, s.TotalFiles, size(s.Bytes), size(s.TotalBytes), rate/1e6, left)
}

// stop clears the bar.
func (p *progress) stop() {
	if p.bar != nil {
		_ = p.bar.Clear() // the next line overwrites the bar anyway
		p.bar = nil
	}
}

// sayOnce prints each failure of a file once, also with --watch.
func sayOnce(a *cli.App, p *progress, said map[string]string) func(*ingest.FileError) {
	return func(e *ingest.FileError) {
		if said[e.Path] == e.Err.Error() {
			return
		}
		said[e.Path] = e.Err.Error()
		p.stop()
		a.Say("%v", e)
	}
}
