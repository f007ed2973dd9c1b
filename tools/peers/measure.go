package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	// roundTime is about how long a round of one case takes: long enough for the clock,
	// short enough that most rounds are not interrupted by other work on the machine.
	roundTime = time.Millisecond
	// roundsPerTurn is the number of measured rounds in a turn of a case. It is large enough
	// that the heap is like that of a process which does nothing else.
	roundsPerTurn = 50
	// roundsBefore is the number of rounds before them that are not measured. In these the
	// garbage of the previous case is collected.
	roundsBefore = 10
)

// benchCase is one measurement. Either run or round is set, unless it is skipped.
type benchCase struct {
	key     string
	run     func() error // once
	prepare func(n int)  // before n runs, not measured; may be nil
	round   func(ctx context.Context) (sample, error)
	skipped string // why it is not measured
}

// sample is the result of one round: its number of runs, and their total time and processor
// time.
type sample struct {
	runs      int
	took, cpu time.Duration
}

// figure is the time of one run of a case: the median and the least of its rounds, and the
// processor time, which does not depend on other work on the machine.
type figure struct{ median, least, cpu time.Duration }

// measure runs the cases alternately, each for the given number of turns.
func measure(ctx context.Context, cases []benchCase, turns int) (map[string]figure, error) {
	runs := make([]int, len(cases))
	samples := make([][]sample, len(cases))
	for turn := -1; turn < turns; turn++ { // the first is for warming up
		for i := range cases {
			c := &cases[i]
			if c.skipped != "" {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for round := -roundsBefore; round < roundsPerTurn; round++ {
				measured, err := c.oneRound(ctx, &runs[i])
				if err != nil {
					return nil, fmt.Errorf("%s: %w", c.key, err)
				}
				if turn >= 0 && round >= 0 {
					samples[i] = append(samples[i], measured)
				}
			}
		}
	}
	figures := make(map[string]figure)
	for i := range samples {
		if len(samples[i]) > 0 {
			figures[cases[i].key] = figureOf(samples[i])
		}
	}
	return figures, nil
}

func figureOf(samples []sample) figure {
	times := make([]time.Duration, len(samples))
	var all sample
	for i, s := range samples {
		times[i] = s.took / time.Duration(s.runs)
		all.runs += s.runs
		all.cpu += s.cpu
	}
	slices.Sort(times)
	return figure{median: times[len(times)/2], least: times[0], cpu: all.cpu / time.Duration(all.runs)}
}

// oneRound measures one round. It determines the number of runs in a round only once.
func (c *benchCase) oneRound(ctx context.Context, runs *int) (sample, error) {
	if c.round != nil {
		return c.round(ctx)
	}
	if *runs == 0 {
		if _, err := c.time(3); err != nil {
			return sample{}, err
		}
		trial, err := c.time(5)
		if err != nil {
			return sample{}, err
		}
		*runs = int(max(1, roundTime*5/max(1, trial.took)))
	}
	return c.time(*runs)
}

func (c *benchCase) time(n int) (sample, error) {
	if c.prepare != nil {
		c.prepare(n)
	}
	cpu, began := cpuTime(), time.Now()
	for range n {
		if err := c.run(); err != nil {
			return sample{}, err
		}
	}
	took := time.Since(began)
	return sample{runs: n, took: took, cpu: cpuTime() - cpu}, nil
}

// loadAverage returns the load of the last minute as the system prints it, or "".
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}
