//go:build !race

package bpe

import (
	"context"
	"strings"
	"testing"
)

// Counting allocates nothing once the buffers are there. (Under the race
// detector a sync.Pool forgets some of them on purpose.)
func TestNoAllocations(t *testing.T) {
	e := get(t, "o200k_base")
	text := strings.Repeat("Unbekannte Wörterzusammensetzungen und 清晨六点半渡船离开小岛. ", 100)
	allocs := testing.AllocsPerRun(50, func() {
		if _, err := e.Count(context.Background(), text); err != nil {
			t.Error(err)
		}
	})
	if allocs > 1 { // the pool may be emptied between two runs
		t.Errorf("%v allocations a call", allocs)
	}
}
