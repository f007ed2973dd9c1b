package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// side is one of the ways of doing the same work that a row compares.
type side struct {
	name string
	run  func() error // once
}

// timing is the time of one run of a side: the median of its rounds, and the least time,
// which other work on the machine disturbs least.
type timing struct{ median, least time.Duration }

// The lengths of measurements.
const (
	roundTime      = 20 * time.Millisecond
	roundTimeShort = time.Millisecond
	mostRounds     = 25
	leastRounds    = 3
	// sideTime bounds the time of one side in a row, because a call of a slow peer may
	// take seconds.
	sideTime = 8 * time.Second
)

// inTurns measures sides alternately, one round each, and returns the time of a run of each.
// Rounds begin with an empty heap, so that each side pays only for its own garbage.
func (s *suite) inTurns(ctx context.Context, sides ...side) ([]timing, error) {
	return s.inRounds(ctx, mostRounds, sides...)
}

// inRounds is like inTurns with a bound on the number of rounds.
func (s *suite) inRounds(ctx context.Context, most int, sides ...side) ([]timing, error) {
	runs, rounds, err := s.plan(most, sides)
	if err != nil {
		return nil, err
	}
	samples := make([][]time.Duration, len(sides))
	for range rounds {
		for i := range sides {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := sides[i].prepare(runs[i]); err != nil {
				return nil, err
			}
			took, err := timed(func() error { return sides[i].runs(runs[i]) })
			if err != nil {
				return nil, err
			}
			samples[i] = append(samples[i], took/time.Duration(runs[i]))
		}
	}
	return timings(samples), nil
}

// prepare empties the heap for a round. At a collection, Go decides by the size of the live
// heap how much memory to keep, and returns the rest to the system within milliseconds. After
// a round of a side that needs little, the other side would have to get that memory from the
// system again, page by page. Therefore prepare also runs a round that is not measured and
// during which no collection happens.
func (s *side) prepare(n int) error {
	percent := debug.SetGCPercent(-1)
	err := s.runs(n)
	debug.SetGCPercent(percent)
	runtime.GC()
	return err
}

// runs runs the side n times.
func (s *side) runs(n int) error {
	for range n {
		if err := s.run(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// plan determines how many runs of each side fill a round, and how many rounds fit into the
// available time. It also warms up both sides.
func (s *suite) plan(most int, sides []side) (runs []int, rounds int, err error) {
	want := pick(s, roundTime, roundTimeShort)
	rounds = pick(s, most, leastRounds)
	for i := range sides {
		if err := sides[i].runs(1); err != nil {
			return nil, 0, err
		}
		// The first runs are slower, so rounds based on them would be too short. Warming up
		// therefore continues for the length of a round.
		n, took, warm := 1, time.Duration(0), time.Duration(0)
		for {
			if took, err = timed(func() error { return sides[i].runs(n) }); err != nil {
				return nil, 0, err
			}
			if warm += took; warm >= want && took >= want/4 {
				break
			}
			if took < want/4 {
				n *= 2
			}
		}
		per := max(1, took/time.Duration(n))
		runs = append(runs, int(max(1, want/per)))
		round := 2 * per * time.Duration(runs[i])
		rounds = max(leastRounds, min(rounds, int(sideTime/round)))
	}
	return runs, pick(s, rounds, min(rounds, leastRounds)), nil
}

// waited measures single runs, as a caller sees them. After each it pauses, so that the host
// can reset instances.
func (s *suite) waited(ctx context.Context, pause time.Duration, sides ...side) ([]timing, error) {
	const perTurn = 20
	turns := pick(s, 25, 1)
	samples := make([][]time.Duration, len(sides))
	for turn := range turns + 1 { // the first is for warming up
		for i := range sides {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			runtime.GC()
			began := time.Now()
			for range perTurn {
				start := time.Now()
				if err := sides[i].run(); err != nil {
					return nil, fmt.Errorf("%s: %w", sides[i].name, err)
				}
				took := time.Since(start)
				idle(pause)
				if turn > 0 {
					samples[i] = append(samples[i], took)
				}
				if time.Since(began) > pick(s, sideTime/time.Duration(turns), 100*time.Millisecond) {
					break
				}
			}
		}
	}
	return timings(samples), nil
}

// idle lets other goroutines run for some time without sleeping, so that the next measurement
// does not include waking up.
func idle(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
		runtime.Gosched()
	}
}

func timings(samples [][]time.Duration) []timing {
	out := make([]timing, len(samples))
	for i := range samples {
		out[i] = timing{median: quantile(samples[i], 0.5), least: samples[i][0]}
	}
	return out
}

// quantile returns the value below which that share of the samples is. It sorts the samples.
func quantile[T int64 | float64 | time.Duration](samples []T, q float64) T {
	slices.Sort(samples)
	return samples[min(len(samples)-1, int(q*float64(len(samples))))]
}
