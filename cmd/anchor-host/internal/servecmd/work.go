package servecmd

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/openjobs"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/jobs"
	"github.com/anchor-host/anchor-host/store"
	"github.com/anchor-host/anchor-host/telemetry"
)

// work is the queue of jobs of the service. do is nil if the configuration has no workers: then it shows the jobs
// that others do.
type work struct {
	queue *openjobs.Late
	do    *jobs.Worker
	end   func() // of the wait for the database
}

// openWork opens the queue that the configuration asks for, for the server and for metrics. The service begins without
// a database that is away, as it does with its store.
func openWork(ctx context.Context, loaded *config.Loaded, app *anchor.App, o *server.Options, t *telemetry.Telemetry) (*work, error) {
	workers := loaded.Server.Jobs.Workers
	if workers == 0 {
		w := &work{queue: openjobs.Shown(loaded, o.Logger), end: func() {}}
		o.KeptJobs = w.queue
		return w, nil
	}
	w := &work{do: openjobs.Worker(loaded, app, nil), end: func() {}}
	w.queue = openjobs.Done(loaded, workers, w.do, o.Logger)
	if _, err := w.queue.Open(ctx); err != nil && !errors.Is(err, store.ErrBusy) {
		return nil, err
	}
	o.Jobs = w.queue
	err := t.WatchJobs(func(ctx context.Context, each func(kind, state string, jobs int64)) error {
		q, err := w.queue.Open(ctx)
		if err != nil {
			return err
		}
		list, err := q.Counts(ctx)
		for _, c := range list {
			each(c.Kind, c.State, c.Jobs)
		}
		return err
	})
	if err != nil {
		w.close(o.Logger)
	}
	return w, err
}

// start runs jobs, whose builds are among those of the server.
func (w *work) start(ctx context.Context, s *server.Server, log *slog.Logger) {
	if w.do == nil {
		return
	}
	w.do.Around = s.AroundBuild
	ctx, stop := context.WithCancel(ctx)
	var live sync.WaitGroup
	live.Go(func() {
		if err := w.queue.Run(ctx); err != nil && ctx.Err() == nil {
			log.Error("service: the workers of jobs do not start", "error", err)
		}
	})
	w.end = func() {
		stop()
		live.Wait()
	}
}

// close gives back the jobs that run.
func (w *work) close(log *slog.Logger) {
	w.end()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := w.queue.Close(ctx); err != nil {
		log.Warn("service ends: jobs are cut, and are begun again later", "error", err)
	}
}
