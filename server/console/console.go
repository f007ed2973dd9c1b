package console

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"
)

// Console answers the requests below /console/. It is safe for concurrent use.
type Console struct {
	o        Options
	log      *slog.Logger
	pages    *pages
	sessions *sessions
	attempts *attempts
	history  *history
	docs     *docCache
	// streams and rebuilds bound what runs at the same time.
	streams, rebuilds, warming chan struct{}

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup
}

// Bounds of what runs at the same time.
const (
	maxStreams  = 16
	maxRebuilds = 1
)

// New returns a console, which reads figures in the background until Close.
func New(o Options) (*Console, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Activity == nil {
		o.Activity = &Activity{}
	}
	pages, err := newPages()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &Console{
		o: o, log: o.Logger, pages: pages, sessions: newSessions(time.Now), attempts: newAttempts(time.Now), history: &history{}, docs: &docCache{},
		streams: make(chan struct{}, maxStreams), rebuilds: make(chan struct{}, maxRebuilds), warming: make(chan struct{}, 1), ctx: ctx, stop: cancel,
	}
	c.history.add(time.Now(), o.Totals(), o.App.Status())
	c.running.Go(func() { c.sample(ctx) })
	return c, nil
}

// Close ends the work in the background.
func (c *Console) Close() {
	c.stop()
	c.running.Wait()
}

// sample reads the totals until ctx ends.
func (c *Console) sample(ctx context.Context) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case at := <-tick.C:
			c.history.add(at, c.o.Totals(), c.o.App.Status())
		}
	}
}
