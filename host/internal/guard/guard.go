// Package guard runs code of the embedder that serves calls of guests: a key-value store, a
// transport, a file system. Whatever that code does, a call ends with its time. The code runs
// on a goroutine of its own, and is left behind if it does not return in time. A panic is an
// error. What the code is given and what it returns must not be memory of the guest.
//
// A goroutine costs some two microseconds for each use, which the host's own store does not pay.
package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"github.com/anchor-host/anchor-host/internal/errkind"
)

// ErrEmbedder marks a failure of the embedder's code.
var ErrEmbedder = errors.New("the embedder's code failed")

// maxLeftBehind is how many calls of the embedder's code a plugin may leave behind: with
// more, nothing is asked of that code until some return.
const maxLeftBehind = 64

// errLeftBehind is the error of a call of that code beyond maxLeftBehind.
var errLeftBehind = Failure(fmt.Errorf("%d earlier calls of it have not returned after their time", maxLeftBehind))

// ErrLate is the error of a call of that code that was left behind. It wraps ErrEmbedder.
var ErrLate = Failure(errors.New("did not return within the time of the call"))

// Failure makes an error wrap [ErrEmbedder] without adding to its text.
func Failure(err error) error { return errkind.As(ErrEmbedder, err) }

// Guard counts what the embedder's code left behind for one plugin. It is safe for concurrent
// use.
type Guard struct {
	log  *slog.Logger
	left atomic.Int32
}

// New returns a Guard that reports panics to log.
func New(log *slog.Logger) *Guard { return &Guard{log: log} }

// Run returns what f returns, which is code of the embedder. name is how the log calls it. If
// ctx ends first, f is left behind, and the error is [ErrLate]; what f returns later is passed
// to late, if late is not nil. Errors of f are returned as they are. A panic of f is an error
// that wraps [ErrEmbedder], and so is a call when too many were left behind.
func Run[T any](ctx context.Context, g *Guard, name string, f func(context.Context) (T, error), late func(T)) (v T, err error) {
	if g.left.Load() >= maxLeftBehind {
		return v, errLeftBehind
	}
	return run(ctx, g, name, f, late)
}

// Finish is Run for code that gives back what it took. It runs however many calls were left
// behind.
func Finish(ctx context.Context, g *Guard, name string, f func() error) error {
	_, err := run(ctx, g, name, func(context.Context) (struct{}, error) { return struct{}{}, f() }, nil)
	return err
}

// The states of a call of the embedder's code.
const (
	running int32 = iota
	leftBehind
	over
)

func run[T any](ctx context.Context, g *Guard, name string, f func(context.Context) (T, error), late func(T)) (v T, err error) {
	type result struct {
		v   T
		err error
	}
	ended := make(chan result, 1)
	var state atomic.Int32
	go func() {
		r := result{err: Failure(errors.New("ended its goroutine"))}
		defer func() {
			if state.Swap(over) == running {
				ended <- r
				return
			}
			g.left.Add(-1)
			if late != nil {
				defer g.survive(name, &r.err)
				late(r.v)
			}
		}()
		defer g.survive(name, &r.err)
		r.v, r.err = f(ctx)
	}()
	select {
	case r := <-ended:
		return r.v, r.err
	case <-ctx.Done():
	}
	g.left.Add(1)
	if state.CompareAndSwap(running, leftBehind) {
		return v, ErrLate
	}
	g.left.Add(-1)
	r := <-ended
	return r.v, r.err
}

// survive makes an error of a panic.
func (g *Guard) survive(name string, err *error) {
	if r := recover(); r != nil {
		g.log.Error(name+" panicked", "panic", r, "stack", string(debug.Stack()))
		*err = Failure(fmt.Errorf("panicked: %v", r))
	}
}
