package fill

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

func randomCandidates(r *rand.Rand, n int) []Candidate {
	c := make([]Candidate, n)
	for i := range c {
		it := core.Item{Priority: 1 + r.IntN(10), Score: float64(r.IntN(11)) / 10}
		c[i] = Candidate{Tokens: r.IntN(40), Value: ItemValue(&it)}
	}
	return c
}

// bruteForce returns the value of the best selection.
func bruteForce(c []Candidate, room int) float64 {
	best := 0.0
	for set := range 1 << len(c) {
		sum, tokens := 0.0, 0
		for i := range c {
			if set>>i&1 == 1 {
				sum, tokens = sum+c[i].Value, tokens+c[i].Tokens
			}
		}
		if tokens <= room {
			best = max(best, sum)
		}
	}
	return best
}

// worth returns the value of the items that first fit admits in this order.
func worth(c []Candidate, order []int32, room int) float64 {
	sum := 0.0
	for _, i := range order {
		if c[i].Tokens <= room {
			room -= c[i].Tokens
			sum += c[i].Value
		}
	}
	return sum
}

func TestStrategiesAgainstBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 400 {
		c, room := randomCandidates(r, 1+r.IntN(11)), r.IntN(150)
		best := bruteForce(c, room)
		if bound := fractionalOptimum(c, room); bound < best*(1-1e-12) {
			t.Fatalf("%v in %d: bound %v is below the best choice %v", c, room, bound, best)
		}
		for name, least := range map[string]float64{"first_fit": 0, "value_per_token": 0.5, "knapsack": 1} {
			s, err := StrategyByName(name)
			if err != nil {
				t.Fatal(err)
			}
			order, note, err := tryOrder(t.Context(), s, c, room)
			if err != nil || note != "" {
				t.Fatal(err, note)
			}
			if got := worth(c, order, room); got < least*best*(1-1e-12) || got > best*(1+1e-12) {
				t.Fatalf("%s: %v in %d: worth %v, the best choice is worth %v", name, c, room, got, best)
			}
		}
	}
}

// The best selection includes items without tokens.
func TestKnapsackEdges(t *testing.T) {
	for _, tc := range []struct {
		c    []Candidate
		room int
		want []int32
	}{
		{nil, 10, []int32{}},
		{[]Candidate{{0, 1}, {5, 10}}, 0, []int32{0, 1}},
		{[]Candidate{{6, 10}, {5, 9}, {5, 9}}, 10, []int32{1, 2, 0}},
		{[]Candidate{{5, 9}, {5, 9}, {5, 9}}, 10, []int32{0, 1, 2}},
		{[]Candidate{{math.MaxInt, 99}, {5, 9}, {6, 1}}, 10, []int32{1, 0, 2}},
		{[]Candidate{{3, 5}, {2, 1}}, -5, []int32{0, 1}},
	} {
		order, _, err := Knapsack{}.Order(t.Context(), tc.c, tc.room)
		if err != nil || !slices.Equal(order, tc.want) {
			t.Errorf("%v in %d: %v, %v, want %v", tc.c, tc.room, order, err, tc.want)
		}
	}
}

func TestKnapsackFallsBack(t *testing.T) {
	c := make([]Candidate, 5000)
	for i := range c {
		c[i] = Candidate{Tokens: 10, Value: float64(i)}
	}
	order, note, err := Knapsack{}.Order(t.Context(), c, 4000)
	if err != nil || !strings.Contains(note, "by value per token") || order[0] != 4999 {
		t.Errorf("%v, %q, %v", order[:3], note, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := (Knapsack{}).Order(ctx, c[:100], 500); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

func TestItemValue(t *testing.T) {
	for p := core.MinPriority; p < core.MaxPriority; p++ {
		best, next := ItemValue(&core.Item{Priority: p, Score: 1}), ItemValue(&core.Item{Priority: p + 1})
		if best > next*(1+1e-12) {
			t.Errorf("priority %d is worth %v, %d at least %v", p, best, p+1, next)
		}
		if ItemValue(&core.Item{Priority: p, Score: 0.5}) >= best {
			t.Errorf("priority %d: the score does not count", p)
		}
	}
}

func TestStrategyByNameRefuses(t *testing.T) {
	_, err := StrategyByName("best")
	want := `fill "best": invalid value (want one of [first_fit value_per_token knapsack])`
	if !errors.Is(err, core.ErrInvalid) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func BenchmarkKnapsack(b *testing.B) {
	c := randomCandidates(rand.New(rand.NewPCG(2, 2)), 500)
	for b.Loop() {
		if _, _, err := (Knapsack{}).Order(context.Background(), c, 8192); err != nil {
			b.Fatal(err)
		}
	}
}

// An item that is worth more than all those that have a better value per token, together, comes
// first if it fits the window: without it the result could be worth next to nothing.
func TestValuePerTokenTakesOneLargeItem(t *testing.T) {
	small, large := Candidate{Tokens: 1, Value: 2}, Candidate{Tokens: 10, Value: 10}
	for name, c := range map[string]struct {
		candidates []Candidate
		room       int
		want       []int32
	}{
		"fits exactly":        {[]Candidate{small, large}, 10, []int32{1, 0}},
		"does not fit":        {[]Candidate{small, large}, 9, []int32{0, 1}},
		"both fit":            {[]Candidate{small, large}, 11, []int32{0, 1}},
		"is worth as much":    {[]Candidate{{Tokens: 1, Value: 10}, large}, 10, []int32{0, 1}},
		"a larger one cannot": {[]Candidate{small, large, {Tokens: 11, Value: 5}}, 10, []int32{1, 0, 2}},
	} {
		order, note, err := ValuePerToken{}.Order(t.Context(), c.candidates, c.room)
		if err != nil || note != "" || !slices.Equal(order, c.want) {
			t.Errorf("%s: order %v, note %q, error %v, want %v", name, order, note, err, c.want)
		}
	}
}
