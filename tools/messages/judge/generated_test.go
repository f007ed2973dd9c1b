package judge

import (
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/msgtest"
)

// TestGenerated holds every generated history against the judge, and the judge against them:
// what it refuses in each of these is a fault of one of the two.
func TestGenerated(t *testing.T) {
	sizes, seeds := []int{2, 3, 4, 5, 8, 13, 60, 500}, uint64(160)
	if testing.Short() {
		seeds = 32
	}
	for _, form := range Forms {
		t.Run(form, func(t *testing.T) {
			for seed := range seeds {
				n := sizes[seed%uint64(len(sizes))]
				if n == 500 && seed > 60 {
					n = 30
				}
				o := msgtest.Options{Form: form, Seed: seed, Messages: n, Simple: seed%5 == 4, Loop: seed%7 == 3}
				if err := Accept(form, msgtest.Body(o)); err != nil {
					t.Errorf("%+v: %v", o, err)
				}
			}
		})
	}
}
