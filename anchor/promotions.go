package anchor

import (
	"context"
	"errors"
	"sync"
	"time"
)

// promotions are the promotions of an App that are running: at most one for each conversation.
// Deletions of conversations also count as running, so that no promotion starts meanwhile.
type promotions struct {
	mu      sync.Mutex
	running map[promotionKey]*running
	failed  map[promotionKey]backoff
	stopped bool // no promotion starts after a build any more
}

// promotionKey names a conversation.
type promotionKey struct{ tenant, conversation string }

// running is one promotion. done is closed when it ends.
type running struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// backoff delays the promotions after builds, after one of them failed.
type backoff struct {
	failures int
	until    time.Time
}

// Bounds of the delay after failures, and of the number of conversations that are delayed.
const (
	minBackoff  = time.Minute
	maxBackoff  = time.Hour
	maxBackoffs = 1000
)

// errDeleted is the error of a promotion whose turns are being deleted.
var errDeleted = errors.New("anchor: turns of the conversation are being deleted (promote again)")

// try registers a promotion unless one is running, or the last one failed a short time ago. end
// ends the registration. It is nil if there is none.
func (p *promotions) try(ctx context.Context, key promotionKey) (_ context.Context, end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || p.running[key] != nil || time.Now().Before(p.failed[key].until) {
		return ctx, nil
	}
	return p.register(ctx, key)
}

// hold cancels the promotion of a conversation, waits for its end, and prevents others until end
// is called.
func (p *promotions) hold(ctx context.Context, key promotionKey) (end func(), err error) {
	_, end, err = p.enter(ctx, key, errDeleted)
	return end, err
}

// enter registers a promotion after the running one has ended. cause, if not nil, cancels it.
func (p *promotions) enter(ctx context.Context, key promotionKey, cause error) (_ context.Context, end func(), err error) {
	for {
		p.mu.Lock()
		r := p.running[key]
		if r == nil {
			ctx, end = p.register(ctx, key)
			p.mu.Unlock()
			return ctx, end, nil
		}
		p.mu.Unlock()
		if err := r.await(ctx, cause); err != nil {
			return ctx, nil, err
		}
	}
}

// register notes a promotion. The caller holds mu.
func (p *promotions) register(ctx context.Context, key promotionKey) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &running{cancel, make(chan struct{})}
	if p.running == nil {
		p.running = make(map[promotionKey]*running)
	}
	p.running[key] = r
	return ctx, func() {
		p.mu.Lock()
		delete(p.running, key)
		p.mu.Unlock()
		cancel(nil)
		close(r.done)
	}
}

// await waits for the end of a promotion. cause, if not nil, cancels it.
func (r *running) await(ctx context.Context, cause error) error {
	if cause != nil {
		r.cancel(cause)
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cancelTenant cancels the promotions of a tenant and waits for their end.
func (p *promotions) cancelTenant(ctx context.Context, tenant string) error {
	p.mu.Lock()
	var list []*running
	for key, r := range p.running {
		if key.tenant == tenant {
			r.cancel(errDeleted)
			list = append(list, r)
		}
	}
	p.mu.Unlock()
	for _, r := range list {
		if err := r.await(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// stop cancels all promotions, and lets no other start after a build.
func (p *promotions) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	for _, r := range p.running {
		r.cancel(errAppClosed)
	}
}

// note notes how a promotion ended. Each failure in a row doubles the delay of the next promotion.
func (p *promotions) note(key promotionKey, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		delete(p.failed, key)
		return
	}
	b, known := p.failed[key]
	if !known && len(p.failed) >= maxBackoffs {
		for other := range p.failed { // any: it is only tried earlier
			delete(p.failed, other)
			break
		}
	}
	if p.failed == nil {
		p.failed = make(map[promotionKey]backoff)
	}
	b.until = time.Now().Add(min(maxBackoff, minBackoff<<min(b.failures, 10)))
	b.failures++
	p.failed[key] = b
}
