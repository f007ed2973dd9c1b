package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// tuneSet has queries whose only relevant document is "good".
func tuneSet(n int) *Set {
	s := &Set{}
	for i := range n {
		s.Queries = append(s.Queries, Judged{Query{ID: fmt.Sprintf("q%d", i)}, Grades{"good": 1}})
	}
	return s
}

// at returns a ranking with the good document at a rank from 1.
func at(rank int) []string {
	out := []string{"a", "b", "c", "d", "e"}
	return slices.Insert(out, min(rank-1, len(out)), "good")
}

func TestTune(t *testing.T) {
	// The rank depends on both values together: the best is 3 and 30.
	rank := func(_ context.Context, _ int, v []float64) ([]string, error) {
		distance := max(3-v[0], v[0]-3) + max(30-v[1], v[1]-30)/10
		return at(1 + int(distance)), nil
	}
	calls := 0
	tuner := &Tuner{Set: tuneSet(40), Metric: Metric{"mrr", 0}, Progress: func(int) { calls++ }}
	values, err := tuner.Tune(t.Context(), []Parameter{{"x", []float64{1, 2, 3, 4}, 1}, {"y", []float64{10, 20, 30}, 10}}, rank)
	if err != nil || !slices.Equal(values, []float64{3, 30}) {
		t.Errorf("values %v, %v", values, err)
	}
	f, err := tuner.Measure(t.Context(), rank, values)
	row := tuner.Row("tuned", nil, f)
	if err != nil || row.Training != 1 || row.HeldOut != 1 || calls == 0 {
		t.Errorf("%+v, %v, %d calls", row, err, calls)
	}
}

// Only the training half decides, and a gain that may be chance does not count.
func TestTuneLooksAtOneHalf(t *testing.T) {
	set := tuneSet(100)
	tuner := &Tuner{Set: set, Metric: Metric{"mrr", 0}}
	first := slices.IndexFunc(set.Queries, func(q Judged) bool { return Training(q.ID) })
	for name, c := range map[string]struct {
		gains func(query int) int // in ranks, if the value is 1
		want  float64
	}{
		"training":  {func(i int) int { return map[bool]int{true: 2, false: -2}[Training(set.Queries[i].ID)] }, 1},
		"held out":  {func(i int) int { return map[bool]int{true: -2, false: 2}[Training(set.Queries[i].ID)] }, 0},
		"one query": {func(i int) int { return map[bool]int{true: 2, false: 0}[i == first] }, 0},
	} {
		rank := func(_ context.Context, query int, v []float64) ([]string, error) {
			return at(3 - int(v[0])*c.gains(query)), nil
		}
		values, err := tuner.Tune(t.Context(), []Parameter{{"x", []float64{0, 1}, 0}}, rank)
		if err != nil || values[0] != c.want {
			t.Errorf("%s: value %v, %v, want %v", name, values, err, c.want)
		}
	}
	training, heldOut := tuner.Halves(make(Figures, 100))
	if len(training) < 35 || len(heldOut) < 35 {
		t.Errorf("halves of %d and %d", len(training), len(heldOut))
	}
}

func TestTuneFails(t *testing.T) {
	broken := errors.New("no disk")
	tuner := &Tuner{Set: tuneSet(40), Metric: Metric{"mrr", 0}}
	first := slices.IndexFunc(tuner.Set.Queries, func(q Judged) bool { return Training(q.ID) })
	_, err := tuner.Tune(t.Context(), []Parameter{{"x", []float64{1}, 0}}, func(_ context.Context, query int, _ []float64) ([]string, error) {
		if query == first {
			return nil, broken
		}
		return nil, nil
	})
	if !errors.Is(err, broken) || err.Error() != fmt.Sprintf("query %q: no disk", tuner.Set.Queries[first].ID) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tuner.Measure(ctx, func(context.Context, int, []float64) ([]string, error) { return nil, nil }, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	if err := (&Tuner{Set: tuneSet(6)}).Check(); err == nil {
		t.Error("six queries are enough")
	}
}
