package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/host"
)

// scalingRows compare the work of two callers on two cores with that of one caller on one
// core. They do so for the score filter in the default state and for a loop in Go,
// alternately.
func (s *suite) scalingRows() []row {
	return []row{{
		name: "scaling", what: "two callers on two cores, score filter", state: host.StateReset, lane: laneBatch,
		against: "a plain Go loop's scaling", target: atLeast(share, 0.90, 0.95), needs: needCores,
		run: func(ctx context.Context) (reading, error) {
			step, err := s.filterStep(ctx, host.StateReset)
			if err != nil {
				return reading{}, err
			}
			return s.scaling(filterBuild(ctx, step), filterBuild(ctx, step))
		},
	}}
}

// scaling measures the filter and the loop alternately.
func (s *suite) scaling(builds ...func() error) (reading, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	period := pick(s, 60*time.Millisecond, 10*time.Millisecond)
	var plugin, loop, spare []float64
	for turn := range pick(s, 100, 2) {
		one := builds[turn%len(builds)]
		p1, err := throughput(1, period, one)
		if err != nil {
			return reading{}, err
		}
		p2, err := throughput(2, period, builds...)
		if err != nil {
			return reading{}, err
		}
		alone, err := throughput(2, period, one)
		if err != nil {
			return reading{}, err
		}
		l1, _ := throughput(1, period, spin)       // it cannot fail
		l2, _ := throughput(2, period, spin, spin) // it cannot fail
		plugin, loop, spare = append(plugin, p2/p1), append(loop, l2/l1), append(spare, p2/alone)
	}
	p, l := quantile(plugin, 0.5), quantile(loop, 0.5)
	return reading{
		value: p / l,
		detail: fmt.Sprintf("x%s against x%s (Go loop); x%s of one caller whose resets run on the other core",
			digits(p), digits(l), digits(quantile(spare, 0.5))),
	}, nil
}

// throughput returns how many calls per second the callers complete together on so many
// cores. They run for a quarter of the period before counting begins: when threads begin to
// run, Linux sometimes makes two of them share one core for a few milliseconds while the
// other core is idle.
func throughput(cores int, period time.Duration, callers ...func() error) (float64, error) {
	runtime.GOMAXPROCS(cores)
	runtime.GC()
	rates, errs := make([]float64, len(callers)), make([]error, len(callers))
	var all sync.WaitGroup
	start := time.Now().Add(period / 4)
	for i, f := range callers {
		all.Go(func() {
			if _, errs[i] = count(start, f); errs[i] != nil {
				return
			}
			n, err := count(start.Add(period), f)
			rates[i], errs[i] = float64(n)/time.Since(start).Seconds(), err
		})
	}
	all.Wait()
	total := 0.0
	for i, err := range errs {
		if err != nil {
			return 0, err
		}
		total += rates[i]
	}
	return total, nil
}

// count returns how many calls of f complete from now until end, at least one.
func count(end time.Time, f func() error) (int, error) {
	for n := 1; ; n++ {
		if err := f(); err != nil {
			return 0, err
		}
		if !time.Now().Before(end) {
			return n, nil
		}
	}
}

// spin computes in plain Go for a few microseconds.
func spin() error {
	x := 1.0
	for i := range 5000 {
		x = math.FMA(x, 0.999, float64(i))
	}
	if math.IsNaN(x) {
		return fmt.Errorf("a loop came to %v", x)
	}
	return nil
}
