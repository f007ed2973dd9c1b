package frames

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// seedModel is the seed's rule word for word: a list, the first unprotected frame of
// which is removed while it is too long.
type seedModel struct {
	ids   []uint64
	kinds map[uint64]Kind
}

func (m *seedModel) push(id uint64, kind Kind, maxFrames uint32) {
	m.ids = append(m.ids, id)
	m.kinds[id] = kind
	for maxFrames > 0 && len(m.ids) > int(maxFrames) {
		first := slices.IndexFunc(m.ids, func(id uint64) bool { return !m.kinds[id].Protected() })
		if first < 0 {
			return
		}
		m.ids = slices.Delete(m.ids, first, first+1)
	}
}

func randomKind(r *rand.Rand) Kind {
	if i := r.IntN(len(Kinds) + 20); i < len(Kinds) {
		return Kinds[i]
	}
	return Other(fmt.Sprint(r.IntN(3)))
}

func TestWindowIsTheSeeds(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := newPipeline(t, Config{})
		model := seedModel{kinds: make(map[uint64]Kind)}
		limit := uint32(0)
		for range 300 {
			if r.IntN(20) == 0 {
				limit = uint32(r.IntN(40))
				p.SetLimits(Limits{MaxFrames: limit})
			}
			kind := randomKind(r)
			model.push(push(t, p, kind, "s"), kind, limit)
			if got := p.Window().IDs(); !slices.Equal(got, model.ids) {
				t.Fatalf("seed %d: window %v, want %v", seed, got, model.ids)
			}
		}
	}
}

// TestProperties pushes frames under changing limits, restores the pipeline now and
// then from its document alone, and checks what must always hold.
func TestProperties(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		p := newPipeline(t, Config{})
		var protected []uint64
		last := int64(-1)
		for range 200 {
			if r.IntN(15) == 0 {
				p.SetLimits(randomLimits(r))
			}
			if r.IntN(40) == 0 {
				p = throughJSON(t, p)
			}
			kind := randomKind(r)
			id := pushWeighing(t, p, kind, uint64(r.IntN(60)))
			if int64(id) <= last {
				t.Fatalf("seed %d: id %d after %d", seed, id, last)
			}
			last = int64(id)
			if kind.Protected() {
				protected = append(protected, id)
			}
			if p.view.weight != weigh(p) {
				t.Fatalf("seed %d: weight %d, want %d", seed, p.view.weight, weigh(p))
			}
		}
		for _, id := range protected {
			if _, ok := p.Frame(id); !ok {
				t.Fatalf("seed %d: protected frame %d was evicted", seed, id)
			}
		}
	}
}

func randomLimits(r *rand.Rand) Limits {
	return Limits{MaxFrames: uint32(r.IntN(30)), MaxTokens: uint64(r.IntN(3) * r.IntN(400))}
}

func weigh(p *Pipeline) (sum uint64) {
	for _, f := range p.Window().Frames {
		sum += f.Weight()
	}
	return sum
}

// throughJSON restores a pipeline from its document alone, into a log of its own.
func throughJSON(t *testing.T, p *Pipeline) *Pipeline {
	t.Helper()
	var d Document
	if err := json.Unmarshal([]byte(toJSON(t, p)), &d); err != nil {
		t.Fatal(err)
	}
	again, err := Restore(t.Context(), d, Config{Now: p.now})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.Window(), p.Window()) || again.NextFrameID() != p.NextFrameID() || again.Limits() != p.Limits() {
		t.Fatalf("restored window %v, want %v", again.Window(), p.Window())
	}
	return again
}

func TestWindowIsTheReplayOfTheLog(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		log := new(MemoryLog)
		p := newPipeline(t, Config{Log: log})
		empty := p.Document()
		for range 300 {
			if r.IntN(15) == 0 {
				p.SetLimits(randomLimits(r))
			}
			pushWeighing(t, p, randomKind(r), uint64(r.IntN(60)))
		}
		replayed, err := Restore(t.Context(), empty, Config{Log: log})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(replayed.Window(), p.Window()) || replayed.NextFrameID() != p.NextFrameID() {
			t.Fatalf("seed %d: replay %v, window %v", seed, replayed.Window().IDs(), p.Window().IDs())
		}
		if replayed.view.weight != p.view.weight || replayed.view.pinnedWeight != p.view.pinnedWeight {
			t.Fatalf("seed %d: weights differ", seed)
		}
	}
}

// TestConstantLimitsNeedNoHistory: under limits that never change, the window is what
// a view of the unlimited pipeline shows.
func TestConstantLimitsNeedNoHistory(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 4))
		limits := Limits{MaxFrames: uint32(1 + r.IntN(30))}
		bounded, free := newPipeline(t, Config{Limits: limits}), newPipeline(t, Config{})
		for range 200 {
			kind := randomKind(r)
			push(t, bounded, kind, "s")
			push(t, free, kind, "s")
		}
		if got, want := bounded.Window().IDs(), free.View(limits).IDs(); !slices.Equal(got, want) {
			t.Fatalf("seed %d: window %v, view %v", seed, got, want)
		}
	}
}
