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

// scalingRows hold what two callers get done on two cores to what one gets done on
// one, for the score filter in the default state and for a loop in Go, in turns.
func (s *suite) scalingRows() []row {
	return []row{{
		name: "scaling", what: "two callers on two cores, score filter", state: host.StateReset, lane: laneBatch,
		against: "a plain Go loop's scaling", target: atLeast(share, 0.95, 0),
		run: func(ctx context.Context) (reading, error) {
			if runtime.NumCPU() < 2 {
				return reading{}, fmt.Errorf("%w: one core", errAbsent)
			}
			step, err := s.filterSide(ctx, host.StateReset)
			if err != nil {
				return reading{}, err
			}
			return s.scaling(step.run)
		},
	}}
}

// scaling measures both in turns.
func (s *suite) scaling(step func() error) (reading, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	period := pick(s, 200*time.Millisecond, 10*time.Millisecond)
	var plugin, loop, spare []float64
	for range pick(s, 15, 2) {
		p1, err := throughput(1, 1, period, step)
		if err != nil {
			return reading{}, err
		}
		p2, err := throughput(2, 2, period, step)
		if err != nil {
			return reading{}, err
		}
		alone, err := throughput(2, 1, period, step)
		if err != nil {
			return reading{}, err
		}
		l1, _ := throughput(1, 1, period, spin) // it cannot fail
		l2, _ := throughput(2, 2, period, spin) // it cannot fail
		plugin, loop, spare = append(plugin, p2/p1), append(loop, l2/l1), append(spare, p2/alone)
	}
	p, l := quantile(plugin, 0.5), quantile(loop, 0.5)
	return reading{
		value: p / l,
		detail: fmt.Sprintf("x%s against x%s (Go loop); x%s of one caller whose resets run on the other core",
			digits(p), digits(l), digits(quantile(spare, 0.5))),
	}, nil
}

// throughput is how often callers on so many cores get f done in a second.
func throughput(cores, callers int, period time.Duration, f func() error) (float64, error) {
	runtime.GOMAXPROCS(cores)
	runtime.GC()
	counts, errs := make([]int, callers), make([]error, callers)
	var all sync.WaitGroup
	began := time.Now()
	for i := range callers {
		all.Go(func() {
			n := 0
			for ; time.Since(began) < period && errs[i] == nil; n++ {
				errs[i] = f()
			}
			counts[i] = n
		})
	}
	all.Wait()
	took := time.Since(began).Seconds()
	total := 0
	for i := range callers {
		if errs[i] != nil {
			return 0, errs[i]
		}
		total += counts[i]
	}
	return float64(total) / took, nil
}

// spin is a few microseconds of plain Go.
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
