package capacity

import "sync/atomic"

// Budget bounds an amount that many share, such as the memory of a host. It is safe for
// concurrent use.
type Budget struct {
	// Limit is the most that may be taken. It must not change after the first use.
	Limit int64
	used  atomic.Int64
}

// Take reserves n and reports whether there was room.
func (b *Budget) Take(n int64) bool {
	for {
		used := b.used.Load()
		if n > b.Limit-used {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// Used returns how much is taken.
func (b *Budget) Used() int64 { return b.used.Load() }

// Give gives n back.
func (b *Budget) Give(n int64) { b.used.Add(-n) }

// change takes n, or gives back -n if n is negative, and reports whether there was room.
func (b *Budget) change(n int64) bool {
	if n > 0 {
		return b.Take(n)
	}
	b.Give(-n)
	return true
}
