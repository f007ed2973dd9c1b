package conversation

import (
	"context"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/internal/pause"
)

// The pause after a compactor has failed: the first, and the longest. Each failure in a row
// doubles it.
const (
	MinCompactPause = pause.First
	MaxCompactPause = pause.Longest
)

// Compactions coordinates the compactions of many conversations: each conversation has at most
// one at a time, and a pause after a failure. Windows of one conversation that are made anew for
// each build share it, so that they do not call the compactor at the same time. The zero value
// works. Compactions are safe for concurrent use.
type Compactions struct {
	mu      sync.Mutex
	running map[string]*compactionRun
	pauses  pause.Pauses
	closed  bool
}

// compactionRun is a compaction that runs. done is closed when it has ended.
type compactionRun struct {
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
}

// start says whether a compaction may begin.
type start int

const (
	begins  start = iota
	running       // another one runs
	rests         // the last one failed a short time ago, or no more may begin
)

// begin registers a compaction of a conversation.
func (c *Compactions) begin(ctx context.Context, name string, now time.Time) (*compactionRun, start) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left, _ := c.pauses.Left(name, now)
	switch {
	case c.running[name] != nil:
		return nil, running
	case c.closed || left > 0:
		return nil, rests
	}
	r := &compactionRun{done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(ctx)
	if c.running == nil {
		c.running = make(map[string]*compactionRun)
	}
	c.running[name] = r
	return r, begins
}

// end ends the registration of a compaction. A compaction that was cancelled says nothing about
// the compactor.
func (c *Compactions) end(r *compactionRun, name string, failed bool, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.ctx.Err() == nil {
		c.pauses.Note(name, failed, now)
	}
	r.cancel()
	delete(c.running, name)
	close(r.done)
}

// Cancel cancels the compactions of the conversations whose names are selected, and waits for
// their end, which comes soon. The conversations stay as they were.
func (c *Compactions) Cancel(selected func(name string) bool) {
	c.mu.Lock()
	var list []*compactionRun
	for name, r := range c.running {
		if selected(name) {
			r.cancel()
			list = append(list, r)
		}
	}
	c.mu.Unlock()
	for _, r := range list {
		<-r.done
	}
}

// Wait waits until no compaction runs. The error is that of ctx.
func (c *Compactions) Wait(ctx context.Context) error {
	for {
		c.mu.Lock()
		var r *compactionRun
		for _, r = range c.running {
			break
		}
		c.mu.Unlock()
		if r == nil {
			return nil
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close lets no compaction begin any more, and waits for those that run. When ctx ends, it
// cancels them: their conversations stay as they were. The error is that of ctx.
func (c *Compactions) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	err := c.Wait(ctx)
	if err != nil {
		c.Cancel(func(string) bool { return true })
	}
	return err
}

// compaction is one compaction of a conversation, from the moment when its turns are chosen
// until the conversation has its result.
type compaction struct {
	turns    []pipeline.Turn // by number
	numbers  map[int64]bool  // of turns
	previous string          // the summary so far
	run      *compactionRun
	ended    func() // see SlidingWindowConfig.OnCompact
	done     chan struct{}
}

// has reports whether a compaction condenses the turn with a number. A nil compaction
// condenses none.
func (c *compaction) has(number int64) bool { return c != nil && c.numbers[number] }

// wait waits until a compaction has ended. The error is that of ctx.
func (c *compaction) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
