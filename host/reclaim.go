package host

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Instances that nobody uses are given back: after limits.idle_timeout, and before that
// when somebody needs room that the host has not, those used longest ago first, whosever
// they are. Each plugin keeps one, and as many as its min_instances says.
//
// Whoever needs room to have an instance at all, such as a plugin that is being loaded,
// also waits for it. In the meantime no plugin makes further instances, and those that
// have the most close what comes back from a call.

// errNoRoom marks the failure to make an instance for which the host has no room now.
var errNoRoom = errors.New("no room")

// reclaimer gives back what instances hold, among all plugins of a host. Its lock is
// taken before that of a pool. It is a part of nothing, as the runtime knows a timer for a
// while after it was stopped.
type reclaimer struct {
	// waiting is how many wait for room, returned how often room was given back.
	waiting  atomic.Int32
	returned atomic.Int64

	mu      sync.Mutex
	plugins map[*Plugin]struct{}
	// timer runs sweep at the time of due, of the clock; nil while there is nothing that
	// can become idle.
	timer   *time.Timer
	due     time.Duration
	stopped bool
}

// add takes a plugin in, whose instances are reclaimed from now on, until remove.
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

// stop ends the sweeping for good, and waits for one that is going on.
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

// arm has instances looked at after so much time, if that is not to happen earlier.
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

// later is a time of the clock some time after another.
func later(at, after time.Duration) time.Duration { return at + min(after, math.MaxInt64-at) }

// sweep closes the instances that are idle for too long, and comes again when others can
// be.
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

// trim closes the instances of the plugin that are idle for too long, and returns when
// another can be.
func (p *Plugin) trim(now time.Duration) (next time.Duration) {
	idle := p.limits.IdleTimeout
	for {
		at, surplus := p.pool.oldest()
		switch {
		case !surplus:
			return math.MaxInt64
		case at == math.MaxInt64: // all are in use
			return later(now, idle)
		case later(at, idle) > now:
			return later(at, idle)
		case !p.pool.reclaim(now - idle):
			return now
		}
	}
}

// evict closes the idle instance that was used longest ago, of one plugin, or of any if
// that is nil. It reports whether there was one.
func (r *reclaimer) evict(of *Plugin) bool {
	for range evictTries {
		var victim *Plugin
		first := time.Duration(math.MaxInt64)
		r.mu.Lock()
		for p := range r.plugins {
			if of != nil && p != of {
				continue
			}
			if at, surplus := p.pool.oldest(); surplus && at < first {
				victim, first = p, at
			}
		}
		r.mu.Unlock()
		if victim == nil {
			return false
		}
		if victim.pool.reclaim(math.MaxInt64) {
			return true
		}
	}
	return false
}

// evictTries is how often evict looks for another instance where somebody borrowed the
// one that it had found.
const evictTries = 8

// roomPoll is how long whoever waits for room waits until it looks, and asks for more.
const roomPoll = 10 * time.Millisecond

// inRoom calls try, again and again when room was given back, as long as it fails for
// want of it, at most for as long as wait and ctx allow. The error is that of try.
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
// reports whether anything can be expected to come back.
func (r *reclaimer) demand() (expected bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var most *Plugin
	largest := 0
	for p := range r.plugins {
		surplus, busy := p.pool.payable()
		expected = expected || busy
		if surplus > largest {
			most, largest = p, surplus
		}
	}
	if most != nil {
		most.pool.owe()
	}
	return expected
}

// forgive takes back what was demanded.
func (r *reclaimer) forgive() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.plugins {
		p.pool.forgive()
	}
}
