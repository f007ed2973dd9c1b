package guest

import (
	"context"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/capacity"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

// Receipt is what remains of a call while its answer is used: the charge for the decoded
// answer and the call's deadline. One receipt can serve several calls.
type Receipt struct {
	// held is the charge in bytes. Until is the deadline, a time of the clock, and limit the
	// time that the call had.
	held         int64
	Until, limit time.Duration
	// share is what the answer is charged to, nil if nothing is.
	share *capacity.Share
}

// Take moves the charge for what was decoded from the instance, which other calls use next, to
// r. It does nothing if r is nil.
func (r *Receipt) Take(in *Instance) {
	if r == nil {
		return
	}
	r.Until, r.limit = in.Call.deadline, in.Call.Limit
	if in.Exchange.decoded > 0 {
		in.Memory.room.change(-in.Exchange.decoded)
		r.held, r.share = r.held+in.Exchange.decoded, in.Env.Share
		in.Exchange.decoded = 0
	}
}

// Done ends the charge. From now on what was decoded belongs to the build.
func (r *Receipt) Done() {
	if r.held > 0 {
		r.share.Charge(-r.held)
		r.held = 0
	}
}

// Context returns a context for work on the answer, such as counting its tokens. It ends at
// the call's deadline. The caller must call cancel.
func (r *Receipt) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	late := &Fault{Reason: abi.ReasonTimeout,
		Err: errkind.As(context.DeadlineExceeded, fmt.Errorf("not done within %v, counting the tokens of its answer included", r.limit))}
	return context.WithDeadlineCause(ctx, clockStart.Add(r.Until), late)
}
