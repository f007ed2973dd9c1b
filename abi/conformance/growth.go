package conformance

import (
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi/manifest"
)

// These bound how often tryGrowth calls a guest, and when it reads the size of the memory.
const (
	growthCalls      = 10_000
	growthCallsShort = 2_000
	// growthMost is how often a guest is called whose memory has not settled:
	// a garbage collector may let it grow for thousands of small calls.
	growthMost    = 80_000
	growthSamples = 10
	// growthTime bounds the calls of one operation and lane: a slow guest is
	// judged by the calls it has made by then.
	growthTime = 20 * time.Second
	// growthJump is how many bytes an allocator may take at once in the second half.
	growthJump = 8 << 20
)

// tryGrowth calls one instance until its memory stops growing.
func tryGrowth(p *probe) outcome {
	if p.s.o.Sparing {
		return skipped("the plugin sends requests to servers")
	}
	g, t := p.keeper()
	if t != nil {
		return p.verdictOf(t)
	}
	req := p.build(shape{n: 4})
	b, err := req.encode(p.lane)
	if err != nil {
		return failed("the kit cannot make the request: %s", err)
	}
	calls := growthCalls
	if p.s.o.Short {
		calls = growthCallsShort
	}
	if p.s.asksServers() {
		calls /= 4
	}
	return p.grow(g, Call{Operation: p.op.Operation, Lane: p.lane, Request: b}, calls)
}

// asksServers reports whether the guest asks for HTTP. Its calls take longer than others.
func (s *subject) asksServers() bool {
	return slices.ContainsFunc(s.d.Manifest.Permissions, func(p manifest.Permission) bool { return p.Kind == manifest.PermissionHTTP })
}

// grow makes calls, and twice as many while the memory grows.
func (p *probe) grow(g Guest, c Call, calls int) outcome {
	every := calls / growthSamples
	var samples []int64
	var last int64
	began := time.Now()
	for made := 1; ; made++ {
		a, err := g.Call(p.ctx, c)
		if err != nil {
			return failed("call %d failed: %s", made, err)
		}
		if a.Memory < last { // a memory cannot shrink: it is another one
			return failed("after %d calls the memory had grown to %d KiB, and the host replaced the instance", made-1, last>>10)
		}
		last = a.Memory
		late := time.Since(began) > growthTime
		if made%every == 0 {
			samples = append(samples, a.Memory)
		}
		switch {
		case late && len(samples) < growthSamples/2:
			return skipped("only %d calls in %v", made, growthTime)
		case late && made < growthCalls:
			if o := grown(samples, made); o.verdict != Fail {
				return o
			}
			return skipped("the memory had not settled after %d calls, for which there were %v", made, growthTime)
		case late || made >= growthMost:
			return grown(samples, made)
		case made == calls:
			if o := grown(samples, made); o.verdict != Fail {
				return o
			}
			calls *= 2
		}
	}
}

// grown judges the sizes of a memory over time. A guest grows if it takes more memory in most
// parts of the second half of its calls, or a lot at once.
func grown(samples []int64, calls int) outcome {
	if samples[0] == 0 {
		return skipped("the host has no size of the memory")
	}
	const parts = growthSamples / 2
	n := len(samples)
	at := func(i int) int64 { return samples[n/2-1+(n-n/2)*i/parts] }
	steps := 0
	for i := 1; i <= parts; i++ {
		if at(i) > at(i-1) {
			steps++
		}
	}
	if steps > parts/2 || at(parts)-at(0) > growthJump {
		return failed("the memory grew from %d to %d KiB between call %d and %d", at(0)>>10, at(parts)>>10, calls/2, calls)
	}
	return passed
}
