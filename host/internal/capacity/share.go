package capacity

import (
	"sync"
	"sync/atomic"
	"time"
)

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
