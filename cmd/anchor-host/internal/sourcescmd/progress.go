package sourcescmd

import (
	"fmt"
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
	total   int64 // of the bar
}

func newProgress(a *cli.App) *progress {
	now := time.Now()
	return &progress{app: a, now: time.Now, started: now, next: now.Add(progressEvery)}
}

func (p *progress) step(s ingest.Progress) {
	if p.app.Err.Terminal() {
		p.draw(s)
		return
	}
	now := p.now()
	if now.Before(p.next) || s.Files == s.TotalFiles {
		return
	}
	p.next = now.Add(progressEvery)
	p.app.Say("%s", line(s, now.Sub(p.started)))
}

// line says how far a run is. The size of pages and of stdin is not known before they are read: then
// the files count.
func line(s ingest.Progress, took time.Duration) string {
	read, done := size(s.Bytes), float64(s.Files)/float64(s.TotalFiles)
	if sized(s) {
		read, done = fmt.Sprintf("%s of %s", read, size(s.TotalBytes)), float64(s.Bytes)/float64(s.TotalBytes)
	}
	left := "-"
	if done > 0 {
		left = time.Duration(float64(took) * (1 - done) / done).Round(time.Second).String()
	}
	return fmt.Sprintf("ingest: %d of %d files, %s, %s, %s left", s.Files, s.TotalFiles, read, rate(s.Bytes, s.Files, took.Seconds()), left)
}

// rate says how fast files are read, in files where the bytes are few.
func rate(bytes int64, files int, seconds float64) string {
	if mb := float64(bytes) / 1e6 / seconds; mb >= 0.1 {
		return fmt.Sprintf("%.1f MB/s", mb)
	}
	return fmt.Sprintf("%.1f files/s", float64(files)/seconds)
}

func sized(s ingest.Progress) bool { return s.TotalBytes > 0 && s.Bytes <= s.TotalBytes }

// draw draws a bar.
func (p *progress) draw(s ingest.Progress) {
	total, at := s.TotalBytes, s.Bytes
	switch {
	case sized(s):
	case s.TotalFiles > 1:
		total, at = int64(s.TotalFiles), int64(s.Files)
	default:
		total = -1 // only the rate is known
	}
	if p.bar == nil || p.total != total {
		p.stop()
		p.total = total
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(late{p}), progressbar.OptionSetDescription("anchor-host: ingest"),
			progressbar.OptionShowBytes(at == s.Bytes), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
	}
	_ = p.bar.Set64(at) // a missed update does no harm
}

// late shows a bar after a second: a short run needs none.
type late struct{ p *progress }

func (l late) Write(b []byte) (int, error) {
	if l.p.now().Sub(l.p.started) < time.Second {
		return len(b), nil
	}
	return l.p.app.Err.Drawing().Write(b)
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
