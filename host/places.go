package host

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/capacity"
	"github.com/anchor-host/anchor-host/host/internal/pool"
)

// Config.MaxInstances bounds the instances of a host, and Config.Memory what they hold; see
// package capacity. A plugin that has no instance at all, as while it is loaded, waits for room.

// errNoRoom marks that an instance could not be made because the host has no room for it.
var errNoRoom = pool.ErrNoRoom

// errNoPlace is the fault of an instance for which the host has no place.
func (h *Host) errNoPlace() *fault {
	return &fault{code: abi.ReasonBusy, remedy: moreInstances,
		err: as(errNoRoom, fmt.Errorf("the host has %d instances, as many as it may", h.cfg.MaxInstances))}
}

// shareOfOne is the most memory of a plugin with several instances.
func (c *Config) shareOfOne() int64 {
	if c.PluginShare == 1 {
		return math.MaxInt64 // what it has no room for, the host has none for either
	}
	return saturate(c.Memory, c.PluginShare)
}

// reserve takes the plugin's place.
func (p *Plugin) reserve(ctx context.Context) error {
	return p.host.room.Wait(ctx, p.limits.QueueTimeout, func() error {
		if !p.share.Reserve() {
			return p.host.errNoPlace()
		}
		return nil
	})
}

// takePlace takes a place for an instance.
func (p *Plugin) takePlace(in *instance) error {
	if !p.share.Enter(in.ofSession) {
		return p.host.errNoPlace()
	}
	return nil
}

// leavePlace gives the place of an instance back. It comes after everything else that the
// instance held.
func (in *instance) leavePlace() { in.plugin.share.Leave(in.ofSession) }

// pooled makes an instance for the pool. While a caller waits for room, it makes only the
// first.
func (p *Plugin) pooled(ctx context.Context) (*instance, error) {
	if p.host.room.Waiting() > 0 && p.share.Pooled() {
		return nil, p.failure(abi.OpInit, nil, &fault{code: abi.ReasonBusy, remedy: moreInstances,
			err: as(errNoRoom, fmt.Errorf("another plugin waits for room in the host"))})
	}
	return p.newInstance(ctx)
}

// account takes n bytes of the host's memory, or gives them back if n is negative, and
// reports whether there was room. Idle instances are evicted to make room.
func (in *instance) account(n int64) bool {
	if n <= 0 {
		in.charge(n)
		return true
	}
	ok := in.charge(n)
	for !ok && !in.futile {
		refused := capacity.RoomFull
		if in.overShare {
			refused = capacity.ShareReached
		}
		if !in.plugin.share.Evict(refused) {
			in.futile = true // a guest that asks again in this call causes no further search
			break
		}
		ok = in.charge(n)
	}
	in.crowded = !ok
	return ok
}

// charge is account without evicting instances.
func (in *instance) charge(n int64) bool {
	r := in.plugin.share.Charge(n)
	if r == capacity.NotRefused {
		return true
	}
	in.overShare = r == capacity.ShareReached
	return false
}

// noRoom says whose memory is used up, after the host refused memory to the instance, and
// what to do about it.
func (in *instance) noRoom() (what, remedy string) {
	if in.overShare {
		return fmt.Sprintf("the plugin's share of the host's memory, %s for all its instances, has no room",
			abi.FormatSize(in.plugin.host.cfg.shareOfOne())), moreShare
	}
	return "the host has no room", moreMemory
}

// lastUsed is when the instance's last call last read the clock.
func (in *instance) lastUsed() time.Duration { return in.state.seen }
