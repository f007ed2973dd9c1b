package quota

import (
	"math"
	"time"
)

// bucket counts what was used lately. It forgets evenly, as much in a window as the limit is.
type bucket struct {
	used float64
	at   time.Duration // since the start of the limiter
}

// policy is a limit of a window.
type policy struct {
	name   string
	limit  float64
	window time.Duration
	// burst is what may be used at once.
	burst float64
	// ahead is what a request needs before it runs. 0: anything that is left will do.
	ahead float64
}

// forget brings a bucket up to date.
func (b *bucket) forget(p *policy, now time.Duration) {
	if passed := now - b.at; passed > 0 {
		b.used = max(0, b.used-p.limit*passed.Seconds()/p.window.Seconds())
	}
	b.at = now
}

// wait returns how long it takes until a request may run; 0 means now.
func (b *bucket) wait(p *policy) time.Duration {
	over := b.used + p.ahead - p.burst
	if over < 0 || p.ahead > 0 && over == 0 {
		return 0
	}
	seconds := over / p.limit * p.window.Seconds()
	if seconds > longest.Seconds() {
		return longest
	}
	return max(time.Millisecond, time.Duration(math.Ceil(seconds*1e9)))
}

// full returns how long it takes until nothing counts as used.
func (b *bucket) full(p *policy) time.Duration {
	if seconds := b.used / p.limit * p.window.Seconds(); seconds < longest.Seconds() {
		return time.Duration(seconds * 1e9)
	}
	return longest
}

// longest is the longest time that a client is told to wait.
const longest = 24 * time.Hour

// left returns what may still be used, in whole units.
func (b *bucket) left(p *policy) int64 {
	return int64(min(max(0, p.burst-b.used), math.MaxInt64/2))
}

// The buckets of an account, by their places.
const (
	requests = iota
	fuel
	tokens
	modelCalls
	buckets
)

// policies returns the limits that are buckets. Those without a limit have limit 0.
func (l *Limits) policies() [buckets]policy {
	second := max(1, l.RequestsPerSecond)
	minute := func(name string, n int64) policy {
		return policy{name: name, limit: float64(n), window: time.Minute, burst: float64(n)}
	}
	return [buckets]policy{
		requests:   {name: "requests", limit: l.RequestsPerSecond, window: time.Second, burst: second, ahead: 1},
		fuel:       minute("fuel", l.FuelPerMinute),
		tokens:     minute("tokens", l.TokensPerMinute),
		modelCalls: minute("model-calls", l.ModelCallsPerMinute),
	}
}
