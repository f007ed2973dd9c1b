package fill

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

func TestPresetBudgets(t *testing.T) {
	for name, want := range map[string]struct {
		caps          map[core.Source]int
		reserve, pool int
		smallest      int
	}{
		"chat":  {map[core.Source]int{core.SourceSystem: 819, core.SourceMemory: 819, core.SourceConversation: 1638, core.SourceRetrieval: 2048}, 1228, 1640, 10},
		"rag":   {map[core.Source]int{core.SourceSystem: 819, core.SourceMemory: 409, core.SourceConversation: 819, core.SourceRetrieval: 3276}, 1228, 1641, 20},
		"agent": {map[core.Source]int{core.SourceSystem: 1228, core.SourceMemory: 819, core.SourceConversation: 1228, core.SourceRetrieval: 1638, core.SourceTool: 1228}, 1228, 823, 10},
	} {
		b, err := PresetBudget(name, 8192)
		if err != nil {
			t.Fatal(err)
		}
		caps := map[core.Source]int{}
		for _, a := range b.Allocations {
			caps[a.Source] = a.MinTokens
			if a.MaxTokens != 0 || a.Priority != a.Source.DefaultPriority() || a.Overflow != OverflowTruncate {
				t.Errorf("%s: allocation %+v", name, a)
			}
		}
		if !reflect.DeepEqual(caps, want.caps) || b.ReserveTokens != want.reserve || b.SharedPool() != want.pool {
			t.Errorf("%s: %v, reserve %d, pool %d", name, caps, b.ReserveTokens, b.SharedPool())
		}
		for total := -1; total < 30; total++ {
			if _, err := PresetBudget(name, total); (err == nil) != (total >= want.smallest) || err != nil && !errors.Is(err, core.ErrInvalid) {
				t.Errorf("%s of %d tokens: %v", name, total, err)
			}
		}
	}
	b, err := PresetBudget("rag", 8192, core.SourceRetrieval)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range b.Allocations {
		if want := a.Source == core.SourceRetrieval; (a.MaxTokens == a.MinTokens) != want || want != (a.MaxTokens > 0) {
			t.Errorf("a cap for retrieval alone: %+v", a)
		}
	}
	if _, err := PresetBudget("rag", 8192, core.SourceTool); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("cap for a source without a share: %v", err)
	}
	if _, err := PresetBudget("poet", 100); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("unknown preset: %v", err)
	}
}

func TestPercentIsTheTruncatedFloatProduct(t *testing.T) {
	for total := 1; total <= 20000; total++ {
		for _, share := range []int{5, 10, 15, 20, 25, 40} {
			if got, want := percent(total, share), int(float64(total)*(float64(share)/100)); got != want {
				t.Fatalf("%d%% of %d: %d, want %d", share, total, got, want)
			}
		}
	}
	if got := percent(math.MaxInt, 40); got < math.MaxInt/5*2-100 || got > math.MaxInt/2 {
		t.Errorf("40%% of the largest total: %d", got)
	}
}

func TestBudgetAccessors(t *testing.T) {
	b := Budget{TotalTokens: 100, ReserveTokens: 10, Allocations: []Allocation{{Source: core.SourceTool, MaxTokens: 20, Overflow: OverflowDrop}, {Source: core.SourceUser, MaxTokens: 5}}}
	for s, want := range map[core.Source]int{core.SourceTool: 20, core.SourceUser: 5, core.SourceMemory: 65} {
		if got := b.Allocation(s); got != want {
			t.Errorf("allocation of %s: %d, want %d", s, got, want)
		}
	}
	for s, want := range map[core.Source]OverflowStrategy{core.SourceTool: OverflowDrop, core.SourceUser: OverflowTruncate, core.SourceMemory: OverflowTruncate} {
		if got := b.OverflowStrategy(s); got != want {
			t.Errorf("strategy of %s: %s, want %s", s, got, want)
		}
	}
}

// Allocations may take the whole budget, and nothing beyond it: also not after one that ends it.
func TestAllocationsEndWithTheBudget(t *testing.T) {
	for _, c := range []struct {
		reserve int
		caps    []int
		fits    bool
	}{
		{0, []int{4, 6}, true}, {0, []int{10, 1}, false}, {0, []int{10, 1, 1}, false}, {0, []int{4, 7}, false},
		{10, nil, true}, {11, nil, false}, {10, []int{1}, false}, {0, []int{math.MaxInt, math.MaxInt, 2}, false},
	} {
		b := Budget{TotalTokens: 10, ReserveTokens: c.reserve}
		for i, n := range c.caps {
			b.Allocations = append(b.Allocations, Allocation{Source: core.Sources[i], MaxTokens: n, Priority: 1})
		}
		if err := b.Validate(); c.fits != (err == nil) || err != nil && !errors.Is(err, ErrBudget) {
			t.Errorf("10 tokens, %d in reserve, allocations %v: error %v, want that they fit: %v", c.reserve, c.caps, err, c.fits)
		}
	}
}
