package host

import (
	"context"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// receipt is what is left of a call while its answer is applied: the memory of the host
// that the answer takes, and the call's deadline. It may be that of several calls.
type receipt struct {
	held         int64
	until, limit time.Duration
}

// take moves the account of what has been decoded from the instance, which others use
// next, to r.
func (r *receipt) take(in *instance) {
	r.until, r.limit = in.state.deadline, in.state.limit
	if in.decoded > 0 {
		in.room.change(-in.decoded)
		r.held += in.decoded
		in.decoded = 0
	}
}

// done gives the memory back: what was decoded is the build's from now on.
func (r *receipt) done(p *Plugin) {
	if r.held > 0 {
		p.held.Add(-r.held)
		p.host.memory.give(r.held)
		r.held = 0
	}
}

// context returns a context for work on the answer, such as counting its tokens, that ends
// when the call's time does. The caller must call cancel.
func (r *receipt) context(ctx context.Context) (context.Context, context.CancelFunc) {
	late := &fault{code: abi.ReasonTimeout,
		err: as(context.DeadlineExceeded, fmt.Errorf("not done within %v, counting the tokens of its answer included", r.limit))}
	return context.WithDeadlineCause(ctx, clockStart.Add(r.until), late)
}
