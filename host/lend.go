package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/pool"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

// queue waits for a processor before a call begins, if none is free. As with the wait for an
// instance, that time does not count for the call. A plugin whose last call failed always
// takes a processor first. Otherwise one that fails at once, again and again, would never
// reach the point where a call takes one.
func (l *lending) queue(ctx context.Context, in *guest.Instance) error {
	if !l.setup.host.turns.Pressed() && !l.breakers.Troubled() || in.Call.Turn.Enter(l.setup.limits.QueueTimeout, ctx.Done(), l.pool.Life().Done()) {
		return nil
	}
	switch {
	case ctx.Err() != nil:
		return guest.ContextFault(ctx)
	case l.pool.Life().Err() != nil:
		return errPluginClosed()
	}
	return &guest.Fault{Reason: abi.ReasonBusy, Remedy: "raise limits.queue_timeout, or make fewer calls at a time",
		Err: fmt.Errorf("other plugins had the processors for %v", l.setup.limits.QueueTimeout)}
}

// lent takes an instance from the pool. If the host has no room for even the plugin's first
// instance, it waits for room, except for a call within a call.
func (l *lending) lent(ctx context.Context) (*guest.Instance, error) {
	if n := guest.NestOf(ctx); n != nil {
		return l.lentWithin(ctx, n)
	}
	in, err := l.pool.Get(ctx, l.setup.limits.QueueTimeout)
	if errors.Is(err, guest.ErrNoRoom) && !errors.Is(err, pool.ErrBusy) { // not even for the first one
		return l.setup.makeInRoom(ctx, func() (*guest.Instance, error) { return l.pool.Get(ctx, l.setup.limits.QueueTimeout) })
	}
	return in, err
}

// makeInRoom calls make again until the host has room for the instance, for at most
// Limits.QueueTimeout.
func (set *setup) makeInRoom(ctx context.Context, make func() (*guest.Instance, error)) (in *guest.Instance, err error) {
	err = set.host.room.Wait(ctx, set.limits.QueueTimeout, func() error {
		in, err = make()
		return err
	})
	return in, err
}

// notLent is the fault of a call that got no instance.
func (l *lending) notLent(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, pool.ErrBusy):
		return l.busy(err)
	case errors.Is(err, ErrClosed):
		return errPluginClosed()
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return guest.ContextFault(ctx)
	}
	return err
}

// errPluginClosed is the fault of a call after [Plugin.Close].
func errPluginClosed() *guest.Fault {
	return &guest.Fault{Reason: abi.ReasonBusy, Err: errkind.As(ErrClosed, errors.New("the plugin is closed and takes no more calls")), Remedy: guest.NoRemedy}
}

// ownedBy returns in if it served nobody but the tenant of ctx, or else another instance in
// exchange. What an instance keeps must stay with one tenant.
func (l *lending) ownedBy(ctx context.Context, in *guest.Instance) (*guest.Instance, error) {
	tenant := TenantOf(ctx)
	if in.Life.Tenant != tenant && in.Life.Tenant != "" {
		own := func(in *guest.Instance) bool { return in.Life.Tenant == tenant }
		fresh := func(in *guest.Instance) bool { return in.Life.Tenant == "" }
		var err error
		if in, err = l.pool.Exchange(ctx, l.setup.limits.QueueTimeout, in, own, fresh); err != nil {
			return nil, l.notLent(ctx, err)
		}
	}
	in.Life.Tenant = tenant
	return in, nil
}

// busy is the fault of a call that no instance came free for. If no other could be made
// either, it has the remedy for that: raising the plugin's own limits would not help.
func (l *lending) busy(err error) *guest.Fault {
	var cause *PluginError
	if errors.As(err, &cause) {
		return &guest.Fault{Reason: abi.ReasonBusy, Remedy: cmp.Or(cause.Remedy, guest.NoRemedy),
			Err: fmt.Errorf("no instance came free within %v, and no other could be made: %s", l.setup.limits.QueueTimeout, cause.Err.Error())}
	}
	return guest.Faultf(abi.ReasonBusy, "no instance came free within %v", l.setup.limits.QueueTimeout)
}

// maxNested is how deep calls may lie within other calls.
const maxNested = 4

// nestedWait is how long a call within a call waits before it checks again whether all
// instances are lent. Another call may have taken the one that was free.
const nestedWait = 5 * time.Millisecond

// lentWithin lends an instance to a call within a call. It refuses a call that lies too deep, and
// one that would wait while all instances are lent.
func (l *lending) lentWithin(ctx context.Context, n *guest.Nest) (*guest.Instance, error) {
	if n.Depth > maxNested {
		return nil, nestedTooDeep()
	}
	for began := guest.Clock(); !l.pool.Exhausted(); {
		in, err := l.pool.Get(ctx, min(nestedWait, l.setup.limits.QueueTimeout))
		if !errors.Is(err, pool.ErrBusy) || guest.Clock()-began >= l.setup.limits.QueueTimeout {
			return in, err
		}
	}
	return nil, guest.Faultf(abi.ReasonBusy, "no instance is free for a call within a call")
}

func nestedTooDeep() *guest.Fault {
	return &guest.Fault{Reason: abi.ReasonDenied, Remedy: guest.NoRemedy, Err: fmt.Errorf("plugin calls are nested more than %d deep", maxNested)}
}
