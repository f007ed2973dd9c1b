package openjobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/server/jobs"
	"github.com/anchor-host/anchor-host/server/jobs/queue"
)

// Late is the [jobs.Queue] of a service, whose database may be there only after the service has begun.
type Late struct {
	make  func(ctx context.Context) (*queue.Queue, error)
	takes bool // jobs
	log   *slog.Logger

	turn  chan struct{} // of one caller, who has what follows
	queue *queue.Queue
	again time.Time // when a database without jobs, or that does not answer, is looked at again
	err   error     // until then
}

// lookAgain is how long a database that has no jobs, or does not answer, is not looked at again.
const lookAgain = 2 * time.Second

func late(log *slog.Logger, takes bool, open func(context.Context) (*queue.Queue, error)) *Late {
	return &Late{make: open, takes: takes, log: log, turn: make(chan struct{}, 1)}
}

// Shown returns the jobs of a configuration for a service that does none and takes none.
func Shown(loaded *config.Loaded, log *slog.Logger) *Late {
	return late(log, false, func(ctx context.Context) (*queue.Queue, error) {
		at, err := database(loaded)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", jobs.ErrNotFound, err) // without a place for a store there are none
		}
		return queue.Open(ctx, queue.Options{Database: at, Logger: log, Existing: true})
	})
}

// Done returns the jobs of a configuration for a service that does them.
func Done(loaded *config.Loaded, workers int, do *jobs.Worker, log *slog.Logger) *Late {
	return late(log, true, func(ctx context.Context) (*queue.Queue, error) { return Open(ctx, loaded, workers, do, log) })
}

// Open returns the queue, and opens it before if it can. The error is [jobs.ErrNotFound] if there are no jobs to show.
func (l *Late) Open(ctx context.Context) (*queue.Queue, error) {
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	defer l.next()
	if l.queue != nil {
		return l.queue, nil
	}
	if time.Now().Before(l.again) {
		return nil, l.err
	}
	q, err := l.make(ctx)
	if err != nil && ctx.Err() == nil { // others need not wait for the same answer
		l.again, l.err = time.Now().Add(lookAgain), err
	}
	l.queue = q
	return q, err
}

// wait waits for the turn of the caller.
func (l *Late) wait(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Late) next() { <-l.turn }

// Run starts the workers as soon as the database answers, or returns when ctx ends.
func (l *Late) Run(ctx context.Context) error {
	for said := false; ; {
		q, err := l.Open(ctx)
		if err == nil {
			if err = q.Start(ctx); err == nil { // the database may have gone since
				return nil
			}
		}
		if !said && ctx.Err() == nil {
			l.log.Warn("service begins without jobs: their workers start when the database answers", "error", err)
			said = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

// Submit implements [jobs.Queue].
func (l *Late) Submit(ctx context.Context, s jobs.Submission) (doc jobs.Doc, added bool, err error) {
	if !l.takes {
		return doc, false, fmt.Errorf("%w: this service only shows jobs", jobs.ErrInvalid)
	}
	q, err := l.Open(ctx)
	if err != nil {
		return doc, false, err
	}
	return q.Submit(ctx, s)
}

// List implements [jobs.Queue].
func (l *Late) List(ctx context.Context, f jobs.Filter) ([]jobs.Doc, error) {
	q, err := l.Open(ctx)
	if errors.Is(err, jobs.ErrNotFound) {
		return []jobs.Doc{}, nil
	}
	if err != nil {
		return nil, err
	}
	return q.List(ctx, f)
}

// Get implements [jobs.Queue].
func (l *Late) Get(ctx context.Context, tenant, id string) (doc jobs.Doc, err error) {
	q, err := l.Open(ctx)
	if err != nil {
		return doc, err
	}
	return q.Get(ctx, tenant, id)
}

// Cancel implements [jobs.Queue].
func (l *Late) Cancel(ctx context.Context, tenant, id string) (doc jobs.Doc, err error) {
	q, err := l.Open(ctx)
	if err != nil {
		return doc, err
	}
	return q.Cancel(ctx, tenant, id)
}

// Log implements [jobs.Queue].
func (l *Late) Log(ctx context.Context, tenant, id string) ([]byte, error) {
	q, err := l.Open(ctx)
	if err != nil {
		return nil, err
	}
	return q.Log(ctx, tenant, id)
}

// Results implements [jobs.Queue].
func (l *Late) Results(ctx context.Context, tenant, id string, from, limit int, each func(int, []byte) error) error {
	q, err := l.Open(ctx)
	if err != nil {
		return err
	}
	return q.Results(ctx, tenant, id, from, limit, each)
}

// Close gives back the jobs that run, and closes the database if it is open.
func (l *Late) Close(ctx context.Context) error {
	if err := l.wait(ctx); err != nil {
		return err
	}
	defer l.next()
	if l.queue == nil {
		return nil
	}
	return l.queue.Close(ctx)
}
