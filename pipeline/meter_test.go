package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// burner is a step, or a memory provider, that reports fuel as a plugin host does.
type burner struct {
	pluginStep
	fuel int64
	err  error
}

func (s burner) burn(ctx context.Context) error {
	AddFuel(ctx, s.fuel)
	AddFuel(context.WithValue(ctx, buildInfoKey{}, nil), s.fuel)
	return s.err
}

func (s burner) Run(ctx context.Context, _ *Query, items []Item) ([]Item, error) {
	return items, s.burn(ctx)
}

func (s burner) Items(ctx context.Context, _ *Query) ([]Item, error) { return nil, s.burn(ctx) }

// burning is a burner that runs at the same time as others.
type burning struct{ burner }

func (s burning) Append(ctx context.Context, _ *Query, _ []Item) ([]Item, error) {
	return nil, s.burn(ctx)
}

// Each step has the fuel that was used for it, also beside others, under a timeout and
// when it is skipped; what is used outside a step is nobody's.
func TestFuelOfSteps(t *testing.T) {
	AddFuel(t.Context(), 1)
	named := func(fuel int64, err error) burner { return burner{pluginStep{name: "p"}, fuel, err} }
	cfg := Config{Memory: named(1000, nil), Steps: []StepConfig{
		{Name: "one", Step: burning{named(1, nil)}, Priority: 1},
		{Name: "two", Step: burning{named(2, nil)}, Priority: 1},
		{Name: "timed", Step: named(3, nil), Timeout: time.Minute},
		{Name: "native", Step: native(func(items []Item) []Item { return items })},
		{Name: "left", Step: native(func(items []Item) []Item { return items }), Timeout: time.Minute},
		{Name: "bad", Step: named(4, errors.New("boom")), OnError: Skip},
		{Name: "last", Step: StepFunc(named(5, nil).Run), Timeout: time.Minute},
	}}
	p := mustNew(t, cfg)
	for range 2 {
		r, err := p.Build(t.Context(), Query{Text: "q"})
		if err != nil {
			t.Fatal(err)
		}
		var got []StepDiagnostic
		for _, s := range r.Diagnostics.Steps {
			got = append(got, StepDiagnostic{Name: s.Name, Plugin: s.Plugin, Fuel: s.Fuel})
		}
		want := []StepDiagnostic{
			{Name: "one", Plugin: "p", Fuel: 2}, {Name: "two", Plugin: "p", Fuel: 4}, {Name: "timed", Plugin: "p", Fuel: 6},
			{Name: "native"}, {Name: "left"}, {Name: "last", Fuel: 10},
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
		if f := r.Diagnostics.StepFailures; len(f) != 1 || f[0].Fuel != 8 {
			t.Errorf("failures %+v, want one with 8 units", f)
		}
		doc, err := json.Marshal(r.Diagnostics)
		if n := strings.Count(string(doc), `"fuel":`); err != nil || n != 5 {
			t.Errorf("%d steps with fuel in %s, error %v", n, doc, err)
		}
	}
}

// The context of a step has the values of the context of its build.
func TestContextOfSteps(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
	defer cancel()
	_, err := mustNew(t, Config{Steps: []StepConfig{{Name: "s", Step: StepFunc(func(own context.Context, _ *Query, items []Item) ([]Item, error) {
		if info, ok := BuildInfoFrom(own); !ok || info.MaxTokens != DefaultMaxTokens || own.Value(key{}) != "v" || own.Err() != nil {
			t.Errorf("info %+v, value %v, error %v", info, own.Value(key{}), own.Err())
		}
		cancel()
		<-own.Done()
		return items, own.Err()
	})}}}).Build(ctx, Query{Text: "q"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
