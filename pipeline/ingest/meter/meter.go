// Package meter bounds what reading one file costs.
//
// Parsers and chunkers draw from one [Meter] before they allocate and inside of their loops: the
// memory that they hold, and the work that they do. So a file costs in proportion to its bytes,
// whatever is in it, and the same file is refused on every machine. A deadline is looked at on the
// way.
package meter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"
	"unsafe"
)

// ErrCostly means that a file costs more than one of its size may.
var ErrCostly = errors.New("it costs too much for its size (convert it to text, or leave it out)")

// Budget is what a [Meter] starts with.
type Budget struct {
	// Memory is how many bytes may be held at the same time.
	Memory int
	// Work is in units of about one byte that is looked at, some nanoseconds each.
	Work int
	// Time is how long all may take, without what [Meter.Wait] waited for, and how much of its processors the
	// process may use meanwhile: a process that waits for a busy machine has more. 0 means any time.
	Time time.Duration
}

// Meter is the account of one file. Once anything is used up, each further draw fails, and
// [Meter.Err] says why: a loop only has to stop. It is not safe for concurrent use.
type Meter struct {
	ctx      context.Context
	budget   Budget
	memory   int // left
	least    int // what was left of memory when most was held
	work     int // left, without steps
	steps    int // left until the clock is looked at
	deadline time.Time
	used     time.Duration // of the processors, when the account began
	err      error
}

// quantum is the work between two looks at the clock: less than a millisecond.
const quantum = 1 << 16

// New begins an account. It also ends with the context.
func New(ctx context.Context, b Budget) *Meter {
	m := &Meter{ctx: ctx, budget: b, memory: b.Memory, least: b.Memory, work: b.Work}
	if b.Time > 0 {
		m.deadline, m.used = time.Now().Add(b.Time), processorTime()
	}
	return m
}

// Take draws memory of n bytes. Memory costs a little work too.
func (m *Meter) Take(n int) bool {
	m.memory -= n
	m.steps -= n >> 3
	if m.memory|m.steps < 0 { // either
		return m.look()
	}
	return true
}

// Give gives back memory that is no longer held.
func (m *Meter) Give(n int) {
	if m.err == nil {
		m.least = min(m.least, m.memory)
		m.memory += n
	}
}

// Work draws n units of work.
func (m *Meter) Work(n int) bool {
	if m.steps -= n; m.steps < 0 {
		return m.look()
	}
	return true
}

// Grow raises the budget, of a file whose size shows as it is read.
func (m *Meter) Grow(memory, work int) {
	m.budget.Memory, m.budget.Work = m.budget.Memory+memory, m.budget.Work+work
	m.memory, m.least, m.work = m.memory+memory, m.least+memory, m.work+work
}

// Held is the memory that is held now.
func (m *Meter) Held() int { return m.budget.Memory - m.memory }

// Peak is the most memory that was held.
func (m *Meter) Peak() int {
	if m.err == nil {
		m.least = min(m.least, m.memory)
	}
	return m.budget.Memory - m.least
}

// Spent is the work that was done.
func (m *Meter) Spent() int { return m.budget.Work - m.work - max(0, m.steps) }

// Err says why draws fail: an error that wraps [ErrCostly], or that of the context. It is nil as
// long as they do not.
func (m *Meter) Err() error { return m.err }

// Wait does something else, such as asking a server, whose time does not count.
func (m *Meter) Wait(do func() error) error {
	began := time.Now()
	err := do()
	if !m.deadline.IsZero() {
		m.deadline = m.deadline.Add(time.Since(began))
	}
	return err
}

// look draws what steps were for, and decides whether the work goes on.
func (m *Meter) look() bool {
	if m.err == nil {
		m.err = m.judge()
	}
	if m.err != nil {
		m.memory, m.steps = math.MinInt/2, -1 // each further draw fails
	}
	return m.err == nil
}

func (m *Meter) judge() error {
	runtime.Gosched() // what else runs in the process waits for a millisecond, and not for ten
	m.least = max(0, min(m.least, m.memory))
	left := m.work + m.steps
	m.steps = max(0, min(left, quantum))
	m.work = left - m.steps
	switch err := m.ctx.Err(); {
	case err != nil:
		return err
	case m.memory < 0:
		return fmt.Errorf("%w: needs more than %d MiB of memory", ErrCostly, m.budget.Memory>>20)
	case left < 0:
		return fmt.Errorf("%w: needs more than %d million steps", ErrCostly, m.budget.Work/1_000_000)
	case !m.deadline.IsZero() && time.Now().After(m.deadline) && !m.starved():
		return fmt.Errorf("%w: takes more than %v", ErrCostly, m.budget.Time)
	}
	return nil
}

// starved reports whether the process has not had as much of its processors as the time of the budget, and
// if so moves the deadline by the rest.
func (m *Meter) starved() bool {
	rest := m.budget.Time - (processorTime() - m.used)
	if rest <= 0 {
		return false
	}
	m.deadline = time.Now().Add(rest)
	return true
}

// Room returns a slice with room for n more elements, or false. The memory that a larger one takes
// is drawn first, and that of the old one is given back.
func Room[E any](m *Meter, s []E, n int) ([]E, bool) {
	if len(s)+n <= cap(s) {
		return s, true
	}
	var e E
	size := int(unsafe.Sizeof(e))
	most := max(len(s)+n, cap(s)+cap(s)/2, 4)
	if !m.Take(most * size) {
		return s, false
	}
	larger := append(make([]E, 0, most), s...)
	m.Give(cap(s) * size)
	return larger, true
}

// Append is append that draws the memory of the slice. It adds nothing if there is none left.
func Append[E any](m *Meter, s []E, e E) []E {
	s, ok := Room(m, s, 1)
	if ok {
		s = append(s, e)
	}
	return s
}
