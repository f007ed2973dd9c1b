package guest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

// clockStart is when the program started.
var clockStart = time.Now()

// Clock returns the time since clockStart. Deadlines of calls are times of this clock. It
// takes half as long as time.Now, which also reads the wall clock.
func Clock() time.Duration { return time.Since(clockStart) }

// CallOf returns the call that a host function runs in. This package makes every call into a
// guest with a *Call.
func CallOf(ctx context.Context) *Call {
	c, ok := ctx.(*Call)
	if !ok {
		panic(Faultf(abi.ReasonTrap, "host function called outside a call"))
	}
	return c
}

// begin prepares the state for the next call.
func (c *Call) begin(ctx context.Context, limit time.Duration, fuel int64) {
	c.Context, c.done = ctx, ctx.Done()
	c.Began, c.Limit = Clock(), limit
	c.deadline, c.seen = c.Began+min(limit, math.MaxInt64-c.Began), c.Began
	c.Turn.Begin(c.Began)
	c.Record = c.Instance.Env.Record.Begin(c.Record)
	c.drawn, c.hosted, c.unchecked, c.Fuel, c.depth = 0, 0, 0, fuel, 0
	c.Received, c.Returned, c.Waited, c.Batch, c.Excuse = 0, 0, 0, false, nil
	if n := NestOf(ctx); n != nil {
		c.Fuel, c.depth = min(fuel, n.left.Load()), n.Depth
	}
}

// End releases the caller's context and the processor.
func (c *Call) End() {
	if c.Turn.Held() {
		c.Turn.End(c.work())
	}
	c.Context, c.done, c.deadline = context.Background(), nil, 0
}

// check returns the fault of a call that must not go on.
func (c *Call) check() *Fault {
	select {
	case <-c.done:
		return ContextFault(c.Context)
	default:
	}
	if c.seen = Clock(); c.seen >= c.deadline {
		if c.Excuse != nil {
			return c.Excuse
		}
		return &Fault{Reason: abi.ReasonTimeout,
			Err: errkind.As(context.DeadlineExceeded, fmt.Errorf("not done within %v", c.Limit))}
	}
	return nil
}

// ContextFault is the fault of a call whose context has ended.
func ContextFault(ctx context.Context) *Fault {
	err := ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		return &Fault{Reason: abi.ReasonTimeout, Err: errkind.As(err, errors.New("the time of the build or step is over")),
			Remedy: "raise the timeout of the step or of the build"}
	}
	return &Fault{Reason: abi.ReasonCancelled, Err: errkind.As(err, errors.New("the build was canceled")), Remedy: NoRemedy}
}

// Stop panics with the fault of a call that must not go on. wazero returns it as the error of
// the call.
func (c *Call) Stop() {
	if f := c.check(); f != nil {
		panic(f)
	}
}

// StopWaiting is Stop after the host has waited for something in place of the guest. A timeout
// says for what, such as "an answer of https://example.com".
func (c *Call) StopWaiting(what string) {
	f := c.check()
	if f == nil {
		return
	}
	if f.Reason == abi.ReasonTimeout && f != c.Excuse {
		f = &Fault{Reason: f.Reason, Err: errkind.As(f.Err, fmt.Errorf("%w: it waited for %s", f.Err, guesttext.Line(what))), Remedy: f.Remedy}
	}
	panic(f)
}

// Bounded returns a context for blocking work inside the call. It ends at the call's deadline.
// The caller must call cancel.
func (c *Call) Bounded() (context.Context, context.CancelFunc) {
	return context.WithDeadline(c.Context, clockStart.Add(c.deadline))
}

// Took is the time from the beginning of the call until the clock was last read.
func (c *Call) Took() time.Duration { return c.seen - c.Began }

// Sleep is the guest's sleep through WASI. It ends at the latest with the call.
func (c *Call) Sleep(ns int64) {
	if ns <= 0 {
		return
	}
	c.Leave()
	left := c.deadline - Clock()
	timer := time.NewTimer(min(time.Duration(ns), max(left, 0)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.done:
	}
	c.Rejoin()
}
