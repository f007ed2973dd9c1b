package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/host"
)

// result is the result of testing one example.
type result struct {
	example
	// Size is the size of the module in bytes. Build is the build time, 0 if it is unknown.
	Size  int64
	Build time.Duration
	// Passed and Failed are numbers of cases of the conformance kit.
	Passed, Failed int
	// Times are the median times of a call with 1,000 items, by lane.
	Times map[host.Lane]time.Duration
}

// lanes returns the time of a call in each lane, as text.
func (r *result) lanes() string {
	var parts []string
	for _, lane := range []host.Lane{host.LaneJSON, host.LaneBatch} {
		if t, ok := r.Times[lane]; ok {
			parts = append(parts, fmt.Sprintf("%s %d µs", lane, t.Microseconds()))
		}
	}
	return strings.Join(parts, ", ")
}
