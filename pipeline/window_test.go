package pipeline

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// randomItems are valid items with many ties.
func randomItems(r *rand.Rand, n int) []Item {
	scores := []float64{0, 1, 0.5, math.SmallestNonzeroFloat64, math.Nextafter(0.5, 1), math.Nextafter(1, 0), math.Copysign(0, -1)}
	items := make([]Item, n)
	for i := range items {
		score := scores[r.IntN(len(scores))]
		if r.IntN(3) == 0 {
			score = r.Float64()
		}
		items[i] = Item{ID: fmt.Sprint(i), Source: anySource(r), Score: score,
			Priority: MinPriority + r.IntN(MaxPriority), TokenCount: 1 + r.IntN(30), CreatedAt: seedEpoch}
	}
	return items
}

func naiveOrder(items []Item, indices []int32) []int32 {
	out := slices.Clone(indices)
	slices.SortStableFunc(out, func(a, b int32) int {
		if c := cmp.Compare(items[b].Priority, items[a].Priority); c != 0 {
			return c
		}
		return cmp.Compare(items[b].Score, items[a].Score)
	})
	return out
}

func TestSortByPriorityIsTheStableSort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 400 {
		items := randomItems(r, n)
		switch r.IntN(4) {
		case 0: // all in one bucket
			for i := range items {
				items[i].Score, items[i].Priority = 0.5+float64(r.IntN(100))*1e-9, 5
			}
		case 1: // not valid
			if n > 0 {
				items[r.IntN(n)].Score = math.NaN()
				items[r.IntN(n)].Priority = math.MinInt
			}
		}
		got := values.Indices(n)
		core.SortByPriority(items, got)
		if want := naiveOrder(items, values.Indices(n)); !slices.Equal(got, want) {
			t.Fatalf("%d items: %v, want %v", n, got, want)
		}
	}
}

// naiveFill is the window stage written down as the seed describes it.
func naiveFill(items []Item, b *fill.Budget, maxTokens int) (window, overflow []string) {
	order := naiveOrder(items, values.Indices(len(items)))
	if b != nil && (len(b.Allocations) > 0 || b.EnforceSharedPool) {
		var groups [][]int32
		place := map[Source]int{}
		for _, i := range order {
			s := items[i].Source
			if _, ok := place[s]; !ok {
				place[s] = len(groups)
				groups = append(groups, nil)
			}
			groups[place[s]] = append(groups[place[s]], i)
		}
		accepted := map[int32]bool{}
		used, total := map[Source]int{}, map[Source]int{}
		for _, i := range order {
			total[items[i].Source] += items[i].TokenCount
		}
		for _, i := range order {
			s := items[i].Source
			at := slices.IndexFunc(b.Allocations, func(a fill.Allocation) bool { return a.Source == s })
			limit, strategy := math.MaxInt, fill.OverflowTruncate
			if at >= 0 {
				limit, strategy = b.Allocations[at].MaxTokens, b.Allocations[at].Overflow
			} else if b.EnforceSharedPool {
				s, limit = "pool", b.SharedPool()
			}
			if strategy == fill.OverflowDrop {
				accepted[i] = total[s] <= limit
			} else if used[s]+items[i].TokenCount <= limit {
				used[s] += items[i].TokenCount
				accepted[i] = true
			}
		}
		order = nil
		for _, group := range groups {
			for _, i := range group {
				if accepted[i] {
					order = append(order, i)
				} else {
					overflow = append(overflow, items[i].ID)
				}
			}
		}
		order = naiveOrder(items, order)
	}
	used := 0
	for _, i := range order {
		if used+items[i].TokenCount <= maxTokens {
			used += items[i].TokenCount
		} else if items[i].Source == SourceSystem { // it takes the room of others
			slices.SortStableFunc(order, func(i, j int32) int { return others(items[i]) - others(items[j]) })
			break
		}
	}
	used = 0
	for _, i := range order {
		if used+items[i].TokenCount <= maxTokens {
			used += items[i].TokenCount
			window = append(window, items[i].ID)
		} else {
			overflow = append(overflow, items[i].ID)
		}
	}
	return window, overflow
}

func randomBudget(r *rand.Rand, maxTokens int) *fill.Budget {
	b := &fill.Budget{TotalTokens: maxTokens, EnforceSharedPool: r.IntN(2) == 0}
	left := maxTokens
	for _, s := range r.Perm(core.NumSources)[:r.IntN(core.NumSources)] {
		limit := 1 + r.IntN(max(1, left/2))
		if left -= limit; left < 0 {
			break
		}
		b.Allocations = append(b.Allocations, fill.Allocation{Source: Sources[s], MaxTokens: limit,
			Overflow: []fill.OverflowStrategy{"", fill.OverflowTruncate, fill.OverflowDrop}[r.IntN(3)]})
	}
	return b
}

func TestNoItemIsLost(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		items := randomItems(r, r.IntN(150))
		maxTokens := 1 + r.IntN(1500)
		cfg := Config{MaxTokens: maxTokens, Steps: []StepConfig{{Name: "give", Step: appendStep(items...)}}}
		if r.IntN(4) > 0 {
			cfg.Budget = randomBudget(r, maxTokens)
		}
		result, err := mustNew(t, cfg).Build(t.Context(), Query{Text: "q"})
		if withoutSystem(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		d := result.Diagnostics
		if result.Window.UsedTokens > maxTokens || result.Window.UsedTokens != sumItems(result.Window.Items) {
			t.Fatalf("window of %d uses %d tokens", maxTokens, result.Window.UsedTokens)
		}
		if d.ItemsIncluded+d.ItemsOverflow != d.TotalItemsConsidered || d.TotalItemsConsidered != len(items) {
			t.Fatalf("%d + %d of %d items", d.ItemsIncluded, d.ItemsOverflow, len(items))
		}
		var overflow []string
		for _, o := range result.Overflow {
			overflow = append(overflow, o.ID)
			if o.Available < 0 || o.Reason != OverflowSourceDropped && o.TokenCount <= o.Available {
				t.Fatalf("item of %d tokens overflows with %d available: %s", o.TokenCount, o.Available, o.Reason)
			}
		}
		window := ids(result.Window.Items)
		wantWindow, wantOverflow := naiveFill(items, cfg.Budget, maxTokens)
		if !slices.Equal(window, wantWindow) || !slices.Equal(overflow, wantOverflow) {
			t.Fatalf("budget %+v\nwindow   %v\nwant     %v\noverflow %v\nwant     %v", cfg.Budget, window, wantWindow, overflow, wantOverflow)
		}
	}
}

func sumItems(items []Item) (sum int) {
	for i := range items {
		sum += items[i].TokenCount
	}
	return sum
}

func TestHugeTokenCountsDoNotWrapAround(t *testing.T) {
	huge := Item{ID: "huge", Source: SourceTool, Priority: 5, TokenCount: math.MaxInt}
	r := mustBuild(t, Config{
		MaxTokens: 10, Budget: &fill.Budget{TotalTokens: 10, Allocations: []fill.Allocation{{Source: SourceTool, MaxTokens: 5, Overflow: fill.OverflowDrop}}},
		Steps: []StepConfig{{Name: "give", Step: appendStep(huge, huge, huge)}},
	})
	if len(r.Window.Items) != 0 || r.Diagnostics.BudgetOverflowBySource[SourceTool] != 3 {
		t.Errorf("diagnostics %+v", r.Diagnostics)
	}
}

func TestSharedPoolIsEnforcedOnRequest(t *testing.T) {
	items := []Item{
		{ID: "t1", Source: SourceTool, Score: 0.9, Priority: 5, TokenCount: 6}, {ID: "u1", Source: SourceUser, Score: 0.8, Priority: 5, TokenCount: 6},
		{ID: "u2", Source: SourceUser, Score: 0.7, Priority: 5, TokenCount: 4}, {ID: "r1", Source: SourceRetrieval, Score: 0.1, Priority: 5, TokenCount: 50},
	}
	budget := &fill.Budget{TotalTokens: 100, Allocations: []fill.Allocation{{Source: SourceRetrieval, MaxTokens: 90}}, EnforceSharedPool: true}
	r := mustBuild(t, Config{MaxTokens: 100, Budget: budget, Steps: []StepConfig{{Name: "give", Step: appendStep(items...)}}})
	if got := ids(r.Window.Items); !slices.Equal(got, []string{"t1", "u2", "r1"}) {
		t.Errorf("window %v", got)
	}
	if o := r.Overflow[0]; o.ID != "u1" || o.Reason != OverflowSharedPool || o.Available != 4 {
		t.Errorf("overflow %+v", o)
	}
}

func TestRound4RoundsHalvesToEven(t *testing.T) {
	for x, want := range map[float64]float64{0.03125: 0.0312, 0.09375: 0.0938, 2.0 / 7: 0.2857, 1: 1, 0: 0, 0.99996: 1} {
		if got := values.Round4(x); got != want {
			t.Errorf("values.Round4(%v) = %v, want %v", x, got, want)
		}
	}
}
