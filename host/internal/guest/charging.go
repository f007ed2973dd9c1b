package guest

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/capacity"
	"github.com/anchor-host/anchor-host/host/internal/kernel"
	"github.com/anchor-host/anchor-host/internal/units"
)

// account takes n bytes of the host's memory, or gives them back if n is negative, and
// reports whether there was room. Idle instances are evicted to make room.
func (m *memory) account(n int64) bool {
	if n <= 0 {
		m.charge(n)
		return true
	}
	ok := m.charge(n)
	for !ok && !m.noVictim {
		if !m.env.Share.Evict(m.refusedBy) {
			m.noVictim = true // a guest that asks again in this call causes no further search
			break
		}
		ok = m.charge(n)
	}
	m.HostFull = !ok
	return ok
}

// charge is account without evicting instances.
func (m *memory) charge(n int64) bool {
	r := m.env.Share.Charge(n)
	if r == capacity.NotRefused {
		return true
	}
	m.refusedBy = r
	return false
}

// noRoom says whose memory is used up, after the host refused memory to the instance, and
// what to do about it.
func (m *memory) noRoom() (what, remedy string) {
	if m.refusedBy == capacity.ShareReached {
		return fmt.Sprintf("the plugin's share of the host's memory, %s for all its instances, has no room", units.FormatSize(m.env.Limits.Share)), moreShare
	}
	return "the host has no room", MoreMemory
}

// resizeKernel charges for the change of size of a kernel in Go, and reports whether there was
// room.
func (m *memory) resizeKernel(delta int64) bool {
	size := uint64(int64(m.kernel) + delta)
	counts := beyond(size, kernel.PageSize) - beyond(m.kernel, kernel.PageSize)
	if !m.room.change(counts) {
		return false
	}
	if !m.account(delta) {
		m.room.change(-counts)
		return false
	}
	m.kernel = size
	return true
}

// Hold counts n bytes that the host needs for the call as memory of the plugin and of the host, before
// they are allocated. release gives them back. what names them in the fault.
func (m *memory) Hold(n int64, what string) (release func(), err error) {
	if !m.room.change(n) {
		return nil, Faultf(abi.ReasonMemory, "needs more than %s together with %s, which take %s in the host", units.FormatSize(m.env.Limits.Memory), what, units.FormatSize(n))
	}
	if !m.account(n) {
		m.room.change(-n)
		full, remedy := m.noRoom()
		return nil, &Fault{Reason: abi.ReasonMemory, Remedy: remedy, Err: fmt.Errorf("%s for %s, which take %s", full, what, units.FormatSize(n))}
	}
	return func() {
		m.room.change(-n)
		m.account(-n)
	}, nil
}
