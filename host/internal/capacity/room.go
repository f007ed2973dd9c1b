package capacity

import (
	"sync"
	"sync/atomic"
	"time"
)

// Room is the room of a host. It is safe for concurrent use. It must be allocated on its own:
// the runtime holds a timer, and what the timer refers to, for a while after it was stopped.
type Room struct {
	instances, memory Budget
	most              int64
	clock             func() time.Duration

	// waiting is how many callers wait for room, returned how often room was given back.
	waiting  atomic.Int32
	returned atomic.Int64

	// mu is taken before the locks of owners' pools.
	mu     sync.Mutex
	shares map[*Share]struct{}
	// timer runs sweep when the clock reaches due. It is nil while no instance can become idle.
	timer   *time.Timer
	due     time.Duration
	stopped bool
}

// Options are the bounds of a [Room].
type Options struct {
	// Instances is the most instances of all owners, Memory the most that they hold, in bytes.
	Instances, Memory int64
	// Share is the most memory of one owner that has several instances, in bytes.
	Share int64
	// Clock is the clock of which the times of [Instances] are.
	Clock func() time.Duration
}

// Instances are the instances of one owner that are not in use. A pool.Pool implements it.
// The methods must not call methods of the room, except Leave, Charge with what is given back,
// and Give.
type Instances interface {
	// Oldest returns when the idle instance that was used longest ago was last used, or
	// math.MaxInt64 if none is idle. surplus says that the owner has more instances than it
	// keeps.
	Oldest() (at time.Duration, surplus bool)
	// Reclaim closes the idle instance that was used longest ago, if that was before a time of
	// the clock and the owner has more than it keeps. It reports whether it did.
	Reclaim(before time.Duration) bool
	// Payable returns how many instances the owner has beyond those that it keeps and those
	// that it owes, and whether an instance is expected to come back.
	Payable() (n int, busy bool)
	// Owe has the owner close one more of the instances that come back. Forgive withdraws all
	// such demands.
	Owe()
	Forgive()
}

// New makes a room.
func New(o Options) *Room {
	r := &Room{most: o.Share, clock: o.Clock, shares: map[*Share]struct{}{}}
	r.instances.Limit, r.memory.Limit = o.Instances, o.Memory
	return r
}

// Take takes n bytes that belong to no instance, and reports whether there was room. Idle
// instances may be evicted for them.
func (r *Room) Take(n int64) bool {
	for !r.memory.Take(n) {
		if !r.evict(nil) {
			return false
		}
	}
	return true
}

// Give gives back n bytes that Take took.
func (r *Room) Give(n int64) { r.memory.Give(n) }

// Usage returns how many places are taken, and how many bytes.
func (r *Room) Usage() (instances, memory int64) {
	return r.instances.Used(), r.memory.Used()
}

// Waiting returns how many callers wait for room.
func (r *Room) Waiting() int { return int(r.waiting.Load()) }

// takeInstance takes a place, for which an idle instance may be evicted.
func (r *Room) takeInstance() bool {
	for !r.instances.Take(1) {
		if !r.evict(nil) {
			return false
		}
	}
	return true
}

// giveInstance gives a place back.
func (r *Room) giveInstance() {
	r.instances.Give(1)
	r.returned.Add(1)
}
