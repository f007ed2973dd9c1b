package host

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/anchor-host/anchor-host/abi"
)

// Config.MaxInstances bounds the instances of a host. A loaded plugin always has one of
// these places, even while it has no instance; its pool uses that place first. The memory
// of a plugin's instances together is bounded as soon as there is more than one.

// places counts the instances that a plugin has.
type places struct {
	mu sync.Mutex
	// reserved says that the plugin has its place.
	reserved bool
	// pooled is how many instances the pool has. One is in the plugin's place, each other
	// one takes a further place of the host.
	pooled int
	// all is how many instances there are, with those of sessions.
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

// reserve takes the plugin's place.
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

// unreserve gives the plugin's place back.
func (p *Plugin) unreserve() {
	if p.places.reserved {
		p.places.reserved = false
		p.host.instances.give(1)
		p.host.reclaimer.returned.Add(1)
	}
}

// takePlace takes a place for an instance: that of the plugin, or a further one of the host,
// for which an idle instance may be evicted. A session's instance never takes the plugin's
// place.
func (p *Plugin) takePlace(session bool) error {
	for !p.tryPlace(session) {
		if !p.host.reclaimer.evict(nil) {
			return p.host.errNoPlace()
		}
	}
	if p.places.all.Add(1) > 1 {
		p.host.reclaimer.arm(p.limits.IdleTimeout)
	}
	return nil
}

func (p *Plugin) tryPlace(session bool) bool {
	at := &p.places
	at.mu.Lock()
	defer at.mu.Unlock()
	if (session || at.pooled > 0) && !p.host.instances.take(1) {
		return false
	}
	if !session {
		at.pooled++
	}
	return true
}

// leavePlace gives the place of an instance back. It comes after everything else that the
// instance held.
func (p *Plugin) leavePlace(session bool) {
	at, h := &p.places, p.host
	at.all.Add(-1)
	at.mu.Lock()
	if !session {
		at.pooled--
	}
	if session || at.pooled > 0 {
		h.instances.give(1)
	}
	at.mu.Unlock()
	h.reclaimer.returned.Add(1)
}

// hasPooled reports whether the pool has an instance, or is making one.
func (at *places) hasPooled() bool {
	at.mu.Lock()
	defer at.mu.Unlock()
	return at.pooled > 0
}

// pooled makes an instance for the pool. While a caller waits for room, it makes only the
// first.
func (p *Plugin) pooled(ctx context.Context) (*instance, error) {
	if p.host.reclaimer.waiting.Load() > 0 && p.places.hasPooled() {
		return nil, p.failure(abi.OpInit, nil, &fault{code: abi.ReasonBusy, remedy: moreInstances,
			err: as(errNoRoom, fmt.Errorf("another plugin waits for room in the host"))})
	}
	return p.newInstance(ctx)
}

// takeMemory takes n bytes that belong to no instance. Idle instances may be evicted for
// them.
func (h *Host) takeMemory(n int64) bool {
	for !h.memory.take(n) {
		if !h.reclaimer.evict(nil) {
			return false
		}
	}
	return true
}
