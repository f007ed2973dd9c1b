package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// randomShares returns a preset, or allocations with minimums and some caps.
func randomShares(r *rand.Rand, total int) *fill.Budget {
	if total >= 20 && r.IntN(2) == 0 {
		b, err := fill.PresetBudget(fill.PresetNames()[r.IntN(3)], total)
		if err != nil {
			panic(err)
		}
		for i := range b.Allocations {
			if r.IntN(6) == 0 {
				b.Allocations[i].MaxTokens = b.Allocations[i].MinTokens
			}
		}
		return b
	}
	b := &fill.Budget{TotalTokens: total, ReserveTokens: r.IntN(total)}
	left := total - b.ReserveTokens
	for _, s := range r.Perm(core.NumSources) {
		a := fill.Allocation{Source: Sources[s], MinTokens: r.IntN(1 + left)}
		if r.IntN(4) == 0 {
			a.MaxTokens = a.MinTokens + r.IntN(1+left-a.MinTokens)
		}
		if a.MinTokens > 0 || a.MaxTokens > 0 {
			b.Allocations = append(b.Allocations, a)
			left -= max(a.MinTokens, a.MaxTokens)
		}
	}
	return b
}

// Whatever the shares are: no item is left out that has room, unless its source has a cap, and
// no source is refused what its minimum has room for.
func TestRoomIsUsedAndMinimumsHold(t *testing.T) {
	r, built := rand.New(rand.NewPCG(21, 5)), 0
	for range 3000 {
		items, total := randomItems(r, r.IntN(120)), 20+r.IntN(1500)
		cfg := Config{MaxTokens: total, Budget: randomShares(r, total), Steps: []StepConfig{{Name: "give", Step: appendStep(items...)}}}
		if r.IntN(2) == 0 {
			cfg.Fill = strategies()[r.IntN(3)]
		}
		if r.IntN(3) == 0 { // the formatter's words are those of the items, so both ways to measure agree
			for i := range items {
				items[i].Content = strings.Repeat("w ", items[i].TokenCount)
			}
			cfg.Fit, cfg.Formatter, cfg.Tokenizer = fill.FitExact, plainFormat{}, WordTokenizer()
		}
		result := buildUnlessSystem(t, cfg)
		if result == nil {
			continue
		}
		built++
		if w := result.Window; w.UsedTokens > total-cfg.Budget.ReserveTokens || w.UsedTokens != sumItems(w.Items) {
			t.Fatalf("window of %d with %d in reserve uses %d tokens", total, cfg.Budget.ReserveTokens, w.UsedTokens)
		}
		used := map[Source]int{}
		for _, it := range result.Window.Items {
			used[it.Source] += it.TokenCount
		}
		others := slices.DeleteFunc(slices.Clone(result.Window.Items), func(it Item) bool { return it.Source == SourceSystem }) // which come first if they need to
		if order := naiveOrder(others, values.Indices(len(others))); !slices.IsSorted(order) {
			t.Fatalf("the window is not in the order of priority: %v", ids(result.Window.Items))
		}
		for _, o := range result.Overflow {
			capped := o.Reason == OverflowSourceCap
			if !capped && o.TokenCount <= result.Window.Remaining() || o.TokenCount <= o.Available {
				t.Fatalf("budget %+v: %s has %d tokens of %d free and is left out: %s, %d available", cfg.Budget, o.ID, o.TokenCount, result.Window.Remaining(), o.Reason, o.Available)
			}
			for _, a := range cfg.Budget.Allocations {
				if capped && a.MaxTokens > a.MinTokens { // the cap has decided before, for items that are left out after it
					continue
				}
				if a.Source == o.Source && used[SourceSystem] <= systemShare(cfg.Budget) && used[o.Source]+o.TokenCount <= a.MinTokens {
					t.Fatalf("budget %+v: %s of %d tokens is left out (%s), and %s has %d", cfg.Budget, o.ID, o.TokenCount, o.Reason, o.Source, used[o.Source])
				}
			}
		}
	}
	if built < 1000 {
		t.Errorf("only %d windows were built", built)
	}
}

// buildUnlessSystem builds a window. It returns nil if the items of the system do not fit, which is an
// error.
func buildUnlessSystem(t *testing.T, cfg Config) *Result {
	t.Helper()
	result, err := mustNew(t, cfg).Build(t.Context(), Query{Text: "q"})
	if errors.Is(err, ErrBudget) && strings.Contains(err.Error(), "system items take") {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// systemShare is the minimum of the system. Beyond it, its items take room from the minimums of others.
func systemShare(b *fill.Budget) int {
	for _, a := range b.Allocations {
		if a.Source == SourceSystem {
			return a.MinTokens
		}
	}
	return 0
}

// plainFormat writes the texts of the items and nothing else.
type plainFormat struct{}

func (plainFormat) FormatType() string { return "plain" }

func (plainFormat) Format(_ context.Context, w *Window) (any, error) {
	var texts []string
	for i := range w.Items {
		texts = append(texts, w.Items[i].Content)
	}
	return strings.Join(texts, " "), nil
}

// sized returns an item of n words.
func sized(id string, s Source, priority, n int, score float64) Item {
	return Item{ID: id, Source: s, Priority: priority, Score: score, Content: strings.TrimSpace(strings.Repeat("w ", n))}
}

// A source gets its minimum before better items of others, with each way to fill and measure.
func TestMinimumsComeBeforeBetterItemsOfOthers(t *testing.T) {
	items := []Item{
		sized("c1", SourceConversation, 7, 60, 0.9), sized("c2", SourceConversation, 7, 30, 0.8), sized("c3", SourceConversation, 7, 8, 0.7),
		sized("r1", SourceRetrieval, 5, 40, 0.9), sized("r2", SourceRetrieval, 5, 5, 0.8),
	}
	budget := &fill.Budget{TotalTokens: 100, Allocations: []fill.Allocation{{Source: SourceRetrieval, MinTokens: 40}}}
	for _, c := range []struct {
		name   string
		edit   func(*Config)
		window string
		reason OverflowReason // of c2
	}{
		{"minimum", func(*Config) {}, "c1 r1", OverflowMinimums},
		{"first fit", func(c *Config) { c.Fill = fill.FirstFit{} }, "c1 r1", OverflowMinimums},
		{"no minimum", func(c *Config) { c.Budget = nil }, "c1 c2 c3", ""},
		{"room is left", func(c *Config) { c.MaxTokens = 110 }, "c1 c3 r1", OverflowMinimums},
		{"all fit", func(c *Config) { c.MaxTokens = 143 }, "c1 c2 c3 r1 r2", ""},
		{"exact", func(c *Config) { c.Fit, c.Formatter, c.MaxTokens = fill.FitExact, plainFormat{}, 101 }, "c1 r1", OverflowMinimums},
	} {
		cfg := Config{MaxTokens: 100, Tokenizer: WordTokenizer(), Budget: budget, Steps: []StepConfig{{Name: "give", Step: appendStep(items...)}}}
		c.edit(&cfg)
		result := mustBuild(t, cfg)
		if got := strings.Join(ids(result.Window.Items), " "); got != c.window {
			t.Errorf("%s: window %s, want %s", c.name, got, c.window)
		}
		for _, o := range result.Overflow {
			if o.ID == "c2" && o.Reason != c.reason {
				t.Errorf("%s: c2 is left out: %s, want %q", c.name, o.Reason, c.reason)
			}
		}
	}
}

// What a text is cut to leaves the others their minimums, and has one itself.
func TestCutsLeaveRoomForMinimums(t *testing.T) {
	budget := &fill.Budget{TotalTokens: 100, Allocations: []fill.Allocation{{Source: SourceRetrieval, MinTokens: 40}}}
	for _, fit := range fill.Fits {
		cfg := Config{MaxTokens: 100, Tokenizer: WordTokenizer(), Budget: budget, Fit: fit, Formatter: plainFormat{}, Truncate: fill.Truncation{At: fill.CutCharacter, MinTokens: 1},
			Steps: []StepConfig{{Name: "give", Step: appendStep(sized("c", SourceConversation, 7, 500, 0.9), sized("r", SourceRetrieval, 5, 500, 0.9))}}}
		result := mustBuild(t, cfg)
		var got []string
		for _, it := range result.Window.Items {
			got = append(got, fmt.Sprint(it.ID, " ", it.TokenCount))
		}
		if strings.Join(got, ", ") != "c 60, r 40" {
			t.Errorf("fit %s: window %v, want c of 60 tokens and r of 40", fit, got)
		}
	}
}

// Whatever is cut: nothing is lost, the window is not too large, and what is left out is whole.
func TestMinimumsWithCutsLoseNothing(t *testing.T) {
	r, built := rand.New(rand.NewPCG(8, 13)), 0
	for range 1000 {
		total := 20 + r.IntN(200)
		items := make([]Item, r.IntN(20))
		words := map[string]int{}
		for i := range items {
			items[i] = sized(fmt.Sprint(i), Sources[r.IntN(core.NumSources)], 1+r.IntN(10), 1+r.IntN(100), r.Float64())
			words[items[i].ID] = len(strings.Fields(items[i].Content))
		}
		result := buildUnlessSystem(t, Config{
			MaxTokens: total, Budget: randomShares(r, total), Tokenizer: WordTokenizer(), Formatter: plainFormat{}, Fit: fill.Fits[r.IntN(2)],
			Fill: strategies()[r.IntN(3)], Truncate: fill.Truncation{At: fill.CutCharacter, MinTokens: 1 + r.IntN(20)},
			Steps: []StepConfig{{Name: "give", Step: appendStep(items...)}},
		})
		if result == nil {
			continue
		}
		built++
		if n := len(result.Window.Items) + len(result.Overflow); n != len(items) || result.Window.UsedTokens > result.Window.MaxTokens {
			t.Fatalf("%d of %d items, %d of %d tokens", n, len(items), result.Window.UsedTokens, result.Window.MaxTokens)
		}
		for _, it := range result.Window.Items {
			if n := len(strings.Fields(it.Content)); n != it.TokenCount || n > words[it.ID] {
				t.Fatalf("item %s counts %d tokens, and has %d of %d words", it.ID, it.TokenCount, n, words[it.ID])
			}
		}
		for _, o := range result.Overflow {
			if len(strings.Fields(o.Content)) != words[o.ID] {
				t.Fatalf("item %s is left out with %d of %d words", o.ID, len(strings.Fields(o.Content)), words[o.ID])
			}
		}
	}
	if built < 200 {
		t.Errorf("only %d windows were built", built)
	}
}

// A preset keeps what its reserve alone keeps of a window with one source.
func TestPresetKeepsWhatItsReserveKeeps(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for range 200 {
		items, total := randomItems(r, r.IntN(60)), 20+r.IntN(600)
		for i := range items {
			items[i].Source = SourceRetrieval
		}
		preset, err := fill.PresetBudget("rag", total)
		if err != nil {
			t.Fatal(err)
		}
		var windows []string
		for _, b := range []*fill.Budget{preset, {TotalTokens: total, ReserveTokens: preset.ReserveTokens}} {
			result := mustBuild(t, Config{MaxTokens: total, Budget: b, Steps: []StepConfig{{Name: "give", Step: appendStep(items...)}}})
			windows = append(windows, fmt.Sprint(ids(result.Window.Items)))
		}
		if windows[0] != windows[1] {
			t.Fatalf("with the preset %s, with its reserve alone %s", windows[0], windows[1])
		}
	}
}

// An item that is left out for a minimum names the items that have the room.
func TestExplainNamesWhatAMinimumKept(t *testing.T) {
	result := mustBuild(t, Config{
		MaxTokens: 10, Explain: true, Budget: &fill.Budget{TotalTokens: 10, Allocations: []fill.Allocation{{Source: SourceRetrieval, MinTokens: 5}}},
		Steps: []StepConfig{{Name: "give", Step: appendStep(
			Item{ID: "c1", Source: SourceConversation, Priority: 7, TokenCount: 4}, Item{ID: "c2", Source: SourceConversation, Priority: 6, TokenCount: 5},
			Item{ID: "r", Source: SourceRetrieval, Priority: 5, TokenCount: 5})}},
	})
	if got := fmt.Sprint(ids(result.Window.Items)); got != "[c1 r]" {
		t.Fatalf("window %s", got)
	}
	for _, s := range result.Diagnostics.Items.All() {
		if s.ID != "c2" {
			continue
		}
		if m := s.Last().Budget; m == nil || m.Kind != "minimums" || m.Limit != 10 || m.Available != 1 || m.Needed != 5 || m.Lacked != 4 || !slices.Equal(m.DisplacedBy, []string{"r"}) {
			t.Errorf("trace of c2: %+v", m)
		}
	}
}
