// Package seldom says when to log again what happens often.
package seldom

import (
	"sync"
	"time"
)

const (
	// every is how often a kind is due.
	every = 10 * time.Second
	// most bounds the kinds that are known, because requests and plugins may name their own.
	most = 1000
)

// Kinds remembers when each kind of event was last logged. It is safe for concurrent use; the zero
// value is ready.
type Kinds[K comparable] struct {
	mu    sync.Mutex
	said  map[K]*said
	swept time.Time
}

// said says when a kind was last logged, and how often it came since.
type said struct {
	at     time.Time
	unsaid int
}

// Due reports whether a kind is to be logged now, and how many of it were not.
func (s *Kinds[K]) Due(kind K, now time.Time) (unsaid int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.said[kind]
	if last == nil {
		if s.said == nil || len(s.said) >= most {
			s.said = map[K]*said{}
		}
		s.said[kind] = &said{at: now}
		return 0, true
	}
	if now.Sub(last.at) < every {
		last.unsaid++
		return 0, false
	}
	unsaid, last.at, last.unsaid = last.unsaid, now, 0
	return unsaid, true
}

// Late returns the kinds that were due before now and did not come again since, and how many of each were not
// logged. It looks once in a while.
func (s *Kinds[K]) Late(now time.Time) map[K]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.swept) < every {
		return nil
	}
	s.swept = now
	var late map[K]int
	for kind, last := range s.said {
		if last.unsaid == 0 || now.Sub(last.at) < every {
			continue
		}
		if late == nil {
			late = map[K]int{}
		}
		late[kind], last.at, last.unsaid = last.unsaid, now, 0
	}
	return late
}
