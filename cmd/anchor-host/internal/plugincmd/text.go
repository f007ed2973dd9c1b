package plugincmd

import (
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/units"
)

// shortDigest returns the beginning of a digest, which is enough to distinguish modules.
func shortDigest(d string) string {
	_, hex, _ := strings.Cut(d, ":")
	return hex[:min(12, len(hex))]
}

// sizeText formats a size: exactly if that is short.
func sizeText(n int64) string {
	if exact := units.FormatSize(n); len(exact) <= len("999MiB") {
		return exact
	}
	if n < 1<<20 {
		return fmt.Sprintf("%.1fKiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1fMiB", float64(n)/(1<<20))
}

// laneNames lists lanes.
func laneNames(lanes []host.Lane, separator string) string {
	names := make([]string, len(lanes))
	for i, lane := range lanes {
		names[i] = string(lane)
	}
	return strings.Join(names, separator)
}
