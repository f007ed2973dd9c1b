package sourcescmd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

const (
	// watchRest is how many times as long --watch rests as it looks: a large folder is not looked at
	// all the time.
	watchRest = 10
	// longestRest bounds the pause after an error, which doubles while the error stays.
	longestRest = 5 * time.Minute
	// pagesRest is how long pages are not asked for again. Their servers are not ours.
	pagesRest = 10 * time.Minute
)

// watch is a run of --watch.
type watch struct {
	app     *cli.App
	name    string // of the collection
	ingest  func([]ingest.Source) (ingest.Report, error)
	files   []ingest.Source
	pages   []ingest.Source
	every   time.Duration // between looks at files
	pagesIn time.Duration // between questions for pages

	asked   time.Time     // when pages were asked for
	first   bool          // nothing was said yet
	problem string        // the error that was said last
	rest    time.Duration // after the error
}

// repeat ingests again and again until the user interrupts.
func (f *ingestFlags) repeat(a *cli.App, cmd *cobra.Command, app *anchor.App, sources []ingest.Source) error {
	e, err := embedderOf(app, f.embedder)
	if err != nil {
		return err
	}
	said := map[string]string{}
	w := &watch{app: a, name: f.collection, every: f.interval, pagesIn: max(f.interval, pagesRest), first: true}
	w.ingest = func(sources []ingest.Source) (ingest.Report, error) {
		p := newProgress(a)
		defer p.stop()
		return app.Ingest(cmd.Context(), sources, f.options(a, e, p, said))
	}
	for _, s := range sources {
		if strings.HasPrefix(s.Path, "http://") || strings.HasPrefix(s.Path, "https://") {
			w.pages = append(w.pages, s)
		} else {
			w.files = append(w.files, s)
		}
	}
	for {
		rest, err := w.look()
		if err != nil && cmd.Context().Err() == nil {
			return err
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-time.After(rest):
		}
	}
}

// look ingests once, and returns how long to rest. The error is one that does not go away by itself.
func (w *watch) look() (rest time.Duration, err error) {
	began := time.Now()
	sources, due := w.files, began.Sub(w.asked) >= w.pagesIn
	if due {
		sources = slices.Concat(w.files, w.pages)
	}
	if len(sources) == 0 {
		return w.pagesIn - began.Sub(w.asked), nil
	}
	report, err := w.ingest(sources)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, retrieve.ErrInvalid), errors.Is(err, retrieve.ErrExists), errors.Is(err, retrieve.ErrModel):
		return 0, err
	case err != nil:
		w.rest = min(longestRest, max(2*w.rest, w.every, time.Second))
		if text := err.Error(); text != w.problem {
			w.problem = text
			w.app.Say("%s; --watch tries again, in %v and then less often", text, w.rest.Round(time.Second))
		}
		return w.rest, nil
	}
	if due {
		w.asked = began
	}
	if w.first || w.problem != "" || report.Added+report.Changed+report.Removed > 0 {
		w.app.Say("%s: %d files, %d added, %d changed, %d removed, %d failed; watching", cli.OneCell(w.name), report.Files, report.Added, report.Changed, report.Removed, report.Failed)
	}
	w.first, w.problem, w.rest = false, "", 0
	return max(w.every, watchRest*time.Since(began)), nil
}
