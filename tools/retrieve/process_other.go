//go:build !linux

package main

import (
	"runtime"
	"time"
)

var began = time.Now()

// cpuTime is the time on the clock: only Linux tells this program the time of the processor.
func cpuTime() time.Duration { return time.Since(began) }

func resetPeak() {}

// peakBytes returns what Go has from the system now.
func peakBytes() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}
