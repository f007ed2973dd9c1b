package host

import (
	"context"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/capacity"
)

// receipt is what remains of a call while its answer is used: the charge for the decoded
// answer and the call's deadline. One receipt can serve several calls.
type receipt struct {
	// held is the charge in bytes. until is the deadline, a time of the clock, and limit the
	// time that the call had.
	held         int64
	until, limit time.Duration
	// share is what the answer is charged to, nil if nothing is.
	share *capacity.Share
}

// take moves the charge for what was decoded from the instance, which other calls use next, to
// r.
func (r *receipt) take(in *instance) {
	r.until, r.limit = in.state.deadline, in.state.limit
	if in.decoded > 0 {
		in.room.change(-in.decoded)
		r.held, r.share = r.held+in.decoded, in.env.share
		in.decoded = 0
	}
}

// done ends the charge. From now on what was decoded belongs to the build.
func (r *receipt) done() {
	if r.held > 0 {
		r.share.Charge(-r.held)
		r.held = 0
	}
}

// context returns a context for work on the answer, such as counting its tokens. It ends at
// the call's deadline. The caller must call cancel.
func (r *receipt) context(ctx context.Context) (context.Context, context.CancelFunc) {
	late := &fault{code: abi.ReasonTimeout,
		err: as(context.DeadlineExceeded, fmt.Errorf("not done within %v, counting the tokens of its answer included", r.limit))}
	return context.WithDeadlineCause(ctx, clockStart.Add(r.until), late)
}
