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

// timing is how long one run of a side takes: the median of its rounds, and the least,
// which other work on the machine has disturbed least.
type timing struct{ median, least time.Duration }

// How long things are measured.
const (
	roundTime      = 20 * time.Millisecond
	roundTimeShort = time.Millisecond
	mostRounds     = 25
	leastRounds    = 3
	// sideTime bounds what one side takes of a row, in which a slow peer may need
	// seconds for a call.
	sideTime = 8 * time.Second
)

// inTurns measures sides in turns of one round each and returns what a run of each
// takes. Rounds begin with an empty heap: each side pays for its own garbage, not for
// that of the side before.
func (s *suite) inTurns(ctx context.Context, sides ...side) ([]timing, error) {
	return s.inRounds(ctx, mostRounds, sides...)
}

// inRounds is inTurns for so many rounds at most.
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

// prepare empties the heap for a round. By how much of it was in use at a collection, Go
// settles how much memory to keep, and gives back the rest in the next milliseconds.
// After a round of a side that needs little, the other would fetch from the system, page
// by page, what had just been taken from it. So there is a round of the same side
// first, which is not measured, and no collection within it.
func (s *side) prepare(n int) error {
	percent := debug.SetGCPercent(-1)
	err := s.runs(n)
	debug.SetGCPercent(percent)
	runtime.GC()
	return err
}

// runs runs the side so often.
func (s *side) runs(n int) error {
	for range n {
		if err := s.run(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// plan finds out how many runs of each side fill a round, and how many rounds fit
// into the time there is. It warms both sides up.
func (s *suite) plan(most int, sides []side) (runs []int, rounds int, err error) {
	want := pick(s, roundTime, roundTimeShort)
	rounds = pick(s, most, leastRounds)
	for i := range sides {
		if err := sides[i].runs(1); err != nil {
			return nil, 0, err
		}
		// The first times are slower, by which rounds would be too short: so they go on for as
		// long as a round is to take.
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

// waited measures single runs with a pause after each, in which instances are made
// clean: what a caller waits for.
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

// idle lets others run for a while without sleeping, so that what is measured next
// does not pay for waking up.
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

// quantile returns the value below which that share of the samples lies. It sorts
// them.
func quantile[T int64 | float64 | time.Duration](samples []T, q float64) T {
	slices.Sort(samples)
	return samples[min(len(samples)-1, int(q*float64(len(samples))))]
}
