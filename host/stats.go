package host

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
)

// Counters add up what happened since a plugin was loaded, or a host made. They only grow.
// A call is counted when it has ended; what an instance in use did in the millisecond before
// its running call may be missing until that ends.
type Counters struct {
	// OK is how many calls ended well, Failed how many did not, by each of abi.Reasons.
	// Calls that functions of the embedder make within a call count, too. What is run to
	// load a plugin is no call.
	OK     int64
	Failed map[abi.Reason]int64
	// Resets is how often an instance was put back to the image. Recycled is how many
	// instances were closed as they had served many calls or grown too large, and Replaced
	// how many as they could not be used again after a call: after an exit, say, or each
	// one under StateFresh.
	Resets, Recycled, Replaced int64
	// Made is how many instances were made, Closed how many of them were closed, for
	// whatever reason.
	Made, Closed int64
	// Fuel and Time are what calls used: units, and the time in which they ran or blocked,
	// without what they waited for an instance or a processor. Those of a call include the
	// calls within it.
	Fuel int64
	Time time.Duration
	// BytesIn are the bytes of the requests that guests received, BytesOut those of their answers.
	BytesIn, BytesOut int64
}

// Calls is how many calls ended.
func (c *Counters) Calls() int64 {
	n := c.OK
	for _, failed := range c.Failed {
		n += failed
	}
	return n
}

// Stats are figures of a plugin at one moment.
type Stats struct {
	// Plugin is the name of the configured plugin.
	Plugin string
	// State is what happens to its instances between calls: StateFresh where they could not
	// be captured; see [Plugin.Notes].
	State State
	Counters
	// InUse is how many instances serve calls, Idle how many others the plugin has, those
	// that are being reset included, and Sessions how many are those of a [Session].
	InUse, Idle, Sessions int
	// Waiting is how many calls wait for an instance, Queued how many for a processor.
	Waiting, Queued int
	// Memory is what the plugin holds of Config.Memory, in bytes, the image that its
	// instances share included. MaxMemory is the most that instances may hold without
	// the image, as soon as there are several; see Config.PluginShare.
	Memory, MaxMemory int64
	// Circuit says whether the plugin is paused for any tenant, after Limits.BreakAfter failures in a
	// row. Failures and OpenUntil are those of the tenant whose pause is longest.
	Circuit CircuitState
	// Failures is how many calls failed in a row, as Limits.BreakAfter counts them.
	Failures int
	// Breaks is how often such a pause has begun.
	Breaks int
	// OpenUntil is when the next call is made, the zero time where nothing holds it up.
	OpenUntil time.Time
	// Used is what the plugin used of the processors lately: what it used counts for half
	// after a quarter of a second. It decides who is next where plugins wait for one.
	// Calls shorter than a tenth of a millisecond only count while others wait.
	Used time.Duration
}

// Totals are figures of a host at one moment.
type Totals struct {
	// Counters are those of all plugins since New, of plugins that are closed, too.
	Counters
	// Plugins are those that are loaded, in the order of their names.
	Plugins []Stats
	// Instances is how many places for instances are taken, that which each loaded plugin
	// has included, and MaxInstances how many there are.
	Instances, MaxInstances int
	// Waiting is how many calls and loads wait for a place or for memory.
	Waiting int
	// Memory is what is taken of Config.Memory, in bytes, MaxMemory what there is.
	Memory, MaxMemory int64
	// KV is what the key-value stores in memory hold, MaxKV the most they may; see
	// Config.KVMemory. Of a Config.KVStore nothing is known.
	KV, MaxKV int64
}

// Stats returns figures of the plugin. It costs a few microseconds, and calls next to nothing.
func (p *Plugin) Stats() Stats {
	r := p.lending.breakers.Worst()
	s := Stats{
		Plugin: p.setup.name, State: p.setup.state, Sessions: p.lending.sessions.count(), Queued: p.lending.account.Waiting(),
		Memory: p.lending.share.Held() + p.starting.imageHeld.Load(), MaxMemory: min(p.setup.host.cfg.shareOfOne(), p.setup.host.cfg.Memory),
		Circuit: CircuitState(r.State), Failures: r.Failures, Breaks: r.Times, Used: p.lending.account.Used(),
	}
	if r.Left > 0 {
		s.OpenUntil = time.Now().Add(r.Left)
	}
	s.InUse, s.Idle, s.Waiting = p.lending.pool.Figures()
	p.lending.collect()
	s.Counters = p.counting.counts.read()
	return s
}

// Stats returns figures of the host and of its plugins.
func (h *Host) Stats() Totals {
	instances, memory := h.room.Usage()
	s := Totals{
		Instances: int(instances), MaxInstances: h.cfg.MaxInstances, Waiting: h.room.Waiting(),
		Memory: memory, MaxMemory: h.cfg.Memory, KV: h.kv.Size(), MaxKV: h.cfg.KVMemory,
	}
	for _, p := range h.loaded() {
		s.Plugins = append(s.Plugins, p.Stats())
	}
	slices.SortFunc(s.Plugins, func(a, b Stats) int { return cmp.Compare(a.Plugin, b.Plugin) })
	s.Counters = h.counts.read()
	return s
}

// loaded are the plugins that have been loaded and are not closed.
func (h *Host) loaded() (all []*Plugin) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range h.plugins {
		select {
		case <-p.opened:
			all = append(all, p)
		default:
		}
	}
	return all
}

// read returns what was counted.
func (c *counters) read() Counters {
	out := Counters{
		OK: c.ok.Load(), Failed: make(map[abi.Reason]int64, len(abi.Reasons)),
		Resets: c.resets.Load(), Recycled: c.recycled.Load(), Replaced: c.replaced.Load(), Closed: c.closed.Load(),
		Fuel: c.fuel.Load(), Time: time.Duration(c.took.Load()), BytesIn: c.in.Load(), BytesOut: c.out.Load(),
	}
	out.Made = c.made.Load() // after those that are closed, of which it is more
	for i, r := range abi.Reasons {
		out.Failed[r] = c.failed[i].Load()
	}
	return out
}

// take adds what an instance counted.
func (c *counters) take(t *guest.Tally) {
	c.ok.Add(t.OK)
	c.fuel.Add(t.Fuel)
	c.took.Add(int64(t.Took))
	c.in.Add(t.In)
	c.out.Add(t.Out)
	c.resets.Add(t.Resets)
}

// count adds one to a counter of the plugin and of its host.
func (c *counting) count(which func(*counters) *atomic.Int64) {
	which(c.counts).Add(1)
	which(c.whole).Add(1)
}

// countFailure counts a call that failed.
func (c *counting) countFailure(why abi.Reason) {
	if i := slices.Index(abi.Reasons, why); i >= 0 {
		c.count(func(c *counters) *atomic.Int64 { return &c.failed[i] })
	}
}

// collect has instances that nobody uses hand in what they counted.
func (l *lending) collect() { l.pool.Visit((*guest.Instance).HandIn) }

// count is how many sessions are open.
func (a *sessions) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.open)
}
