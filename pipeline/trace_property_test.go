package pipeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/fill"
)

// storyEdit changes a list at random: what the items are, and which there are.
func storyEdit(r *rand.Rand, repeat bool) func(items []Item) []Item {
	seed1, seed2 := r.Uint64(), r.Uint64()
	return func(items []Item) []Item {
		r := rand.New(rand.NewPCG(seed1, seed2)) // attempts may run twice: the same each time
		for range r.IntN(6) {
			n := len(items)
			switch k := r.IntN(9); {
			case k == 0 || n == 0:
				id := fmt.Sprint("n", r.IntN(1000))
				if repeat {
					id = fmt.Sprint("d", r.IntN(4))
				}
				items = slices.Insert(items, r.IntN(n+1), storyItem(id, anySource(r), r.IntN(9), r.Float64()))
			case k == 1:
				items = slices.Delete(items, r.IntN(n), n)
			case k == 2:
				at := r.IntN(n)
				items = slices.Delete(items, at, at+1)
			case k == 3:
				items[r.IntN(n)].Score = r.Float64()
			case k == 4:
				items[r.IntN(n)].Priority = 1 + r.IntN(10)
			case k == 5:
				items[r.IntN(n)].Content = strings.Repeat("z ", r.IntN(9))
			case k == 6:
				a, b := r.IntN(n), r.IntN(n)
				items[a], items[b] = items[b], items[a]
			case k == 7:
				items[r.IntN(n)].TokenCount = r.IntN(20)
			default:
				items[r.IntN(n)].Metadata = map[string]any{"k": r.Float64()}
			}
		}
		return items
	}
}

func randomCaps(r *rand.Rand) *fill.Budget {
	if r.IntN(3) == 0 {
		return nil
	}
	b := &fill.Budget{TotalTokens: 60, EnforceSharedPool: r.IntN(2) == 0}
	for _, s := range Sources {
		if r.IntN(2) == 0 {
			b.Allocations = append(b.Allocations, fill.Allocation{Source: s, MaxTokens: 1 + r.IntN(10), Priority: 5,
				Overflow: []fill.OverflowStrategy{fill.OverflowTruncate, fill.OverflowDrop}[r.IntN(2)]})
		}
	}
	return b
}

// Whatever steps do to the list, every considered item has a trace whose last entry
// agrees with the result, and whose changes lead from the first value to the last.
func TestStoriesAgreeWithTheResult(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 11))
	for range 3000 {
		repeat := r.IntN(2) == 0
		cfg := Config{Explain: true, MaxTokens: 60, Budget: randomCaps(r), SystemPrompts: []SystemPrompt{{Content: "be brief"}}}
		if r.IntN(2) == 0 {
			cfg.Fit, cfg.Order = fill.Fits[r.IntN(len(fill.Fits))], fill.WindowOrders[r.IntN(len(fill.WindowOrders))]
			cfg.Fill = strategies()[r.IntN(3)]
			cfg.Truncate = fill.Truncation{At: fill.Cuttings[r.IntN(len(fill.Cuttings))], MinTokens: 1}
		}
		for i := range 1 + r.IntN(5) {
			edit := storyEdit(r, repeat)
			step := StepConfig{Name: fmt.Sprint("step", i), Step: native(edit)}
			switch r.IntN(4) {
			case 0:
				step.Step = edited(edit)
			case 1:
				step.OnError = Skip
			case 2:
				step.Step = RetrieverStep(fixedRetriever(edit(nil)), 10)
			}
			cfg.Steps = append(cfg.Steps, step)
		}
		result, err := mustNew(t, cfg).Build(t.Context(), Query{Text: "q"})
		if withoutSystem(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		agrees(t, result)
		for _, s := range result.Diagnostics.Items.All() {
			checkChain(t, &s)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

// checkChain checks that the changes of a trace join.
func checkChain(t *testing.T, s *explain.ItemTrace) {
	t.Helper()
	score := 0.0
	for i := range s.Events {
		if c := s.Events[i].Score; c != nil {
			if c.From != score {
				t.Errorf("%s: %q", s.ID, briefs(s))
			}
			score = c.To
		}
	}
	if score != s.Score {
		t.Errorf("%s: score %v at the end, %q", s.ID, s.Score, briefs(s))
	}
}
