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
	// roundsPerTurn rounds are measured before it is the next case's turn. Enough of them
	// follow one another that the heap is that of a process which does nothing else.
	roundsPerTurn = 50
	// roundsBefore rounds come before them: there, what the case before left behind is
	// still being collected.
	roundsBefore = 10
)

// benchCase is something to measure. Either run or round is set, unless it is skipped.
type benchCase struct {
	key     string
	run     func() error // once
	prepare func(n int)  // before n runs, not measured; may be nil
	round   func(ctx context.Context) (time.Duration, error)
	skipped string // why it is not measured
}

// figure is the time of one run of a case.
type figure struct{ median, least time.Duration }

// measure lets the cases take the given number of turns.
func measure(ctx context.Context, cases []benchCase, turns int) (map[string]figure, error) {
	runs := make([]int, len(cases))
	times := make([][]time.Duration, len(cases))
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
				took, err := c.oneRound(ctx, &runs[i])
				if err != nil {
					return nil, fmt.Errorf("%s: %w", c.key, err)
				}
				if turn >= 0 && round >= 0 {
					times[i] = append(times[i], took)
				}
			}
		}
	}
	figures := make(map[string]figure)
	for i, t := range times {
		if len(t) > 0 {
			slices.Sort(t)
			figures[cases[i].key] = figure{median: t[len(t)/2], least: t[0]}
		}
	}
	return figures, nil
}

// oneRound returns the mean time of a run in one round. The number of runs in a round is
// found once.
func (c *benchCase) oneRound(ctx context.Context, runs *int) (time.Duration, error) {
	if c.round != nil {
		return c.round(ctx)
	}
	if *runs == 0 {
		if _, err := c.time(3); err != nil {
			return 0, err
		}
		took, err := c.time(5)
		if err != nil {
			return 0, err
		}
		*runs = int(max(1, roundTime/max(1, took)))
	}
	return c.time(*runs)
}

func (c *benchCase) time(n int) (time.Duration, error) {
	if c.prepare != nil {
		c.prepare(n)
	}
	began := time.Now()
	for range n {
		if err := c.run(); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / time.Duration(n), nil
}

// loadAverage returns the load of the last minute as the system words it, or nothing.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}
