package pipeline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

func TestWindow(t *testing.T) {
	w, err := core.NewWindow(10)
	if err != nil {
		t.Fatal(err)
	}
	add := func(tokens int, want bool) {
		t.Helper()
		if got := w.AddItem(Item{TokenCount: tokens}); got != want {
			t.Errorf("AddItem of %d tokens with %d remaining: %v", tokens, w.Remaining(), got)
		}
	}
	add(8, true)
	add(3, false)
	add(-1, false)
	add(math.MaxInt, false)
	add(2, true)
	add(0, true)
	if w.Remaining() != 0 || w.UsedTokens != 10 || w.Utilization() != 1 || len(w.Items) != 3 {
		t.Errorf("window %+v", w)
	}
	over := &Window{MaxTokens: 4, UsedTokens: 6}
	if over.Remaining() != 0 || over.Utilization() != 1 {
		t.Errorf("overfull window: %d remaining, utilization %v", over.Remaining(), over.Utilization())
	}
	if (&Window{}).Utilization() != 0 {
		t.Error("utilization of the zero window")
	}
}

func TestNewWindow(t *testing.T) {
	if _, err := core.NewWindow(-1); !errors.Is(err, ErrInvalid) {
		t.Errorf("core.NewWindow(-1): %v", err)
	}
	w, err := core.NewWindow(0)
	if err != nil || w.MaxTokens != DefaultMaxTokens {
		t.Errorf("core.NewWindow(0): %+v, %v", w, err)
	}
}

func TestAddItemsByPriority(t *testing.T) {
	w := &Window{MaxTokens: 10}
	overflow := w.AddItemsByPriority([]Item{
		{ID: "low", Priority: 1, TokenCount: 2}, {ID: "big", Priority: 8, TokenCount: 5},
		{ID: "high", Priority: 9, TokenCount: 8}, {ID: "none", Priority: 8, TokenCount: 6, Score: 1},
	})
	if got := ids(w.Items); !slices.Equal(got, []string{"high", "low"}) {
		t.Errorf("window %v", got)
	}
	if got := ids(overflow); !slices.Equal(got, []string{"none", "big"}) {
		t.Errorf("overflow %v", got)
	}
}

// randomItems are valid items with many ties.
func randomItems(r *rand.Rand, n int) []Item {
	scores := []float64{0, 1, 0.5, math.SmallestNonzeroFloat64, math.Nextafter(0.5, 1), math.Nextafter(1, 0), math.Copysign(0, -1)}
	items := make([]Item, n)
	for i := range items {
		score := scores[r.IntN(len(scores))]
		if r.IntN(3) == 0 {
			score = r.Float64()
		}
		items[i] = Item{ID: fmt.Sprint(i), Source: Sources[r.IntN(core.NumSources)], Score: score,
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
func naiveFill(items []Item, b *Budget, maxTokens int) (window, overflow []string) {
	order := naiveOrder(items, values.Indices(len(items)))
	if b != nil && b.limits() {
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
			at := slices.IndexFunc(b.Allocations, func(a Allocation) bool { return a.Source == s })
			limit, strategy := math.MaxInt, OverflowTruncate
			if at >= 0 {
				limit, strategy = b.Allocations[at].MaxTokens, b.Allocations[at].Overflow
			} else if b.EnforceSharedPool {
				s, limit = "pool", b.SharedPool()
			}
			if strategy == OverflowDrop {
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
			window = append(window, items[i].ID)
		} else {
			overflow = append(overflow, items[i].ID)
		}
	}
	return window, overflow
}

func randomBudget(r *rand.Rand, maxTokens int) *Budget {
	b := &Budget{TotalTokens: maxTokens, EnforceSharedPool: r.IntN(2) == 0}
	left := maxTokens
	for _, s := range r.Perm(core.NumSources)[:r.IntN(core.NumSources)] {
		limit := 1 + r.IntN(max(1, left/2))
		if left -= limit; left < 0 {
			break
		}
		b.Allocations = append(b.Allocations, Allocation{Source: Sources[s], MaxTokens: limit,
			Overflow: []OverflowStrategy{"", OverflowTruncate, OverflowDrop}[r.IntN(3)]})
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
		result := mustBuild(t, cfg)
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
		MaxTokens: 10, Budget: &Budget{TotalTokens: 10, Allocations: []Allocation{{Source: SourceTool, MaxTokens: 5, Overflow: OverflowDrop}}},
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
	budget := &Budget{TotalTokens: 100, Allocations: []Allocation{{Source: SourceRetrieval, MaxTokens: 90}}, EnforceSharedPool: true}
	r := mustBuild(t, Config{MaxTokens: 100, Budget: budget, Steps: []StepConfig{{Name: "give", Step: appendStep(items...)}}})
	if got := ids(r.Window.Items); !slices.Equal(got, []string{"t1", "u2", "r1"}) {
		t.Errorf("window %v", got)
	}
	if o := r.Overflow[0]; o.ID != "u1" || o.Reason != OverflowSharedPool || o.Available != 4 {
		t.Errorf("overflow %+v", o)
	}
}

func TestPresetBudgets(t *testing.T) {
	for name, want := range map[string]struct {
		caps          map[Source]int
		reserve, pool int
		smallest      int
	}{
		"chat":  {map[Source]int{SourceSystem: 819, SourceMemory: 819, SourceConversation: 1638, SourceRetrieval: 2048}, 1228, 1640, 10},
		"rag":   {map[Source]int{SourceSystem: 819, SourceMemory: 409, SourceConversation: 819, SourceRetrieval: 3276}, 1228, 1641, 20},
		"agent": {map[Source]int{SourceSystem: 1228, SourceMemory: 819, SourceConversation: 1228, SourceRetrieval: 1638, SourceTool: 1228}, 1228, 823, 10},
	} {
		b, err := PresetBudget(name, 8192)
		if err != nil {
			t.Fatal(err)
		}
		caps := map[Source]int{}
		for _, a := range b.Allocations {
			caps[a.Source] = a.MaxTokens
			if a.Priority != a.Source.DefaultPriority() || a.Overflow != OverflowTruncate {
				t.Errorf("%s: allocation %+v", name, a)
			}
		}
		if !reflect.DeepEqual(caps, want.caps) || b.ReserveTokens != want.reserve || b.SharedPool() != want.pool {
			t.Errorf("%s: %v, reserve %d, pool %d", name, caps, b.ReserveTokens, b.SharedPool())
		}
		for total := -1; total < 30; total++ {
			if _, err := PresetBudget(name, total); (err == nil) != (total >= want.smallest) || err != nil && !errors.Is(err, ErrInvalid) {
				t.Errorf("%s of %d tokens: %v", name, total, err)
			}
		}
	}
	if _, err := PresetBudget("poet", 100); !errors.Is(err, ErrInvalid) {
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
	b := Budget{TotalTokens: 100, ReserveTokens: 10, Allocations: []Allocation{{Source: SourceTool, MaxTokens: 20, Overflow: OverflowDrop}, {Source: SourceUser, MaxTokens: 5}}}
	for s, want := range map[Source]int{SourceTool: 20, SourceUser: 5, SourceMemory: 65} {
		if got := b.Allocation(s); got != want {
			t.Errorf("allocation of %s: %d, want %d", s, got, want)
		}
	}
	for s, want := range map[Source]OverflowStrategy{SourceTool: OverflowDrop, SourceUser: OverflowTruncate, SourceMemory: OverflowTruncate} {
		if got := b.OverflowStrategy(s); got != want {
			t.Errorf("strategy of %s: %s, want %s", s, got, want)
		}
	}
}

func TestRound4RoundsHalvesToEven(t *testing.T) {
	for x, want := range map[float64]float64{0.03125: 0.0312, 0.09375: 0.0938, 2.0 / 7: 0.2857, 1: 1, 0: 0, 0.99996: 1} {
		if got := values.Round4(x); got != want {
			t.Errorf("values.Round4(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestWindowDocument(t *testing.T) {
	data, err := json.Marshal(&Window{MaxTokens: 3})
	if err != nil || string(data) != `{"items":[],"max_tokens":3,"used_tokens":0}` {
		t.Errorf("%s, %v", data, err)
	}
}
