package host

import (
	"sync/atomic"

	"github.com/anchor-host/anchor-host/internal/cgroup"
)

// budget bounds an amount that many share, such as the memory of a host.
type budget struct {
	limit int64
	used  atomic.Int64
}

// take reserves n and reports whether there was room.
func (b *budget) take(n int64) bool {
	for {
		used := b.used.Load()
		if n > b.limit-used {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// give gives n back.
func (b *budget) give(n int64) { b.used.Add(-n) }

// change takes n, or gives back -n if n is negative, and reports whether there was room.
func (b *budget) change(n int64) bool {
	if n > 0 {
		return b.take(n)
	}
	b.give(-n)
	return true
}

// memoryDefault returns the default of [Config].Memory in bytes: DefaultHostMemory, or half
// of what the control groups of the process allow it if that is less.
func memoryDefault() int64 {
	if limit, ok := cgroup.MemoryLimit(); ok {
		return min(DefaultHostMemory, limit/2)
	}
	return DefaultHostMemory
}
