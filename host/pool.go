package host

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errBusy is the error of pool.get when no value came free in time.
var errBusy = errors.New("no free instance in time")

// pool lends at most max values of T, each to one borrower at a time. Whoever
// waits longest is served first. A borrower returns a value with put, or gives
// up its place with drop after it has closed the value itself: only the owner
// of a value ever closes it.
//
// When all values are lent, get has another one made and waits for whichever
// comes first. Making does not end with the borrower's context: a value that
// takes long to make serves the next one.
type pool[T any] struct {
	max   int
	make  func(context.Context) (T, error)
	close func(T)

	mu      sync.Mutex
	idle    []T // the last one returned is lent first: its memory is warm
	total   int // idle, lent and in the making
	waiters []chan turn[T]
	closed  bool
	// life ends the making of values when the pool is closed.
	life    context.Context
	end     context.CancelFunc
	drained chan struct{}
}

// turn is what a waiter receives: a value, or why there is none.
type turn[T any] struct {
	value T
	err   error
}

func newPool[T any](max int, make func(context.Context) (T, error), close func(T)) *pool[T] {
	p := &pool[T]{max: max, make: make, close: close, drained: newSignal()}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

func newSignal() chan struct{} { return make(chan struct{}) }

// first makes the first value, within ctx.
func (p *pool[T]) first(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	p.total++
	p.mu.Unlock()
	v, err := p.make(ctx)
	if err != nil {
		p.drop()
		return err
	}
	p.put(v)
	return nil
}

// get lends a value, waiting at most wait for one. Errors: errBusy, ErrClosed,
// the context's, and what make returns.
func (p *pool[T]) get(ctx context.Context, wait time.Duration) (T, error) {
	var none T
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return none, ErrClosed
	}
	if n := len(p.idle); n > 0 {
		v := p.idle[n-1]
		p.idle[n-1] = none
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return v, nil
	}
	ch := make(chan turn[T], 1)
	p.waiters = append(p.waiters, ch)
	p.grow()
	p.mu.Unlock()
	return p.await(ctx, ch, wait)
}

// await waits for the turn of ch.
func (p *pool[T]) await(ctx context.Context, ch chan turn[T], wait time.Duration) (T, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var t turn[T]
	select {
	case t = <-ch:
		return t.value, t.err
	case <-ctx.Done():
		t.err = ctx.Err()
	case <-timer.C:
		t.err = errBusy
	}
	if !p.forget(ch) { // the turn came at the same moment and must not be lost
		t = <-ch
	}
	return t.value, t.err
}

// forget removes a waiter and reports whether it was still waiting.
func (p *pool[T]) forget(ch chan turn[T]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range p.waiters {
		if w == ch {
			p.waiters = append(p.waiters[:i], p.waiters[i+1:]...)
			return true
		}
	}
	return false
}

// grow has a value made if there is room. p.mu is held.
func (p *pool[T]) grow() {
	if p.total >= p.max || p.closed {
		return
	}
	p.total++
	go func() {
		v, err := p.make(p.life)
		if err != nil {
			p.fail(err)
			return
		}
		p.put(v)
	}()
}

// fail tells the first waiter that no value could be made.
func (p *pool[T]) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiters) > 0 {
		p.shift() <- turn[T]{err: err}
	}
	p.leave()
}

// put returns a lent value in working order, or a new one.
func (p *pool[T]) put(v T) {
	p.mu.Lock()
	switch {
	case len(p.waiters) > 0:
		p.shift() <- turn[T]{value: v}
		p.mu.Unlock()
		return
	case !p.closed:
		p.idle = append(p.idle, v)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.close(v)
	p.drop()
}

// drop gives up the place of a value that its borrower has closed.
func (p *pool[T]) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave()
}

// leave gives up a place; whoever waits may have it. p.mu is held.
func (p *pool[T]) leave() {
	p.total--
	if len(p.waiters) > 0 {
		p.grow()
	}
	if p.closed && p.total == 0 {
		close(p.drained)
	}
}

// shift removes the first waiter; its channel has room for one turn.
func (p *pool[T]) shift() chan turn[T] {
	w := p.waiters[0]
	p.waiters = p.waiters[1:]
	return w
}

// counts returns how many values there are and how many of them are idle.
func (p *pool[T]) counts() (total, idle int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total, len(p.idle)
}

// shutdown turns new borrowers and waiters away, closes what is idle, and waits
// until the lent values are back or ctx ends. It may be called again.
func (p *pool[T]) shutdown(ctx context.Context) error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.end()
		for len(p.waiters) > 0 {
			p.shift() <- turn[T]{err: ErrClosed}
		}
		p.total -= len(p.idle)
		if p.total == 0 {
			close(p.drained)
		}
	}
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, v := range idle {
		p.close(v)
	}
	select {
	case <-p.drained:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
