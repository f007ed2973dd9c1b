package conformance

import (
	"context"
	"sync"
	"time"
)

// beside runs cases that take long beside the others: on a second goroutine, with guests of its
// own. What that one has not begun when the others are done, finish does.
type beside struct {
	s     *session
	queue chan *task
	tasks []*task // all of them
	start sync.Once
	done  chan struct{} // closed when the goroutine has ended; nil before it has begun
}

// task is a case that was put off, and what came of it.
type task struct {
	c *Case
	p probe
	// at is its place in the results of the report.
	at      int
	outcome outcome
	took    time.Duration
	// last is the request that it sent last.
	last *attempt
}

func newBeside(s *session) *beside {
	return &beside{s: s, queue: make(chan *task, 2*len(s.d.Operations)*len(s.cases))}
}

// takes reports whether a case is to be put off.
func (b *beside) takes(p *probe, c *Case) bool {
	return b != nil && c.long && !p.useless() && !p.moot(c)
}

// add puts a case off. Its place in the report is reserved.
func (b *beside) add(ctx context.Context, p *probe, c *Case) {
	t := &task{c: c, p: *p, at: len(b.s.report.Results)}
	b.s.report.Results = append(b.s.report.Results, Result{})
	b.tasks = append(b.tasks, t)
	b.queue <- t // it has room for all
	b.start.Do(func() {
		b.done = make(chan struct{})
		go b.work(ctx)
	})
}

// work runs cases as they come. If it gets no guest, it leaves them all to finish.
func (b *beside) work(ctx context.Context) {
	defer close(b.done)
	guest, err := b.s.t.Load(ctx, LoadOptions{Settings: b.s.o.Init})
	if err != nil {
		return
	}
	defer guest.Close(context.WithoutCancel(ctx))
	for t := range b.queue {
		t.run(ctx, guest, b.s.subject)
	}
}

// finish runs what is left with a guest, waits for the rest, and reports all.
func (b *beside) finish(ctx context.Context, guest Guest) {
	if b == nil {
		return
	}
	close(b.queue)
	for t := range b.queue {
		t.run(ctx, guest, b.s.subject)
	}
	if b.done != nil {
		<-b.done
	}
	if ctx.Err() != nil { // what came of them says nothing
		return
	}
	for _, t := range b.tasks {
		b.s.last = t.last
		b.s.report.put(t.at, b.s.explained(b.s.result(t.c.ID, t.p.op.Operation, t.p.lane, t.took, t.outcome)))
	}
}

// run runs the case. It shares nothing with other cases but what nobody changes.
func (t *task) run(ctx context.Context, guest Guest, s *subject) {
	p := t.p
	p.guest, p.kept = guest, nil
	p.s = &subject{t: s.t, d: s.d, o: s.o, report: &Report{}}
	began := time.Now()
	t.outcome = p.run(t.c)
	t.took, t.last = time.Since(began), p.s.last
	if p.kept != nil {
		_ = p.kept.Close(context.WithoutCancel(ctx)) // its error says nothing about the guest
	}
}
