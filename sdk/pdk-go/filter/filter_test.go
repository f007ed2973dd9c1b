package filter

import (
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/mem"
)

// TestBatchLaneAllocatesNothing runs the handler of the example over 1,000 rows.
func TestBatchLaneAllocatesNothing(t *testing.T) {
	items := make(abi.ItemRows, 1000)
	for i := range items {
		items[i].Score = float64(i) / 1000
	}
	var w abi.BatchWriter
	size, err := w.Plan(items, abi.ColumnSet(0).With(abi.ColumnScore), &abi.Envelope{Settings: []byte(`{"min":0.5}`)})
	if err != nil {
		t.Fatal(err)
	}
	ptr := mem.Reserve(uint32(size))
	if err := w.Write(mem.Buffer()[:size]); err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(100, func() {
		if status := onBatch(ptr, uint32(size)); status != 0 {
			t.Fatalf("status %d", status)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations per call, want none", allocs)
	}
	c, err := abi.DecodeChanges(mem.Answer())
	if err != nil || len(c.Keep) != 500 {
		t.Errorf("%d rows kept, %v", len(c.Keep), err)
	}
}
