// Package pause delays what failed: each failure in a row doubles the pause until it is tried
// again.
package pause

import (
	"sync"
	"time"
)

// The pause after the first failure, and the longest.
const (
	First   = 10 * time.Second
	Longest = 10 * time.Minute
)

// most bounds the names whose failures are remembered.
const most = 1000

// Pauses remember failures by name. The zero value works. They are safe for concurrent use.
type Pauses struct {
	mu sync.Mutex
	of map[string]state
}

type state struct {
	failures int
	from     time.Time
	length   time.Duration
}

// Left returns how much of a pause is left, 0 for none, and how often in a row the name failed. If
// the clock was set back, the pause begins again: nothing pauses for as long as the clock jumped.
func (p *Pauses) Left(name string, now time.Time) (left time.Duration, failures int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, known := p.of[name]
	if known && now.Before(s.from) {
		s.from = now
		p.of[name] = s
	}
	return max(0, s.length-now.Sub(s.from)), s.failures
}

// Note notes that a name succeeded or failed.
func (p *Pauses) Note(name string, failed bool, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !failed {
		delete(p.of, name)
		return
	}
	s, known := p.of[name]
	if !known && len(p.of) >= most {
		for other := range p.of { // any: it is only tried earlier
			delete(p.of, other)
			break
		}
	}
	if p.of == nil {
		p.of = make(map[string]state)
	}
	s.from, s.length = now, min(Longest, First<<min(s.failures, 10))
	s.failures++
	p.of[name] = s
}
