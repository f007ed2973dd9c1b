package conformance

import "time"

// How often tryGrowth calls, and when it looks at the memory.
const (
	growthCalls      = 10_000
	growthCallsShort = 500
	growthSamples    = 10
	// growthTime bounds the calls of one operation and lane: a slow guest is
	// judged by the calls it has made by then.
	growthTime = 20 * time.Second
	// growthJump is what an allocator may take at once in the second half.
	growthJump = 8 << 20
)

// tryGrowth calls one instance again and again. A guest grows that takes more
// memory in most of the last samples, or a lot at once after half of the calls;
// a garbage collector has found its size by then.
func tryGrowth(p *probe) outcome {
	if p.lost(caseAgain) {
		return skipped("see %s", caseAgain)
	}
	g, t := p.keeper()
	if t != nil {
		return p.verdictOf("", t)
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
	samples := make([]int64, 0, growthSamples)
	began, made := time.Now(), 0
	for time.Since(began) < growthTime && made < calls {
		a, err := g.Call(p.ctx, Call{Operation: p.op.Operation, Lane: p.lane, Request: b})
		if err != nil {
			return failed("call %d failed: %s", made+1, err)
		}
		made++
		if made%(calls/growthSamples) == 0 {
			samples = append(samples, a.Memory)
		}
	}
	if len(samples) < growthSamples/2 {
		return skipped("only %d calls in %v", made, growthTime)
	}
	return grown(samples, made)
}

// grown judges the sizes of a memory over time.
func grown(samples []int64, calls int) outcome {
	if samples[0] == 0 {
		return skipped("the host cannot tell the size of the memory")
	}
	half := samples[len(samples)/2-1:]
	steps := 0
	for i := 1; i < len(half); i++ {
		if half[i] > half[i-1] {
			steps++
		}
	}
	more := half[len(half)-1] - half[0]
	if steps > len(half)/2 || more > growthJump {
		return failed("the memory grew from %d to %d KiB between call %d and %d",
			half[0]>>10, half[len(half)-1]>>10, calls/2, calls)
	}
	return passed
}
