package host

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// A key-value store, a transport and a file system of the embedder serve calls of guests.
// Whatever they do, a call ends with its time: they run on goroutines of their own, without
// a processor's turn, and one that does not return in time is left behind. What they are
// given and what they return is never memory of the guest.

// ErrEmbedder marks the failure of something that the embedder gave: its key-value store or
// its file system. The plugin had no part in it, and is not rested for it.
var ErrEmbedder = errors.New("the embedder's code failed")

// maxLeftBehind is how many calls of the embedder's code a plugin may leave behind: with
// more, nothing is asked of that code until some return.
const maxLeftBehind = 64

// errLeftBehind is the error of a call of that code beyond maxLeftBehind.
var errLeftBehind = as(ErrEmbedder, fmt.Errorf("%d earlier calls of it have not returned after their time", maxLeftBehind))

// errNotInTime is the error of a call of that code that was left behind.
var errNotInTime = as(ErrEmbedder, errors.New("did not return within the time of the call"))

// beside runs f, which is code of the embedder, within the time of the call. name is how
// errors and the log call it. A panic is an error. Where f is left behind, late is run when
// it has returned, if late is not nil.
func beside[T any](c *callState, name string, f func(context.Context) (T, error), late func(T)) (v T, err error) {
	p := pluginOf(c.inst)
	if p.leftBehind.Load() >= maxLeftBehind {
		return v, errLeftBehind
	}
	ctx, cancel := c.context()
	return besideFor(ctx, cancel, p, name, f, late)
}

// The states of a call of the embedder's code.
const (
	besideRuns int32 = iota
	besideLeft
	besideOver
)

// besideFor is beside for as long as a context lasts, which is canceled when f has returned.
func besideFor[T any](ctx context.Context, cancel func(), p *Plugin, name string, f func(context.Context) (T, error), late func(T)) (v T, err error) {
	type result struct {
		v   T
		err error
	}
	ended := make(chan result, 1)
	var state atomic.Int32
	go func() {
		r := result{err: as(ErrEmbedder, errors.New("ended its goroutine"))}
		defer cancel()
		defer func() {
			if state.Swap(besideOver) == besideRuns {
				ended <- r
				return
			}
			p.leftBehind.Add(-1)
			if late != nil {
				defer p.survive(name, &r.err)
				late(r.v)
			}
		}()
		defer p.survive(name, &r.err)
		r.v, r.err = f(ctx)
	}()
	select {
	case r := <-ended:
		return r.v, r.err
	case <-ctx.Done():
	}
	p.leftBehind.Add(1)
	if state.CompareAndSwap(besideRuns, besideLeft) {
		return v, errNotInTime
	}
	p.leftBehind.Add(-1)
	r := <-ended
	return r.v, r.err
}

// survive makes an error of a panic of the embedder's code.
func (p *Plugin) survive(name string, err *error) {
	if r := recover(); r != nil {
		p.log.Error(name+" panicked", "panic", r, "stack", string(debug.Stack()))
		*err = as(ErrEmbedder, fmt.Errorf("panicked: %v", r))
	}
}
