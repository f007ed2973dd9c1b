package host

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// shelves hold values where the processor that had them last finds them again: their
// memory is in the cache of that processor alone, and no lock is taken that others take
// too. They hold as many values as there are processors, at most.
type shelves[T any] struct {
	// own is of *shelf[T]: the one that this processor used last. The runtime knows a
	// sync.Pool until the second collection after its last use, and with it all that it is
	// a part of: therefore it is a part of nothing.
	own  *sync.Pool
	all  []shelf[T]
	next atomic.Uint32
}

// shelf holds one value, in cache lines of its own.
type shelf[T any] struct {
	state atomic.Uint32
	value T
	_     [128]byte
}

// States of a shelf. Whoever moves a shelf to shelfHeld owns its value until the next
// move.
const (
	shelfEmpty uint32 = iota
	shelfHeld
	shelfFull
)

// newShelves makes shelves for at most max values.
func newShelves[T any](max int) shelves[T] {
	return shelves[T]{own: new(sync.Pool), all: make([]shelf[T], min(max, runtime.NumCPU()))}
}

// put leaves a value on the shelf of this processor, or else on one that is empty. It
// returns where, nil if all are full.
func (s *shelves[T]) put(v T) *shelf[T] {
	own := s.mine()
	if own != nil && own.put(v) {
		s.own.Put(own)
		return own
	}
	first := int(s.next.Add(1))
	for i := range s.all {
		if other := &s.all[(first+i)%len(s.all)]; other.put(v) {
			s.own.Put(other)
			return other
		}
	}
	return nil
}

// take removes the value that this processor left.
func (s *shelves[T]) take() (v T, ok bool) {
	if own := s.mine(); own != nil {
		v, ok = own.take()
		s.own.Put(own)
	}
	return v, ok
}

// takeAny removes the value of any processor.
func (s *shelves[T]) takeAny() (v T, ok bool) {
	for i := range s.all {
		if v, ok := s.all[i].take(); ok {
			return v, true
		}
	}
	return v, false
}

// visit shows the values to see, while nobody can take one, and returns how many.
func (s *shelves[T]) visit(see func(T)) (n int) {
	for i := range s.all {
		if at := &s.all[i]; at.state.CompareAndSwap(shelfFull, shelfHeld) {
			see(at.value)
			at.state.Store(shelfFull)
			n++
		}
	}
	return n
}

// count is how many values there are.
func (s *shelves[T]) count() (n int) {
	for i := range s.all {
		if s.all[i].state.Load() == shelfFull {
			n++
		}
	}
	return n
}

// mine is the shelf that this processor used last, nil where none is known.
func (s *shelves[T]) mine() *shelf[T] {
	own, _ := s.own.Get().(*shelf[T])
	return own
}

func (s *shelf[T]) put(v T) bool {
	if !s.state.CompareAndSwap(shelfEmpty, shelfHeld) {
		return false
	}
	s.value = v
	s.state.Store(shelfFull)
	return true
}

func (s *shelf[T]) take() (v T, ok bool) {
	if !s.state.CompareAndSwap(shelfFull, shelfHeld) {
		return v, false
	}
	var none T
	v, s.value = s.value, none
	s.state.Store(shelfEmpty)
	return v, true
}

// takeIf is take for a value that passes the test.
func (s *shelf[T]) takeIf(test func(T) bool) (v T, ok bool) {
	if !s.state.CompareAndSwap(shelfFull, shelfHeld) {
		return v, false
	}
	if !test(s.value) {
		s.state.Store(shelfFull)
		return v, false
	}
	var none T
	v, s.value = s.value, none
	s.state.Store(shelfEmpty)
	return v, true
}

// swapIf puts v in the place of a value that passes the test.
func (s *shelf[T]) swapIf(v T, test func(T) bool) (old T, ok bool) {
	if !s.state.CompareAndSwap(shelfFull, shelfHeld) {
		return old, false
	}
	defer s.state.Store(shelfFull)
	if !test(s.value) {
		return old, false
	}
	old, s.value = s.value, v
	return old, true
}
