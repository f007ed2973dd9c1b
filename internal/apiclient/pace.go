package apiclient

import (
	"context"
	"sync"
	"time"
)

// pace bounds how many requests begin in a second.
type pace struct {
	interval time.Duration

	mu   sync.Mutex
	next time.Time // when the next request may begin
	held time.Time // before which none may begin, because the server asks for that
}

// wait waits until a request may begin. It does not begin to wait for longer than ctx lasts.
func (p *pace) wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.mu.Lock()
	at := time.Now()
	for _, not := range []time.Time{p.next, p.held} {
		if not.After(at) {
			at = not
		}
	}
	if until, ok := ctx.Deadline(); ok && at.After(until) {
		p.mu.Unlock()
		return &Error{Kind: Unavailable, text: "its next request may begin only after the time for this one (raise rate, or wait as long as the server asks)"}
	}
	if p.interval > 0 {
		p.next = at.Add(p.interval)
	}
	p.mu.Unlock()
	if sleep(ctx, time.Until(at)) != nil {
		p.mu.Lock()
		p.next = p.next.Add(-p.interval) // its turn is for the next one who asks
		p.mu.Unlock()
		return context.Cause(ctx)
	}
	return nil
}

// hold lets no request begin for a while.
func (p *pace) hold(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(d); until.After(p.held) {
		p.held = until
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
