package host

import (
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/guest"
)

// checkIdleAfter is how long after a call the stacks of idle instances are checked. For at
// most that long nothing is charged for what a call left on the stack of an idle instance.
const checkIdleAfter = 50 * time.Millisecond

// stackTimer is what a timer knows of a plugin: a pointer to it until it is closed. The runtime
// keeps even a stopped timer until its time, and a closed plugin must not be reachable from
// it.
type stackTimer struct{ plugin atomic.Pointer[Plugin] }

// checkIdleSoon starts the timer for checking idle instances, unless it runs already.
func (p *Plugin) checkIdleSoon() {
	if !p.checking.Load() && p.checking.CompareAndSwap(false, true) {
		time.AfterFunc(checkIdleAfter, p.timer.checkIdle)
	}
}

func (t *stackTimer) checkIdle() {
	if p := t.plugin.Load(); p != nil {
		p.checkIdle()
	}
}

// checkIdle checks the stacks of idle instances. If others are lent or being reset, it checks
// again later. After the plugin was closed there are none.
func (p *Plugin) checkIdle() {
	p.checking.Store(false)
	if !p.pool.Visit((*guest.Instance).CheckStacks) {
		p.checkIdleSoon()
	}
}
