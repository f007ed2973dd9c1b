package host

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/pool"
	"github.com/anchor-host/anchor-host/internal/usedfuel"
)

// A function of the embedder may call plugins. Its context tells which guest's call it serves.
// The time and fuel of that call bound every call within it. A call within a call does not
// wait for an instance while all are lent, because its own callers may have them.

// maxNested is how deep calls may lie within other calls.
const maxNested = 4

// nest is what the calls within one call share. Functions of the embedder may make several at
// the same time.
type nest struct {
	depth int
	// left is the fuel that the calls may still use, spent the fuel that they used.
	left, spent atomic.Int64
}

// nestKey is the key of the nest in a context.
type nestKey struct{}

// nestOf returns the nest that a call under ctx lies in, nil if it lies in no other call.
func nestOf(ctx context.Context) *nest {
	n, _ := ctx.Value(nestKey{}).(*nest)
	return n
}

// nested returns a context for calls within this one.
func (c *callState) nested(ctx context.Context) (context.Context, *nest) {
	n := &nest{depth: c.depth + 1}
	n.left.Store(max(0, c.fuel-c.used()))
	return context.WithValue(ctx, nestKey{}, n), n
}

// nestedWait is how long a call within a call waits before it checks again whether all
// instances are lent. Another call may have taken the one that was free.
const nestedWait = 5 * time.Millisecond

// lend lends an instance to a call within a call. It refuses a call that lies too deep, and
// one that would wait while all instances are lent.
func (n *nest) lend(ctx context.Context, p *Plugin) (*instance, error) {
	if n.depth > maxNested {
		return nil, n.tooDeep()
	}
	for began := clock(); !p.pool.Exhausted(); {
		in, err := p.pool.Get(ctx, min(nestedWait, p.limits.QueueTimeout))
		if !errors.Is(err, pool.ErrBusy) || clock()-began >= p.limits.QueueTimeout {
			return in, err
		}
	}
	return nil, faultf(abi.ReasonBusy, "no instance is free for a call within a call")
}

func (*nest) tooDeep() *fault {
	return &fault{code: abi.ReasonDenied, remedy: noRemedy, err: fmt.Errorf("the call lies more than %d deep within others", maxNested)}
}

// account charges the fuel of a call that ended. A call within a call is charged to the call
// that it lies in, which reports the fuel as its own. Any other call is charged to the step of
// its build, if there is one.
func account(ctx context.Context, fuel int64) {
	n := nestOf(ctx)
	if n == nil {
		usedfuel.Add(ctx, fuel)
		return
	}
	n.left.Add(-fuel)
	n.spent.Add(fuel)
}
