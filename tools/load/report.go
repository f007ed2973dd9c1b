package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// report prints rows, each with a figure beside its target.
type report struct {
	out    io.Writer
	missed int
}

// row prints a figure and its target. ok says whether the figure meets it.
func (r *report) row(name, figure, target string, ok bool, details string, args ...any) {
	verdict := "ok"
	if !ok {
		verdict = "MISSED"
		r.missed++
	}
	fmt.Fprintf(r.out, "%-34s %14s  %-18s %-6s  %s\n", name, figure, target, verdict, fmt.Sprintf(details, args...))
}

// shown prints a figure that is not judged.
func (r *report) shown(name, figure, target, details string, args ...any) {
	fmt.Fprintf(r.out, "%-34s %14s  %-18s %-6s  %s\n", name, figure, target, "-", fmt.Sprintf(details, args...))
}

// speed prints a figure that is judged unless the run is short.
func (s *suite) speed(name, figure, target string, ok bool, details string, args ...any) {
	if s.short {
		s.shown(name, figure, target, details, args...)
		return
	}
	s.row(name, figure, target, ok, details, args...)
}

// percentile returns the value below which a share of the times lies, and 0 without times. It sorts
// them.
func percentile(times []time.Duration, share float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(len(times)-1, int(share*float64(len(times))))]
}

// median returns the middle value, and 0 without values. It sorts them.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func mib(bytes float64) string { return fmt.Sprintf("%.1f MiB", bytes/(1<<20)) }

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// heapGrowth prints how the live heap has grown, and judges it. The heap is so small that a finalizer
// or a buffer more is some percent of it, so a MiB counts for nothing.
func (s *suite) heapGrowth(before, after, most float64) {
	s.row("live heap after a collection", fmt.Sprintf("%+.1f MiB", (after-before)/(1<<20)), fmt.Sprintf("at most +%.0f %%, 1 MiB", 100*most), after <= before*(1+most)+1<<20, "%s, then %s", mib(before), mib(after))
}

// settled returns the growth that a run may show. A short one ends before memory has settled, so it
// only looks for a leak.
func (s *suite) settled(most float64) float64 {
	if s.short {
		return 0.25
	}
	return most
}

// growth prints how much larger a figure is than it was, and judges it.
func (s *suite) growth(name string, before, after, most float64, text func(float64) string) {
	share := after/before - 1
	s.row(name, fmt.Sprintf("%+.1f %%", 100*share), fmt.Sprintf("at most +%.0f %%", 100*most), share <= most, "%s, then %s", text(before), text(after))
}
