package steps_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// lastFuel is the fuel of the last call of a host.
type lastFuel struct{ n atomic.Int64 }

func (f *lastFuel) note(_ context.Context, c host.CallInfo) { f.n.Store(c.Fuel) }

// buildDiagnostics builds with one step and returns the diagnostics.
func buildDiagnostics(t *testing.T, cfg pipeline.StepConfig, items []pipeline.Item) *pipeline.Diagnostics {
	t.Helper()
	give := pipeline.StepConfig{Name: "give", Priority: 1, Step: pipeline.StepFunc(
		func(context.Context, *pipeline.Query, []pipeline.Item) ([]pipeline.Item, error) { return items, nil })}
	p, err := pipeline.New(pipeline.Config{Logger: slog.New(slog.DiscardHandler), Tokenizer: pipeline.WordTokenizer(), Steps: []pipeline.StepConfig{give, cfg}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Build(t.Context(), pipeline.Query{Text: "q"})
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Diagnostics.Steps[0]; s.Fuel != 0 || s.Plugin != "" {
		t.Errorf("a native step has %+v", s)
	}
	return r.Diagnostics
}

// Diagnostics have the fuel of the call of a step, the same on every run.
func TestDiagnosticsHaveTheFuelOfSteps(t *testing.T) {
	var used lastFuel
	h := newHost(t, host.Config{OnCall: used.note})
	p := loadSpec(t, h, allopsSpec(t), host.PluginConfig{Name: "mine", State: host.StateReset, Limits: host.Limits{Instances: 1}})
	step, err := steps.New(p, abi.OpFilter, steps.Options{Settings: map[string]any{"min": 0.2}})
	if err != nil {
		t.Fatal(err)
	}
	reranker, err := steps.Reranker(p, steps.Options{Settings: map[string]any{"word": "hi"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]pipeline.Step{"step": step, "adapter": pipeline.RerankerStep(reranker, 3)} {
		var before int64
		for range 3 {
			d := buildDiagnostics(t, pipeline.StepConfig{Name: "s", Step: s}, benchItems(50))
			got, want := d.Steps[1], used.n.Load()
			if want == 0 || got.Fuel != want || got.Plugin != "mine" || before != 0 && got.Fuel != before {
				t.Errorf("%s: %+v, want %d units, %d the time before", name, got, want, before)
			}
			before = got.Fuel
		}
	}
}

// A step that is skipped has the fuel that it used until then.
func TestDiagnosticsHaveTheFuelOfFailures(t *testing.T) {
	const most = 300_000
	var used lastFuel
	p := load(t, newHost(t, host.Config{OnCall: used.note}), "spin-forever", host.PluginConfig{State: host.StateReset, Limits: host.Limits{Instances: 1, Fuel: most}})
	s, err := steps.New(p, abi.OpFilter, steps.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := buildDiagnostics(t, pipeline.StepConfig{Name: "s", Step: s, OnError: pipeline.Skip}, benchItems(3))
	if f := d.StepFailures; len(f) != 1 || f[0].Reason != string(abi.ReasonFuel) || f[0].Fuel < most || f[0].Fuel != used.n.Load() {
		t.Errorf("%+v, want %d units or more", f, most)
	}
}

// What calls within a call use is in the fuel of the outer one, and counts once. All
// calls of a step count.
func TestFuelOfStepsWithManyCalls(t *testing.T) {
	var p *host.Plugin
	var depth atomic.Int32
	h := newHost(t, host.Config{Functions: []host.Function{host.NewFunction(host.UserModule, "greet", func(ctx context.Context, _ []byte) (_ []byte, err error) {
		defer depth.Add(-1)
		if depth.Add(1) == 1 {
			_, err = p.Call(ctx, "_start", nil)
		}
		return nil, err
	})}})
	p = load(t, h, "calls-in-start", host.PluginConfig{Grants: host.Grants{Functions: []string{"greet"}}, Limits: host.Limits{Instances: 2}})
	once, err := p.Call(t.Context(), "again", nil)
	if err != nil {
		t.Fatal(err)
	}
	for input, calls := range map[host.FunctionInput]int64{host.InputQuery: 1, host.InputText: 3} {
		s, err := steps.Function(p, "again", steps.FunctionOptions{Input: input})
		if err != nil {
			t.Fatal(err)
		}
		d := buildDiagnostics(t, pipeline.StepConfig{Name: "s", Step: s}, benchItems(3))
		if got := d.Steps[1]; got.Fuel != calls*once.Fuel || got.Plugin != p.Name() {
			t.Errorf("%s: %+v, want %d times %d units", input, got, calls, once.Fuel)
		}
	}
}

// A plugin that is a provider of a chain reports its fuel there.
func TestChainDiagnosticsHaveFuel(t *testing.T) {
	var used lastFuel
	p := loadSpec(t, newHost(t, host.Config{OnCall: used.note}), allopsSpec(t), host.PluginConfig{State: host.StateKeep, Limits: host.Limits{Instances: 1}})
	provider, err := steps.Provider(p, steps.Options{})
	if err != nil {
		t.Fatal(err)
	}
	chain, err := agent.NewChain(agent.Config{Providers: []agent.Provider{provider}})
	if err != nil {
		t.Fatal(err)
	}
	messages := []pipeline.Message{message.New(pipeline.RoleUser, "hey")}
	a, err := chain.Assemble(t.Context(), &agent.State{}, messages, agent.Budget{Phase: agent.PhaseLLM})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := a.Diagnostics.Providers[0].Fuel, used.n.Load(); got == 0 || got != want {
		t.Errorf("%d units of fuel, want %d", got, want)
	}
}
