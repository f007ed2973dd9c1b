package host

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
)

// callState is the context of one call into a guest. Host functions receive it
// as their context and find it by type assertion, which costs nothing.
type callState struct {
	context.Context
	inst *instance
	// done is the caller's, taken once.
	done <-chan struct{}
	// began and deadline are times of the clock, as is seen, its last reading.
	began, deadline, seen time.Duration
	limit                 time.Duration
	// drawn is the fuel handed out to the guest, hosted what the host spent on
	// its behalf, unchecked the part of that since the last check, and fuel what
	// the call may use.
	drawn, hosted, unchecked, fuel int64
	// depth is in how many calls this one lies.
	depth int
	// turn is the call's share of the processors, see turns.go.
	turn fairness.Turn

	// received and returned are the bytes of the request and of the answer, batch says that
	// they are of the batch lane. waited is how long the call waited for a processor since it
	// began.
	received, returned int64
	waited             time.Duration
	batch              bool
	// tally is what calls until now counted.
	tally tally
}

// stateOf returns the call that a host function runs in. Every call into a
// guest is made by this package with a *callState.
func stateOf(ctx context.Context) *callState {
	c, ok := ctx.(*callState)
	if !ok {
		panic(faultf(abi.ReasonTrap, "host function called outside a call"))
	}
	return c
}

// begin sets up the state of the next call.
func (c *callState) begin(ctx context.Context, limit time.Duration, fuel int64) {
	c.Context, c.done = ctx, ctx.Done()
	c.began, c.limit = clock(), limit
	c.deadline, c.seen = c.began+min(limit, math.MaxInt64-c.began), c.began
	c.turn.Begin(c.began)
	c.drawn, c.hosted, c.unchecked, c.fuel, c.depth = 0, 0, 0, fuel, 0
	c.received, c.returned, c.waited, c.batch = 0, 0, 0, false
	if n := nestOf(ctx); n != nil {
		c.fuel, c.depth = min(fuel, n.left.Load()), n.depth
	}
}

// end lets go of the caller's context, and of the processor.
func (c *callState) end() {
	if c.turn.Held() {
		c.turn.End(c.work())
	}
	c.Context, c.done = context.Background(), nil
}

// check returns the fault of a call that must not go on.
func (c *callState) check() *fault {
	select {
	case <-c.done:
		return contextFault(c.Context)
	default:
	}
	if c.seen = clock(); c.seen >= c.deadline {
		return &fault{code: abi.ReasonTimeout,
			err: as(context.DeadlineExceeded, fmt.Errorf("not done within %v", c.limit))}
	}
	return nil
}

// contextFault is the fault of a call whose caller has given up.
func contextFault(ctx context.Context) *fault {
	err := ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		return &fault{code: abi.ReasonTimeout, err: as(err, errors.New("the time of the build or step is over")),
			remedy: "raise the timeout of the step or of the build"}
	}
	return &fault{code: abi.ReasonCancelled, err: as(err, errors.New("the build was canceled")), remedy: noRemedy}
}

// stop panics with the fault of a call that must not go on. wazero turns the
// panic into the error of the call.
func (c *callState) stop() {
	if f := c.check(); f != nil {
		panic(f)
	}
}

// context returns a context for blocking work inside the call: it ends when the
// call's time does. The caller must call cancel.
func (c *callState) context() (context.Context, context.CancelFunc) {
	return context.WithDeadline(c.Context, clockStart.Add(c.deadline))
}

// took is how long the call had run when the clock was last read.
func (c *callState) took() time.Duration { return c.seen - c.began }

// sleep is the guest's sleep through WASI: it ends with the call.
func (c *callState) sleep(ns int64) {
	if ns <= 0 {
		return
	}
	c.leave()
	left := c.deadline - clock()
	timer := time.NewTimer(min(time.Duration(ns), max(left, 0)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.done:
	}
	c.rejoin()
}
