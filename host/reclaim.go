package host

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// An idle instance is closed after limits.idle_timeout. It is evicted earlier when the host
// has no room for something else: of all plugins' instances the one that was used longest
// ago goes first. Each plugin keeps one instance, and as many as its min_instances says.
//
// A plugin that has no instance at all, as while it is loaded, also waits for room. As long
// as it waits, no plugin gets further instances, and the plugins that have the most close
// the ones that come back from a call.

// reclaimer closes idle instances of all plugins of a host. Its lock is taken before that
// of a pool. It is allocated on its own, because the runtime holds a timer, and what the
// timer refers to, for a while after it was stopped.
type reclaimer struct {
	// waiting is how many callers wait for room, returned how often room was given back.
	waiting  atomic.Int32
	returned atomic.Int64

	mu      sync.Mutex
	plugins map[*Plugin]struct{}
	// timer runs sweep when the clock reaches due; nil while no instance can become idle.
	timer   *time.Timer
	due     time.Duration
	stopped bool
}

// add begins to reclaim the instances of a plugin, until remove.
func (r *reclaimer) add(p *Plugin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plugins[p] = struct{}{}
}

func (r *reclaimer) remove(p *Plugin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.plugins, p)
	if len(r.plugins) == 0 {
		r.disarm()
	}
}

// stop ends sweeping for good and waits for a sweep that is running.
func (r *reclaimer) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	r.disarm()
}

// disarm stops the timer. r.mu is held.
func (r *reclaimer) disarm() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

// arm has sweep run after some time at the latest.
func (r *reclaimer) arm(after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.armLocked(after)
}

// armLocked is arm with r.mu held.
func (r *reclaimer) armLocked(after time.Duration) {
	due := later(clock(), after)
	if r.stopped || r.timer != nil && r.due <= due {
		return
	}
	r.disarm()
	r.due, r.timer = due, time.AfterFunc(after, r.sweep)
}

// later adds a duration to a time of the clock, without overflow.
func later(at, after time.Duration) time.Duration { return at + min(after, math.MaxInt64-at) }

// sweep closes the instances that were idle for too long. It runs again when the next one
// can have been.
func (r *reclaimer) sweep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = nil
	now, next := clock(), time.Duration(math.MaxInt64)
	for p := range r.plugins {
		next = min(next, p.trim(now))
	}
	if next < math.MaxInt64 {
		r.armLocked(max(next-now, sweepLeast))
	}
}

// sweepLeast is the least time between two sweeps.
const sweepLeast = 10 * time.Millisecond

// trim closes the instances of the plugin that were idle for too long, and returns when the
// next one can have been.
func (p *Plugin) trim(now time.Duration) (next time.Duration) {
	idle := p.limits.IdleTimeout
	for {
		at, surplus := p.pool.Oldest()
		switch {
		case !surplus:
			return math.MaxInt64
		case at == math.MaxInt64: // all are in use
			return later(now, idle)
		case later(at, idle) > now:
			return later(at, idle)
		case !p.pool.Reclaim(now - idle):
			return now
		}
	}
}

// evict closes the idle instance that was used longest ago: of one plugin, or of all if of
// is nil. It reports whether there was one.
func (r *reclaimer) evict(of *Plugin) bool {
	for range evictTries {
		var victim *Plugin
		first := time.Duration(math.MaxInt64)
		r.mu.Lock()
		for p := range r.plugins {
			if of != nil && p != of {
				continue
			}
			if at, surplus := p.pool.Oldest(); surplus && at < first {
				victim, first = p, at
			}
		}
		r.mu.Unlock()
		if victim == nil {
			return false
		}
		if victim.pool.Reclaim(math.MaxInt64) {
			return true
		}
	}
	return false
}

// evictTries is how often evict looks again after somebody borrowed the instance that it
// had found.
const evictTries = 8

// roomPoll is the time between two attempts of a caller that waits for room.
const roomPoll = 10 * time.Millisecond

// inRoom calls try. As long as that fails with errNoRoom, it calls try again whenever room
// was given back, until wait is over or ctx ends. The error is that of the last try.
func (r *reclaimer) inRoom(ctx context.Context, wait time.Duration, try func() error) error {
	seen := r.returned.Load()
	err := try()
	if !errors.Is(err, errNoRoom) {
		return err
	}
	r.waiting.Add(1)
	defer func() {
		if r.waiting.Add(-1) == 0 {
			r.forgive()
		}
	}()
	over, tick := time.NewTimer(wait), time.NewTicker(roomPoll)
	defer over.Stop()
	defer tick.Stop()
	for r.demand() {
		select {
		case <-ctx.Done():
			return err
		case <-over.C:
			return err
		case <-tick.C:
		}
		if now := r.returned.Load(); now != seen || r.evict(nil) {
			seen = now
			if err = try(); !errors.Is(err, errNoRoom) {
				return err
			}
		}
	}
	return err
}

// demand has the plugin with the most instances close the next one that comes back. It
// reports whether any instance is expected to come back.
func (r *reclaimer) demand() (expected bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var most *Plugin
	largest := 0
	for p := range r.plugins {
		surplus, busy := p.pool.Payable()
		expected = expected || busy
		if surplus > largest {
			most, largest = p, surplus
		}
	}
	if most != nil {
		most.pool.Owe()
	}
	return expected
}

// forgive withdraws what demand asked for.
func (r *reclaimer) forgive() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.plugins {
		p.pool.Forgive()
	}
}
