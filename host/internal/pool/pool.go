package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// The errors of a pool.
var (
	// ErrBusy says that no value came free in time.
	ErrBusy = errors.New("no free instance in time")
	// ErrClosed says that the pool is closed.
	ErrClosed = errors.New("closed")
	// ErrNoRoom is what Make returns, wrapped, where a value cannot be made because others
	// hold the room for it. A pool that has other values waits for these then.
	ErrNoRoom = errors.New("no room")
)

// Options say how a [Pool] makes its values and how many it keeps.
type Options[T any] struct {
	// Max is how many values there may be, at least 1. Min of them are made ahead and kept,
	// also while nobody asks for them.
	Max, Min int
	// Make makes a value, Close closes one.
	Make  func(context.Context) (T, error)
	Close func(T)
	// Clean makes a used value as good as new and reports whether it could. nil: values
	// need no cleaning.
	Clean func(T) bool
	// Quick reports whether cleaning a value takes less time than handing it to the
	// cleaner. nil: never.
	Quick func(T) bool
	// Stamp is when a value was last used. Of the idle values that must go, the one that
	// was used longest ago goes first. nil: no value is ever given up for others.
	Stamp func(T) time.Duration
}

// Pool lends at most Options.Max values of T, each to one borrower at a time. The value that came
// back last is lent first. Waiting borrowers are served in the order in which they came.
// A borrower owns its value until it returns it with Put or GiveBack, or gives it up
// with Discard. Only the owner of a value closes it.
//
// When all values are lent, get has another one made and waits for whichever comes first.
// Making does not end with the borrower's context: a value that takes long to make serves
// the next borrower.
//
// Where values must be cleaned between borrowers, Options.Clean is set and they come back
// with GiveBack. A cleaner cleans them while other values serve. A borrower that finds only
// used values cleans one itself. Where cleaning is quick, a borrower does it on return. A
// value that cannot be cleaned is closed and replaced. Such a pool keeps one value more
// than are lent at a time, up to max, so that a borrower need not wait for the cleaner.
type Pool[T comparable] struct {
	max, min int
	make     func(context.Context) (T, error)
	close    func(T)
	clean    func(T) bool
	quick    func(T) bool
	stamp    func(T) time.Duration

	mu       sync.Mutex
	idle     []T // clean; the last one is lent first
	used     []T // wait for the cleaner
	cleaning bool
	total    int // all values: idle, used, lent, being cleaned, being made and being closed
	making   int // being made
	lent     int // owned by borrowers
	owed     int // to be closed when they come back, as others need the room
	leaving  int // being closed
	waiters  []chan turn[T]
	failed   error // why the last value could not be made, nil if it was made
	closed   bool
	// life ends the making of values when the pool is closed.
	life    context.Context
	end     context.CancelFunc
	drained chan struct{}
}

// turn is what a waiter gets: a value, which it must clean if it is used, or an error.
type turn[T any] struct {
	value T
	used  bool
	err   error
}

// New returns a pool, which has no values yet.
func New[T comparable](o Options[T]) *Pool[T] {
	p := &Pool[T]{max: o.Max, min: o.Min, make: o.Make, close: o.Close, clean: o.Clean, quick: o.Quick, stamp: o.Stamp,
		drained: make(chan struct{})}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// Life ends when the pool is shut down.
func (p *Pool[T]) Life() context.Context { return p.life }

// First makes the first value within ctx and passes it to see, before any other value is
// made.
func (p *Pool[T]) First(ctx context.Context, see func(T) error) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	p.total++
	p.mu.Unlock()
	seen := false
	defer func() {
		if !seen { // also after a panic: else shutdown would wait for the value
			p.mu.Lock()
			p.abandon()
			p.mu.Unlock()
		}
	}()
	v, err := p.make(ctx)
	if err != nil {
		return err
	}
	if err := see(v); err != nil {
		p.close(v)
		return err
	}
	seen = true
	p.add(v)
	p.mu.Lock()
	defer p.mu.Unlock()
	for range p.min {
		p.grow()
	}
	return nil
}

// Get lends a value and waits at most wait for one. It returns ErrBusy, which may wrap why
// no other value could be made, ErrClosed, the error of the context, or that of make.
func (p *Pool[T]) Get(ctx context.Context, wait time.Duration) (T, error) {
	var none T
	var deadline time.Time // set by the first wait: mostly there is none
	for {
		p.mu.Lock()
		t, ch := p.take()
		p.mu.Unlock()
		if ch != nil {
			if deadline.IsZero() {
				deadline = time.Now().Add(wait)
			}
			t = p.await(ctx, ch, time.Until(deadline))
		}
		switch {
		case t.err != nil:
			return none, t.err
		case !t.used || p.clean(t.value):
			return t.value, nil
		}
		p.Discard(t.value)
	}
}

// take lends a value if there is one. If not, it returns the channel on which the borrower
// waits for its turn. p.mu is held.
func (p *Pool[T]) take() (turn[T], chan turn[T]) {
	if p.closed {
		return turn[T]{err: ErrClosed}, nil
	}
	t, ch := turn[T]{}, chan turn[T](nil)
	switch {
	case len(p.idle) > 0:
		t.value, p.idle = pop(p.idle)
		p.lent++
		return t, nil
	case len(p.used) > 0:
		t.value, p.used = pop(p.used)
		t.used = true
		p.lent++
	default:
		ch = make(chan turn[T], 1)
		p.waiters = append(p.waiters, ch)
	}
	p.grow()
	return t, ch
}

// pop removes the last value.
func pop[T any](s []T) (T, []T) {
	var none T
	last := len(s) - 1
	v := s[last]
	s[last] = none
	return v, s[:last]
}

// await waits for the turn that comes on ch.
func (p *Pool[T]) await(ctx context.Context, ch chan turn[T], wait time.Duration) turn[T] {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var t turn[T]
	select {
	case t = <-ch:
		return t
	case <-ctx.Done():
		t.err = ctx.Err()
	case <-timer.C:
		t.err = p.busy()
	}
	if !p.forget(ch) { // the turn came at the same moment, and its value must not be lost
		t = <-ch
	}
	return t
}

// busy is the error of a borrower for whom no value came free in time.
func (p *Pool[T]) busy() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil || p.making > 0 || p.total >= p.max {
		return ErrBusy
	}
	return fmt.Errorf("%w: %w", ErrBusy, p.failed)
}

// forget removes a waiter and reports whether it was still waiting.
func (p *Pool[T]) forget(ch chan turn[T]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.waiters, ch)
	if i < 0 {
		return false
	}
	p.waiters = slices.Delete(p.waiters, i, i+1)
	return true
}

// grow has a value made if the pool wants more and may have more. It wants one for each
// borrower and waiter, and a spare one where values must be cleaned. p.mu is held.
func (p *Pool[T]) grow() {
	wanted := p.lent + len(p.waiters)
	if p.clean != nil {
		wanted++
	}
	if p.total >= min(p.max, max(wanted, p.min)) || p.closed {
		return
	}
	p.total++
	p.making++
	go func() {
		v, err := p.make(p.life)
		p.mu.Lock()
		p.making--
		p.failed = err
		p.mu.Unlock()
		if err != nil {
			p.fail(err)
			return
		}
		p.add(v)
	}()
}

// fail gives up the place of a value that could not be made. The first waiter gets the
// error, except in three cases: values are being made for all waiters; a value that is
// lent or being cleaned will come back; or the host has no room and any value is left, for
// which the waiters can wait.
func (p *Pool[T]) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	coming := p.total - 1
	p.abandon()
	if coming > p.making || len(p.waiters) <= coming || coming > 0 && errors.Is(err, ErrNoRoom) {
		return
	}
	p.shift() <- turn[T]{err: err}
	if len(p.waiters) > 0 {
		p.grow()
	}
}

// Put returns a lent value that is clean.
func (p *Pool[T]) Put(v T) { p.accept(turn[T]{value: v}, 1) }

// add takes in a clean value that no borrower owned.
func (p *Pool[T]) add(v T) { p.accept(turn[T]{value: v}, 0) }

// GiveBack returns a lent value that must be cleaned before it is lent again.
func (p *Pool[T]) GiveBack(v T) {
	switch {
	case p.quick == nil || !p.quick(v):
		p.accept(turn[T]{value: v, used: true}, 1)
	case p.clean(v):
		p.Put(v)
	default:
		p.Discard(v)
	}
}

// accept lends a value to the first waiter, keeps it, or closes it where the pool is closed
// or owes one. returned is how many values are lent no longer.
func (p *Pool[T]) accept(t turn[T], returned int) {
	p.mu.Lock()
	p.lent -= returned
	leaves := p.closed || p.due()
	switch {
	case leaves:
		p.leaving++
	case len(p.waiters) > 0:
		p.lent++
		p.shift() <- t
	case !t.used:
		p.idle = append(p.idle, t.value)
	default:
		p.used = append(p.used, t.value)
		if !p.cleaning {
			p.cleaning = true
			go p.cleanUp()
		}
	}
	p.mu.Unlock()
	if leaves {
		p.retire(t.value)
	}
}

// cleanUp cleans used values until there are none.
func (p *Pool[T]) cleanUp() {
	for {
		p.mu.Lock()
		if len(p.used) == 0 {
			p.cleaning = false
			p.mu.Unlock()
			return
		}
		v := p.used[0]
		p.used = slices.Delete(p.used, 0, 1)
		p.mu.Unlock()
		if p.clean(v) {
			p.add(v)
			continue
		}
		p.close(v)
		p.vacate(0)
	}
}

// Discard closes a lent value that cannot be cleaned.
func (p *Pool[T]) Discard(v T) {
	p.close(v)
	p.drop()
}

// drop gives up the place of a lent value that its borrower has closed.
func (p *Pool[T]) drop() { p.vacate(1) }

// vacate gives up the place of a closed value, of which returned says how many were lent.
// It has another value made for whoever waits, for the next borrower where values must be
// clean, and where the pool has fewer than min.
func (p *Pool[T]) vacate(returned int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lent -= returned
	p.abandon()
	if len(p.waiters) > 0 || p.clean != nil && len(p.idle) == 0 || p.total < p.min {
		p.grow()
	}
}

// abandon gives up a place without having another value made. p.mu is held.
func (p *Pool[T]) abandon() {
	p.total--
	if p.closed && p.total == 0 {
		close(p.drained)
	}
}

// shift removes the first waiter; its channel has room for one turn.
func (p *Pool[T]) shift() chan turn[T] {
	w := p.waiters[0]
	p.waiters = p.waiters[1:]
	return w
}

// Exhausted reports whether all values there may be are lent.
func (p *Pool[T]) Exhausted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lent >= p.max
}

// Counts returns how many values there are and how many of them are idle.
func (p *Pool[T]) Counts() (total, idle int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total, len(p.idle)
}

// Figures returns how many values borrowers have, how many there are beside those, and how
// many borrowers wait.
func (p *Pool[T]) Figures() (lent, idle, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lent, max(0, p.total-p.making-p.leaving-p.lent), len(p.waiters)
}

// Visit calls see for each idle value, while nobody can borrow one. It reports whether all
// values were idle, or the pool is closed and none will be idle again.
func (p *Pool[T]) Visit(see func(T)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range p.idle {
		see(v)
	}
	return p.closed || len(p.idle) == p.total
}

// Shutdown refuses all borrowers, closes the values that nobody owns, and waits until the
// lent ones are back or ctx ends. It may be called again.
func (p *Pool[T]) Shutdown(ctx context.Context) error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.end()
		for len(p.waiters) > 0 {
			p.shift() <- turn[T]{err: ErrClosed}
		}
		if p.total == 0 {
			close(p.drained)
		}
	}
	rest := append(p.idle, p.used...)
	p.idle, p.used = nil, nil
	p.mu.Unlock()
	for _, v := range rest {
		p.close(v)
		p.vacate(0)
	}
	return WaitFor(ctx, p.drained)
}

// WaitFor waits for a signal until ctx ends. A signal that is there counts even if ctx has
// ended.
func WaitFor(ctx context.Context, signal <-chan struct{}) error {
	select {
	case <-signal:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-signal:
		return nil
	default:
		return ctx.Err()
	}
}
