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
func (in *Instance) account(n int64) bool {
	if n <= 0 {
		in.charge(n)
		return true
	}
	ok := in.charge(n)
	for !ok && !in.noVictim {
		if !in.Env.Share.Evict(in.refusedBy) {
			in.noVictim = true // a guest that asks again in this call causes no further search
			break
		}
		ok = in.charge(n)
	}
	in.HostFull = !ok
	return ok
}

// charge is account without evicting instances.
func (in *Instance) charge(n int64) bool {
	r := in.Env.Share.Charge(n)
	if r == capacity.NotRefused {
		return true
	}
	in.refusedBy = r
	return false
}

// noRoom says whose memory is used up, after the host refused memory to the instance, and
// what to do about it.
func (in *Instance) noRoom() (what, remedy string) {
	if in.refusedBy == capacity.ShareReached {
		return fmt.Sprintf("the plugin's share of the host's memory, %s for all its instances, has no room", units.FormatSize(in.Env.Limits.Share)), moreShare
	}
	return "the host has no room", MoreMemory
}

// resizeKernel charges for the change of size of a kernel in Go, and reports whether there was
// room.
func (in *Instance) resizeKernel(delta int64) bool {
	size := uint64(int64(in.localSize) + delta)
	counts := beyond(size, kernel.PageSize) - beyond(in.localSize, kernel.PageSize)
	if !in.room.change(counts) {
		return false
	}
	if !in.account(delta) {
		in.room.change(-counts)
		return false
	}
	in.localSize = size
	return true
}

// Hold counts n bytes that the host needs for the call as memory of the plugin and of the host, before
// they are allocated. release gives them back. what names them in the fault.
func (in *Instance) Hold(n int64, what string) (release func(), err error) {
	if !in.room.change(n) {
		return nil, Faultf(abi.ReasonMemory, "needs more than %s together with %s, which take %s in the host", units.FormatSize(in.Env.Limits.Memory), what, units.FormatSize(n))
	}
	if !in.account(n) {
		in.room.change(-n)
		full, remedy := in.noRoom()
		return nil, &Fault{Reason: abi.ReasonMemory, Remedy: remedy, Err: fmt.Errorf("%s for %s, which take %s", full, what, units.FormatSize(n))}
	}
	return func() {
		in.room.change(-n)
		in.account(-n)
	}, nil
}
