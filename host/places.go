package host

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// A loaded plugin has a place for one instance, whether it is made or not, which its pool
// uses first. What its instances hold together is bounded as soon as there is more than
// one.

// places counts the instances that a plugin has.
type places struct {
	mu sync.Mutex
	// reserved says that one place is the plugin's, pooled how many instances its pool
	// has: one in that place, the others in further ones.
	reserved bool
	pooled   int
	// all are all instances, those of sessions included.
	all atomic.Int32
}

// errNoPlace is the fault of an instance for which the host has no place.
func (h *Host) errNoPlace() *fault {
	return &fault{code: abi.ReasonBusy, remedy: moreInstances,
		err: as(errNoRoom, fmt.Errorf("the host has %d instances, as many as it may", h.cfg.MaxInstances))}
}

// shareOfOne is the most memory of a plugin with several instances.
func (h *Host) shareOfOne() int64 {
	if h.cfg.PluginShare == 1 {
		return math.MaxInt64 // what it has no room for, the host has none for either
	}
	return saturate(h.cfg.Memory, h.cfg.PluginShare)
}

// reserve takes the plugin's place among the instances of the host.
func (p *Plugin) reserve(ctx context.Context) error {
	h := p.host
	return h.reclaimer.inRoom(ctx, p.limits.QueueTimeout, func() error {
		for !h.instances.take(1) {
			if !h.reclaimer.evict(nil) {
				return h.errNoPlace()
			}
		}
		p.places.reserved = true
		return nil
	})
}

// unreserve gives it back.
func (p *Plugin) unreserve() {
	if p.places.reserved {
		p.places.reserved = false
		p.host.instances.give(1)
		p.host.reclaimer.returned.Add(1)
	}
}

// takePlace gives an instance its place: that of the plugin, or another of the host, for
// which an idle instance may have to go. One of a session leaves that of the plugin to
// others.
func (p *Plugin) takePlace(in *instance) error {
	for !p.tryPlace(in) {
		if !p.host.reclaimer.evict(nil) {
			return p.host.errNoPlace()
		}
	}
	if p.places.all.Add(1) > 1 {
		p.host.reclaimer.arm(p.limits.IdleTimeout)
	}
	return nil
}

func (p *Plugin) tryPlace(in *instance) bool {
	at := &p.places
	at.mu.Lock()
	defer at.mu.Unlock()
	if (in.ofSession || at.pooled > 0) && !p.host.instances.take(1) {
		return false
	}
	if !in.ofSession {
		at.pooled++
	}
	return true
}

// leavePlace gives it back, after everything else that the instance held.
func (in *instance) leavePlace() {
	at, h := &in.plugin.places, in.plugin.host
	at.all.Add(-1)
	at.mu.Lock()
	if !in.ofSession {
		at.pooled--
	}
	if in.ofSession || at.pooled > 0 {
		h.instances.give(1)
	}
	at.mu.Unlock()
	h.reclaimer.returned.Add(1)
}

// hasPooled reports whether the pool has an instance, even if in the making.
func (at *places) hasPooled() bool {
	at.mu.Lock()
	defer at.mu.Unlock()
	return at.pooled > 0
}

// pooled makes an instance for the pool. While somebody waits for room, only the first.
func (p *Plugin) pooled(ctx context.Context) (*instance, error) {
	if p.host.reclaimer.waiting.Load() > 0 && p.places.hasPooled() {
		return nil, p.failure(abi.OpInit, nil, &fault{code: abi.ReasonBusy, remedy: moreInstances,
			err: as(errNoRoom, fmt.Errorf("another plugin waits for room in the host"))})
	}
	return p.newInstance(ctx)
}

// account takes n bytes of the host's memory, or gives back what is negative, and
// reports whether there was room. Idle instances make room, those of the plugin itself
// where it has its share. A guest may be content with less than was refused.
func (in *instance) account(n int64) bool {
	if n <= 0 {
		in.charge(n)
		return true
	}
	ok := in.charge(n)
	for !ok && !in.futile {
		of := in.plugin
		if !in.overShare {
			of = nil
		}
		if !in.plugin.host.reclaimer.evict(of) {
			in.futile = true // a guest that asks again and again has nobody look again
			break
		}
		ok = in.charge(n)
	}
	in.crowded = !ok
	return ok
}

// charge is account without making room.
func (in *instance) charge(n int64) bool {
	p := in.plugin
	if held := p.held.Add(n); n > 0 && held > p.share && p.places.all.Load() > 1 {
		p.held.Add(-n)
		in.overShare = true
		return false
	}
	if p.host.memory.change(n) {
		return true
	}
	p.held.Add(-n)
	in.overShare = false
	return false
}

// takeMemory takes n bytes that are no instance's, for which idle instances may have to
// go.
func (h *Host) takeMemory(n int64) bool {
	for !h.memory.take(n) {
		if !h.reclaimer.evict(nil) {
			return false
		}
	}
	return true
}

// noRoom says whose room there is no more of, for an instance that was refused memory by
// the host, and what to do.
func (in *instance) noRoom() (what, remedy string) {
	if in.overShare {
		return fmt.Sprintf("the plugin's share of the host's memory, %s for all its instances, has no room", abi.FormatSize(in.plugin.share)), moreShare
	}
	return "the host has no room", moreMemory
}

// lastUsed is when the last call of the instance read the clock last.
func (in *instance) lastUsed() time.Duration { return in.state.seen }
