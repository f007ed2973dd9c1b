package host

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/internal/usedfuel"
)

// A function of the embedder may call plugins. The context it gets tells which
// call it serves: time and fuel of that bound all that follows from it, and nobody
// waits for an instance that a caller of theirs has lent.

// maxNested is how deep calls lie within a call.
const maxNested = 4

// nest is what calls within a call share. Functions of the embedder may make
// several at a time.
type nest struct {
	depth int
	// left is the fuel they may use, spent what they used.
	left, spent atomic.Int64
}

// nestKey is the key of the nest in a context.
type nestKey struct{}

// nestOf returns what a call under ctx lies in, nil if in nothing.
func nestOf(ctx context.Context) *nest {
	n, _ := ctx.Value(nestKey{}).(*nest)
	return n
}

// nested returns a context under which calls lie within this one.
func (c *callState) nested(ctx context.Context) (context.Context, *nest) {
	n := &nest{depth: c.depth + 1}
	n.left.Store(max(0, c.fuel-c.used()))
	return context.WithValue(ctx, nestKey{}, n), n
}

// nestedWait is how long a call within a call waits for an instance before it looks again
// whether all are lent. Others may have taken the one that was free.
const nestedWait = 5 * time.Millisecond

// lend lends an instance to a call within a call. It refuses one that lies too deep, or
// that would wait although all instances are lent.
func (n *nest) lend(ctx context.Context, p *Plugin) (*instance, error) {
	if n.depth > maxNested {
		return nil, n.tooDeep()
	}
	for began := clock(); !p.pool.exhausted(); {
		in, err := p.pool.get(ctx, min(nestedWait, p.limits.QueueTimeout))
		if !errors.Is(err, errBusy) || clock()-began >= p.limits.QueueTimeout {
			return in, err
		}
	}
	return nil, faultf(abi.ReasonBusy, "no instance is free for a call within a call")
}

func (*nest) tooDeep() *fault {
	return &fault{code: abi.ReasonDenied, remedy: noRemedy, err: fmt.Errorf("the call lies more than %d deep within others", maxNested)}
}

// account takes the fuel of a call that is over from the call it lies in, which reports
// it as its own, or reports it to the step of a build.
func account(ctx context.Context, fuel int64) {
	n := nestOf(ctx)
	if n == nil {
		usedfuel.Add(ctx, fuel)
		return
	}
	n.left.Add(-fuel)
	n.spent.Add(fuel)
}
