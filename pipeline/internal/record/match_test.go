package record

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// The pairs of the matcher are unique in both directions and never join different ids. They
// keep as many items as possible.
func TestMatcherAgainstCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	var m matcher
	for range 5000 {
		list := func() []core.Item {
			items := make([]core.Item, r.IntN(9))
			for i := range items {
				items[i] = core.Item{ID: fmt.Sprint(r.IntN(6)), Content: fmt.Sprint(r.IntN(3)), Source: core.Sources[r.IntN(2)]}
			}
			return items
		}
		before, after := list(), list()
		from, to := m.match(before, after, samePrefix(before, after))
		left := map[string]int{}
		for j := range before {
			left[before[j].ID]++
		}
		for i := range after {
			j := from[i]
			if stays := left[after[i].ID] > 0; stays != (j >= 0) {
				// any of several equal items may stay, but their number is fixed
				if j >= 0 {
					t.Fatalf("%v -> %v: %v", before, after, from)
				}
				continue
			}
			if j >= 0 {
				left[after[i].ID]--
				if to[j] != int32(i) || before[j].ID != after[i].ID {
					t.Fatalf("%v -> %v: %v %v", before, after, from, to)
				}
			}
		}
		for id, n := range left {
			want := max(0, countID(before, id)-countID(after, id))
			if n != want {
				t.Fatalf("%v -> %v: %d of %q left, want %d", before, after, n, id, want)
			}
		}
	}
}

func countID(items []core.Item, id string) (n int) {
	for i := range items {
		if items[i].ID == id {
			n++
		}
	}
	return n
}
