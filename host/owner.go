package host

import (
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/guest"
)

// pluginOwner is a plugin as the owner of its instances.
type pluginOwner struct{ p *Plugin }

// pluginOf is the plugin of an instance.
func pluginOf(in *guest.Instance) *Plugin { return in.Env.Owner.(pluginOwner).p }

// Several implements owner.
func (o pluginOwner) Several() bool {
	n, _ := o.p.pool.Counts()
	return n > 1
}

// Made implements owner.
func (o pluginOwner) Made(fromImage bool, took time.Duration) {
	o.p.count(func(c *counters) *atomic.Int64 { return &c.made })
	o.p.log.Debug("instance made", "number", o.p.counts.made.Load(), "from_image", fromImage, "took", took)
}

// Count implements owner.
func (o pluginOwner) Count(e guest.Event) { o.p.count(eventCounters[e]) }

// eventCounters are the counters of the events in the life of an instance.
var eventCounters = [...]func(*counters) *atomic.Int64{
	guest.Closed:   func(c *counters) *atomic.Int64 { return &c.closed },
	guest.Recycled: func(c *counters) *atomic.Int64 { return &c.recycled },
	guest.Replaced: func(c *counters) *atomic.Int64 { return &c.replaced },
}

// Add implements owner.
func (o pluginOwner) Add(t *guest.Tally) {
	o.p.counts.take(t)
	o.p.host.counts.take(t)
}
