package fill

import (
	"math"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// A source may use exactly its allocation, whatever happens to what is beyond it.
func TestCapsAdmitExactlyTheirTokens(t *testing.T) {
	for _, c := range []struct {
		name      string
		cap       sourceCap
		n         int
		ok        bool
		available int
		used      int // afterwards
	}{
		{"no limit", sourceCap{limit: -1, used: 7}, math.MaxInt, true, 0, 7},
		{"drop, less", sourceCap{limit: 10, strategy: OverflowDrop, total: 9}, 9, true, 10, 0},
		{"drop, all", sourceCap{limit: 10, strategy: OverflowDrop, total: 10}, 10, true, 10, 0},
		{"drop, one too many", sourceCap{limit: 10, strategy: OverflowDrop, total: 11}, 1, false, 10, 0},
		{"drop, nothing of nothing", sourceCap{strategy: OverflowDrop}, 0, true, 0, 0},
		{"drop, one of nothing", sourceCap{strategy: OverflowDrop, total: 1}, 1, false, 0, 0},
		{"truncate, one of nothing", sourceCap{strategy: OverflowTruncate}, 1, false, 0, 0},
		{"truncate, all", sourceCap{limit: 10, strategy: OverflowTruncate, used: 4}, 6, true, 6, 10},
		{"truncate, one too many", sourceCap{limit: 10, strategy: OverflowTruncate, used: 4}, 7, false, 6, 4},
		{"truncate, nothing left", sourceCap{limit: 10, strategy: OverflowTruncate, used: 10}, 0, true, 0, 10},
	} {
		ok, available := c.cap.admit(c.n)
		if ok != c.ok || available != c.available || c.cap.used != c.used {
			t.Errorf("%s: admitted %v with %d free, used %d; want %v with %d free, used %d", c.name, ok, available, c.cap.used, c.ok, c.available, c.used)
		}
	}
}

// The same through a whole build: all items of a source stay if they take exactly its allocation.
func TestDropKeepsASourceThatFits(t *testing.T) {
	for limit, want := range map[int]int{5: 0, 6: 2, 7: 2} {
		budget := &Budget{TotalTokens: 100, Allocations: []Allocation{{Source: core.SourceTool, MaxTokens: limit, Overflow: OverflowDrop}}}
		b := &Filling{Items: []core.Item{{ID: "a", Source: core.SourceTool}, {ID: "b", Source: core.SourceTool}}, Counts: []int{3, 3}, p: &Filler{budget: budget, maxTokens: 100}}
		got, err := b.applyBudget(t.Context(), []int32{0, 1})
		if err != nil || len(got) != want {
			t.Errorf("allocation of %d tokens: %d items of 3 tokens each, error %v, want %d", limit, len(got), err, want)
		}
	}
}
