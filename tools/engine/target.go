package main

import "fmt"

// target is the limit of a figure. The zero value judges nothing: the row is only for
// information.
type target struct {
	unit unit
	// most means that less is better: figures must not exceed gate and stretch.
	most    bool
	gate    float64
	stretch float64 // 0: none
}

// unit is the unit of a figure as it is printed.
type unit string

// The units.
const (
	times        unit = "x"
	microseconds unit = " µs"
	milliseconds unit = " ms"
	percent      unit = " %"
	share        unit = " of it"
)

// atLeast returns a target for a factor or a share that must not be lower.
func atLeast(u unit, gate, stretch float64) target {
	return target{unit: u, gate: gate, stretch: stretch}
}

// atMost returns a target for a time or a percentage that must not be higher.
func atMost(u unit, gate, stretch float64) target {
	return target{unit: u, most: true, gate: gate, stretch: stretch}
}

// shown returns a target that judges nothing.
func shown(u unit) target { return target{unit: u} }

func (t target) judged() bool { return t.gate != 0 }

// meets reports whether a figure is as good as limit.
func (t target) meets(value, limit float64) bool {
	if t.most {
		return value <= limit
	}
	return value >= limit
}

// word formats a limit, "" if there is none.
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

// figure adds the unit to a formatted number.
func (t target) figure(words string) string { return words + string(t.unit) }
