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
func (r *Room) Give(n int64) {
	r.memory.Give(n)
	r.returned.Add(1)
}

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

// Share is what one owner has of a [Room]. It is safe for concurrent use, but for Reserve, Open
// and Close.
type Share struct {
	room *Room
	// idle is how long an idle instance is kept.
	idle time.Duration
	// instances are set by Open.
	instances Instances
	// reserved says that the owner has its place.
	reserved bool

	// mu guards pooled: how many instances the pool has. One is in the owner's place, each
	// other one takes a further place.
	mu     sync.Mutex
	pooled int
	// all is how many instances there are, with those outside of the pool.
	all atomic.Int32
	// held is the memory of the instances, in bytes.
	held atomic.Int64
}

// NewShare makes the share of an owner, which has no room yet. idle is how long an idle
// instance of the owner is kept.
func (r *Room) NewShare(idle time.Duration) *Share { return &Share{room: r, idle: idle} }

// Reserve takes the owner's place, for which an idle instance of another may be evicted, and
// reports whether there was one.
func (s *Share) Reserve() bool {
	s.reserved = s.reserved || s.room.takeInstance()
	return s.reserved
}

// Open allows the room to close idle instances of the owner, until Close.
func (s *Share) Open(instances Instances) {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	s.instances = instances
	s.room.shares[s] = struct{}{}
}

// Close gives the owner's place back. The owner has no instance left.
func (s *Share) Close() {
	s.room.forget(s)
	if s.reserved {
		s.reserved = false
		s.room.giveInstance()
	}
}

// Enter takes a place for an instance, and reports whether there was one: that of the owner, or
// a further one of the room, for which an idle instance may be evicted. apart says that the
// instance is not one of the pool. Such an instance never takes the owner's place.
func (s *Share) Enter(apart bool) bool {
	for !s.tryEnter(apart) {
		if !s.room.evict(nil) {
			return false
		}
	}
	if s.all.Add(1) > 1 {
		s.room.arm(s.idle)
	}
	return true
}

func (s *Share) tryEnter(apart bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if (apart || s.pooled > 0) && !s.room.instances.Take(1) {
		return false
	}
	if !apart {
		s.pooled++
	}
	return true
}

// Leave gives the place of an instance back, after everything else that the instance held.
func (s *Share) Leave(apart bool) {
	s.all.Add(-1)
	s.mu.Lock()
	if !apart {
		s.pooled--
	}
	if apart || s.pooled > 0 {
		s.room.instances.Give(1)
	}
	s.mu.Unlock()
	s.room.returned.Add(1)
}

// Pooled reports whether the pool has an instance, or is making one.
func (s *Share) Pooled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pooled > 0
}

// Refusal says why memory was refused.
type Refusal uint8

// Memory is refused because the owner has reached its share, or because the room is full.
const (
	NotRefused Refusal = iota
	ShareReached
	RoomFull
)

// Charge takes n bytes for the instances of the owner, or gives -n back if n is negative. It
// evicts nothing. Memory that is given back is never refused.
func (s *Share) Charge(n int64) Refusal {
	if held := s.held.Add(n); n > 0 && held > s.room.most && s.all.Load() > 1 {
		s.held.Add(-n)
		return ShareReached
	}
	if s.room.memory.change(n) {
		if n < 0 {
			s.room.returned.Add(1)
		}
		return NotRefused
	}
	s.held.Add(-n)
	return RoomFull
}

// Evict closes an idle instance that holds some of what Charge refused: one of the owner if it
// has reached its share. It reports whether there was one.
func (s *Share) Evict(r Refusal) bool {
	if r == ShareReached {
		return s.room.evict(s)
	}
	return s.room.evict(nil)
}

// Held returns what the instances of the owner hold, in bytes.
func (s *Share) Held() int64 { return s.held.Load() }
