package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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
//
// What a borrower puts back stays with its processor, which lends it again without
// taking the lock, unless somebody waits for a value.
//
// Where values must be cleaned between borrowers, they come back with giveBack.
// A cleaner does that while other values serve; a borrower that finds only used
// values cleans one itself. Where that is quick, borrowers clean what they bring
// back. What cannot be cleaned is closed and replaced. Such a pool keeps one value
// more than are lent at a time, up to max, so that a borrower need not wait for the
// cleaner.
type pool[T comparable] struct {
	max int
	// min values are made ahead and kept, also while nobody asks for them.
	min   int
	make  func(context.Context) (T, error)
	close func(T)
	// clean makes a used value as good as new and reports whether it could.
	clean func(T) bool
	// quick reports whether cleaning a value takes so little that handing it to
	// the cleaner would cost more. nil: never.
	quick func(T) bool
	// stamp is when a value was used last, to give back those that were not for longest.
	stamp func(T) time.Duration

	// near holds what processors put back, to be lent to them again. Such values count
	// as lent.
	near shelves[T]
	// pressed says that a borrower waits or looks for a value, that the pool owes one, or
	// that it is closed: then nothing is left on a shelf.
	pressed atomic.Bool

	_        [128]byte // what is above is in the caches of all processors
	mu       sync.Mutex
	idle     []T // the last one returned is lent first
	used     []T // to be cleaned
	cleaning bool
	total    int // idle, used, lent, being cleaned and in the making
	making   int // in the making
	lent     int // to borrowers, or near
	owed     int // to be closed as they come back, as others need the room
	leaving  int // being closed for others
	waiters  []chan turn[T]
	failed   error // why the last value could not be made, nil if it could
	closed   bool
	// life ends the making of values when the pool is closed.
	life    context.Context
	end     context.CancelFunc
	drained chan struct{}
}

// turn is what a waiter receives: a value, which may have to be cleaned, or why
// there is none.
type turn[T any] struct {
	value T
	used  bool
	err   error
}

func newPool[T comparable](max int, make func(context.Context) (T, error), close func(T)) *pool[T] {
	p := &pool[T]{max: max, make: make, close: close, near: newShelves[T](max), drained: newSignal()}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

func newSignal() chan struct{} { return make(chan struct{}) }

// first makes the first value, within ctx, and shows it to see before anything
// else is made.
func (p *pool[T]) first(ctx context.Context, see func(T) error) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	p.total++
	p.mu.Unlock()
	seen := false
	defer func() {
		if !seen { // also after a panic, or nobody could close the pool
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
	p.ready(v)
	p.mu.Lock()
	defer p.mu.Unlock()
	for range p.min {
		p.grow()
	}
	return nil
}

// get lends a value, waiting at most wait for one. Errors: errBusy, also with why no
// other value could be made, ErrClosed, the context's, and what make returns.
func (p *pool[T]) get(ctx context.Context, wait time.Duration) (T, error) {
	var none T
	var deadline time.Time // set by the first wait: most values are there
	for {
		if !p.pressed.Load() {
			if v, ok := p.near.take(); ok {
				return v, nil
			}
		}
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
		p.discard(t.value)
	}
}

// take lends a value that is there, or makes the borrower a waiter. p.mu is held.
func (p *pool[T]) take() (turn[T], chan turn[T]) {
	if p.closed {
		return turn[T]{err: ErrClosed}, nil
	}
	t := turn[T]{}
	if len(p.idle) > 0 {
		t.value, p.idle = pop(p.idle)
		p.lent++
		return t, nil
	}
	// Set before the shelves are searched: what is put on one later is taken back.
	p.pressed.Store(true)
	defer p.press()
	if v, ok := p.near.takeAny(); ok {
		t.value = v
		return t, nil
	}
	if len(p.used) > 0 {
		t.value, p.used = pop(p.used)
		t.used = true
		p.lent++
		p.grow()
		return t, nil
	}
	ch := make(chan turn[T], 1)
	p.waiters = append(p.waiters, ch)
	p.grow()
	return t, ch
}

// press notes whether anybody is in need of values. p.mu is held.
func (p *pool[T]) press() { p.pressed.Store(p.closed || p.owed > 0 || len(p.waiters) > 0) }

// pop removes the last value.
func pop[T any](s []T) (T, []T) {
	var none T
	last := len(s) - 1
	v := s[last]
	s[last] = none
	return v, s[:last]
}

// await waits for the turn of ch.
func (p *pool[T]) await(ctx context.Context, ch chan turn[T], wait time.Duration) turn[T] {
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
	if !p.forget(ch) { // the turn came at the same moment and must not be lost
		t = <-ch
	}
	return t
}

// busy is the error of a borrower for whom no value came free in time.
func (p *pool[T]) busy() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil || p.making > 0 || p.total >= p.max {
		return errBusy
	}
	return fmt.Errorf("%w: %w", errBusy, p.failed)
}

// forget removes a waiter and reports whether it was still waiting.
func (p *pool[T]) forget(ch chan turn[T]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range p.waiters {
		if w == ch {
			p.waiters = append(p.waiters[:i], p.waiters[i+1:]...)
			p.press()
			return true
		}
	}
	return false
}

// grow has a value made if there is room and demand: a value for each borrower
// and waiter, and a spare one where values must be cleaned. p.mu is held.
func (p *pool[T]) grow() {
	wanted := p.out() + len(p.waiters)
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
		p.ready(v)
	}()
}

// fail tells the first waiter that no value could be made, unless there are
// values on the way for all who wait, or others that will come back, lent ones or such as
// are being cleaned: then none is made before one of those has. Where room is all that was
// missing, one that is on the way does for all.
func (p *pool[T]) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	coming := p.total - 1
	p.abandon()
	if coming > p.making || len(p.waiters) <= coming || coming > 0 && errors.Is(err, errNoRoom) {
		return
	}
	p.shift() <- turn[T]{err: err}
	if len(p.waiters) > 0 {
		p.grow()
	}
}

// put returns a lent value in working order.
func (p *pool[T]) put(v T) {
	if p.pressed.Load() {
		p.offer(v, 1)
		return
	}
	at := p.near.put(v)
	if at == nil {
		p.offer(v, 1)
		return
	}
	if p.pressed.Load() { // by a borrower that may have looked before
		if v, ok := at.take(); ok {
			p.offer(v, 1)
		}
	}
}

// ready gives a clean value that is not lent to the first waiter, or keeps it.
func (p *pool[T]) ready(v T) { p.offer(v, 0) }

// offer is ready for a value, and takes note of how many are lent no more.
func (p *pool[T]) offer(v T, returned int) {
	p.mu.Lock()
	p.lent -= returned
	switch {
	case p.due():
		p.mu.Unlock()
		p.retire(v)
		return
	case len(p.waiters) > 0:
		p.lend(turn[T]{value: v})
		p.mu.Unlock()
		return
	case !p.closed:
		p.idle = append(p.idle, v)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.close(v)
	p.vacate()
}

// lend gives a value to the first waiter. p.mu is held.
func (p *pool[T]) lend(t turn[T]) {
	p.lent++
	p.shift() <- t
}

// giveBack returns a lent value that must be cleaned before it is lent again.
func (p *pool[T]) giveBack(v T) {
	if p.quick != nil && p.quick(v) {
		if p.clean(v) {
			p.put(v)
		} else {
			p.discard(v)
		}
		return
	}
	p.mu.Lock()
	p.lent--
	switch {
	case p.closed:
		p.mu.Unlock()
		p.close(v)
		p.vacate()
		return
	case p.due():
		p.mu.Unlock()
		p.retire(v)
		return
	case len(p.waiters) > 0:
		p.lend(turn[T]{value: v, used: true})
	default:
		p.used = append(p.used, v)
		if !p.cleaning {
			p.cleaning = true
			go p.cleanUp()
		}
	}
	p.mu.Unlock()
}

// cleanUp cleans used values until there are none.
func (p *pool[T]) cleanUp() {
	for {
		p.mu.Lock()
		if len(p.used) == 0 {
			p.cleaning = false
			p.mu.Unlock()
			return
		}
		v := p.used[0]
		p.used = append(p.used[:0], p.used[1:]...)
		p.mu.Unlock()
		if p.clean(v) {
			p.ready(v)
			continue
		}
		p.close(v)
		p.vacate()
	}
}

// discard closes a lent value that cannot be cleaned.
func (p *pool[T]) discard(v T) {
	p.close(v)
	p.drop()
}

// drop gives up the place of a lent value that its borrower has closed.
func (p *pool[T]) drop() {
	p.mu.Lock()
	p.lent--
	p.mu.Unlock()
	p.vacate()
}

// vacate gives up the place of a value that is closed and not lent.
func (p *pool[T]) vacate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave()
}

// leave gives up a place; whoever waits may have it, or the next borrower, for
// whom a value is made ahead where values must be clean. p.mu is held.
func (p *pool[T]) leave() {
	p.abandon()
	if len(p.waiters) > 0 || p.clean != nil && len(p.idle)+p.near.count() == 0 || p.total < p.min {
		p.grow()
	}
}

// abandon gives up a place for good. p.mu is held.
func (p *pool[T]) abandon() {
	p.total--
	if p.closed && p.total == 0 {
		close(p.drained)
	}
}

// shift removes the first waiter; its channel has room for one turn.
func (p *pool[T]) shift() chan turn[T] {
	w := p.waiters[0]
	p.waiters = p.waiters[1:]
	p.press()
	return w
}

// exhausted reports whether all values there may be are lent.
func (p *pool[T]) exhausted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out() >= p.max
}

// out is how many values borrowers have. While somebody waits, what lies on a shelf has
// a borrower already, or is on its way to the first waiter. p.mu is held.
func (p *pool[T]) out() int {
	if len(p.waiters) > 0 {
		return p.lent
	}
	return p.lent - p.near.count()
}

// counts returns how many values there are and how many of them are idle.
func (p *pool[T]) counts() (total, idle int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total, len(p.idle) + p.near.count()
}

// visit shows the idle values to see, while nobody can borrow one, and reports whether
// those are all there are, or none will be idle again.
func (p *pool[T]) visit(see func(T)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range p.idle {
		see(v)
	}
	seen := len(p.idle)
	if !p.pressed.Load() { // else whoever put a value on a shelf takes it back, and must find it there
		seen += p.near.visit(see)
	}
	return p.closed || seen == p.total
}

// shutdown turns new borrowers and waiters away, closes what is idle, and waits
// until the lent values are back or ctx ends. It may be called again.
func (p *pool[T]) shutdown(ctx context.Context) error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.press()
		p.end()
		for len(p.waiters) > 0 {
			p.shift() <- turn[T]{err: ErrClosed}
		}
		for v, ok := p.near.takeAny(); ok; v, ok = p.near.takeAny() {
			p.idle = append(p.idle, v)
			p.lent--
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
		p.vacate()
	}
	return waitFor(ctx, p.drained)
}

// waitFor waits for a signal until ctx ends. Where the signal is there, a context that
// has ended does not matter.
func waitFor(ctx context.Context, signal <-chan struct{}) error {
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
