package host

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/capacity"
)

// account takes n bytes of the host's memory, or gives them back if n is negative, and
// reports whether there was room. Idle instances are evicted to make room.
func (in *instance) account(n int64) bool {
	if n <= 0 {
		in.charge(n)
		return true
	}
	ok := in.charge(n)
	for !ok && !in.noVictim {
		if !in.env.share.Evict(in.refusedBy) {
			in.noVictim = true // a guest that asks again in this call causes no further search
			break
		}
		ok = in.charge(n)
	}
	in.hostFull = !ok
	return ok
}

// charge is account without evicting instances.
func (in *instance) charge(n int64) bool {
	r := in.env.share.Charge(n)
	if r == capacity.NotRefused {
		return true
	}
	in.refusedBy = r
	return false
}

// noRoom says whose memory is used up, after the host refused memory to the instance, and
// what to do about it.
func (in *instance) noRoom() (what, remedy string) {
	if in.refusedBy == capacity.ShareReached {
		return fmt.Sprintf("the plugin's share of the host's memory, %s for all its instances, has no room", abi.FormatSize(in.env.bounds.share)), moreShare
	}
	return "the host has no room", moreMemory
}
