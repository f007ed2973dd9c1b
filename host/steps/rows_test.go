package steps

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
)

func TestScopeTellsSourcesApart(t *testing.T) {
	for _, src := range pipeline.Sources {
		s := scope(0).with(src)
		for _, other := range append(pipeline.Sources[:len(pipeline.Sources):len(pipeline.Sources)], "", "toll", "retrieval ") {
			if s.has(other) != (other == src) {
				t.Errorf("a scope of %q has %q: %v", src, other, s.has(other))
			}
		}
	}
}

// A view, and what it keeps, is what looking at one item after the other gives: for any
// sources, any rows that stay, and memory that was used before.
func TestViewProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	sources := append(slices.Clone(pipeline.Sources), "", "else")
	var v rowView
	spare := make([]pipeline.Item, 0, 64)
	hidden := 0
	for range 5000 {
		s := defaultScope([]abi.Operation{abi.OpFilter, abi.OpProcess}[rng.IntN(2)])
		items := randomItems(rng, rng.IntN(64), sources[:1+rng.IntN(len(sources))])
		var rows []pipeline.Item
		for _, it := range items {
			if s.has(it.Source) {
				rows = append(rows, it)
			}
		}
		if len(rows) < len(items) {
			hidden++
		}
		v = rowView{room: v.at, spare: spare[:0:rng.IntN(65)]}
		v.show(items, s)
		checkView(t, &v, rows)
		keep, stays := randomKeep(rng, rows)
		want := slices.DeleteFunc(slices.Clone(items), func(it pipeline.Item) bool {
			return s.has(it.Source) && !stays[it.ID]
		})
		if got := v.keep(keep); !slices.EqualFunc(got, want, func(a, b pipeline.Item) bool { return reflect.DeepEqual(a, b) }) {
			t.Fatalf("keep %v of %v: got %v, want %v", keep, items, got, want)
		}
	}
	if hidden < 1000 {
		t.Errorf("%d lists had hidden items, which is no test", hidden)
	}
}

// randomItems are items of some sources, in runs.
func randomItems(rng *rand.Rand, n int, sources []pipeline.Source) []pipeline.Item {
	items := make([]pipeline.Item, n)
	for i := range items {
		items[i] = pipeline.Item{ID: fmt.Sprint(i), Score: rng.Float64(), Source: sources[rng.IntN(len(sources))]}
		if i > 0 && rng.IntN(3) > 0 {
			items[i].Source = items[i-1].Source
		}
	}
	return items
}

// randomKeep are rows that stay, in runs, and their ids.
func randomKeep(rng *rand.Rand, rows []pipeline.Item) (keep []uint32, stays map[string]bool) {
	keep, stays = []uint32{}, map[string]bool{}
	change := []int{2, 20}[rng.IntN(2)]
	staying := rng.IntN(2) == 0
	for i, it := range rows {
		if rng.IntN(change) == 0 {
			staying = !staying
		}
		if staying {
			keep, stays[it.ID] = append(keep, uint32(i)), true
		}
	}
	return keep, stays
}

func checkView(t *testing.T, v *rowView, rows []pipeline.Item) {
	t.Helper()
	if v.Len() != len(rows) {
		t.Fatalf("%d rows, want %d", v.Len(), len(rows))
	}
	scores := make([]float64, len(rows))
	v.CopyScores(scores)
	for i, it := range rows {
		if v.ID(i) != it.ID || v.Score(i) != it.Score || scores[i] != it.Score {
			t.Fatalf("row %d: %q with score %v and %v, want %q with %v", i, v.ID(i), v.Score(i), scores[i], it.ID, it.Score)
		}
	}
}

// What does the host do with each item of a step?
func BenchmarkView(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 8))
	shown := randomItems(rng, 1000, []pipeline.Source{pipeline.SourceRetrieval})
	partly := slices.Clone(shown)
	partly[0].Source, partly[999].Source = pipeline.SourceSystem, pipeline.SourceConversation
	for _, list := range []struct {
		name  string
		items []pipeline.Item
	}{{"all", shown}, {"some hidden", partly}} {
		v := rowView{room: make([]int32, 0, 1000)}
		b.Run("show/"+list.name, func(b *testing.B) {
			for b.Loop() {
				v.at = nil
				v.show(list.items, defaultScope(abi.OpFilter))
			}
		})
		b.Run("scores/"+list.name, func(b *testing.B) {
			scores := make([]float64, v.Len())
			for b.Loop() {
				v.CopyScores(scores)
			}
		})
		v.spare = make([]pipeline.Item, 0, 1000)
		for _, run := range []int{1, 10, 50} { // of rows that stay, and as many go
			var keep []uint32
			for i := range v.Len() {
				if i/run%2 == 1 {
					keep = append(keep, uint32(i))
				}
			}
			b.Run(fmt.Sprintf("keep/%s/runs of %d", list.name, run), func(b *testing.B) {
				for b.Loop() {
					v.keep(keep)
				}
			})
		}
	}
}
