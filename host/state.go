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

// clockStart is when the program started.
var clockStart = time.Now()

// clock returns the time since clockStart. Deadlines of calls are times of this clock. It
// takes half as long as time.Now, which also reads the wall clock.
func clock() time.Duration { return time.Since(clockStart) }

// callState is the context of one call into a guest. Host functions receive it as their
// context and find it by a type assertion, which costs almost nothing.
type callState struct {
	context.Context
	inst *instance
	// done is the Done channel of the caller's context.
	done <-chan struct{}
	// began and deadline are times of the clock. seen is the last time read from it.
	began, deadline, seen time.Duration
	limit                 time.Duration
	// drawn is the fuel handed out to the guest, and hosted the fuel that the host used on its
	// behalf. unchecked is the part of hosted since the last check. fuel is the most that the
	// call may use.
	drawn, hosted, unchecked, fuel int64
	// depth is the number of calls that this one lies in.
	depth int
	// turn is the call's use of a processor; see turns.go.
	turn fairness.Turn

	// received and returned are the bytes of the request and of the answer, batch says that
	// they are of the batch lane. waited is how long the call waited for a processor since it
	// began.
	received, returned int64
	waited             time.Duration
	batch              bool
	// excuse is the fault of the call if the code of the embedder used up its time.
	excuse *fault
	// tally is what calls until now counted.
	tally tally
}

// stateOf returns the call that a host function runs in. This package makes every call into a
// guest with a *callState.
func stateOf(ctx context.Context) *callState {
	c, ok := ctx.(*callState)
	if !ok {
		panic(faultf(abi.ReasonTrap, "host function called outside a call"))
	}
	return c
}

// begin prepares the state for the next call.
func (c *callState) begin(ctx context.Context, limit time.Duration, fuel int64) {
	c.Context, c.done = ctx, ctx.Done()
	c.began, c.limit = clock(), limit
	c.deadline, c.seen = c.began+min(limit, math.MaxInt64-c.began), c.began
	c.turn.Begin(c.began)
	c.drawn, c.hosted, c.unchecked, c.fuel, c.depth = 0, 0, 0, fuel, 0
	c.received, c.returned, c.waited, c.batch, c.excuse = 0, 0, 0, false, nil
	if n := nestOf(ctx); n != nil {
		c.fuel, c.depth = min(fuel, n.left.Load()), n.depth
	}
}

// end releases the caller's context and the processor.
func (c *callState) end() {
	if c.turn.Held() {
		c.turn.End(c.work())
	}
	c.Context, c.done, c.deadline = context.Background(), nil, 0
}

// check returns the fault of a call that must not go on.
func (c *callState) check() *fault {
	select {
	case <-c.done:
		return contextFault(c.Context)
	default:
	}
	if c.seen = clock(); c.seen >= c.deadline {
		if c.excuse != nil {
			return c.excuse
		}
		return &fault{code: abi.ReasonTimeout,
			err: as(context.DeadlineExceeded, fmt.Errorf("not done within %v", c.limit))}
	}
	return nil
}

// contextFault is the fault of a call whose context has ended.
func contextFault(ctx context.Context) *fault {
	err := ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		return &fault{code: abi.ReasonTimeout, err: as(err, errors.New("the time of the build or step is over")),
			remedy: "raise the timeout of the step or of the build"}
	}
	return &fault{code: abi.ReasonCancelled, err: as(err, errors.New("the build was canceled")), remedy: noRemedy}
}

// stop panics with the fault of a call that must not go on. wazero returns it as the error of
// the call.
func (c *callState) stop() {
	if f := c.check(); f != nil {
		panic(f)
	}
}

// context returns a context for blocking work inside the call. It ends at the call's deadline.
// The caller must call cancel.
func (c *callState) context() (context.Context, context.CancelFunc) {
	return context.WithDeadline(c.Context, clockStart.Add(c.deadline))
}

func (c *callState) took() time.Duration { return c.seen - c.began }

// sleep is the guest's sleep through WASI. It ends at the latest with the call.
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
