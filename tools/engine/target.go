package main

import "fmt"

// target says what counts as good. The zero value judges nothing: the row is for
// information.
type target struct {
	unit unit
	// most says that less is better: figures must not exceed gate and stretch.
	most    bool
	gate    float64
	stretch float64 // 0: none
}

// unit is how a figure is worded.
type unit string

// The units.
const (
	times        unit = "x"
	microseconds unit = " µs"
	milliseconds unit = " ms"
	percent      unit = " %"
	share        unit = " of it"
)

// atLeast is a target of so many times, or such a share.
func atLeast(u unit, gate, stretch float64) target {
	return target{unit: u, gate: gate, stretch: stretch}
}

// atMost is a target of a time or a part in a hundred.
func atMost(u unit, gate, stretch float64) target {
	return target{unit: u, most: true, gate: gate, stretch: stretch}
}

// shown is a row without a target.
func shown(u unit) target { return target{unit: u} }

func (t target) judged() bool { return t.gate != 0 }

// meets reports whether a figure is as good as limit.
func (t target) meets(value, limit float64) bool {
	if t.most {
		return value <= limit
	}
	return value >= limit
}

// word words a limit, "" if there is none.
func (t target) word(limit float64) string {
	if limit == 0 {
		return ""
	}
	sign := "≥"
	if t.most {
		sign = "≤"
	}
	return fmt.Sprintf("%s %s", sign, t.figure(fmt.Sprintf("%g", limit)))
}

// figure adds the unit to a number in words.
func (t target) figure(words string) string { return words + string(t.unit) }
