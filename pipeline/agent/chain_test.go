package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// provider is a Provider made of a function.
type provider struct {
	name     string
	priority int
	apply    func(ctx context.Context, s *State, msgs []pipeline.Message) ([]pipeline.Message, error)
}

func (p provider) Name() string  { return p.name }
func (p provider) Priority() int { return p.priority }
func (p provider) EstimateTokens(context.Context, *State) (int, error) {
	panic("not called by a chain")
}

func (p provider) Apply(ctx context.Context, s *State, msgs []pipeline.Message, _ Budget) ([]pipeline.Message, error) {
	return p.apply(ctx, s, msgs)
}

func appending(name string, priority int, text string) provider {
	return provider{name, priority, func(_ context.Context, _ *State, msgs []pipeline.Message) ([]pipeline.Message, error) {
		return append(msgs, message.New(pipeline.RoleUser, text)), nil
	}}
}

func mustChain(t *testing.T, log *bytes.Buffer, providers ...Provider) *Chain {
	t.Helper()
	c, err := NewChain(Config{Logger: textLogger(log), Providers: providers})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func texts(msgs []pipeline.Message) []string {
	var out []string
	for _, m := range msgs {
		out = append(out, m.Text())
	}
	return out
}

func TestProvidersRunByAscendingPriority(t *testing.T) {
	var log bytes.Buffer
	c := mustChain(t, &log, appending("truncation", 30, "t"), appending("custom", 100, "x"), appending("observation", 10, "o"), appending("compaction", 20, "c"))
	for _, p := range []provider{appending("crm", 5, "crm"), appending("second-20", 20, "c2")} {
		if err := c.Register(p); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"crm", "observation", "compaction", "second-20", "truncation", "custom"}
	if got := c.Names(); !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	out, err := c.Run(t.Context(), &State{}, nil, Budget{})
	if got := texts(out); err != nil || !slices.Equal(got, []string{"crm", "o", "c", "c2", "t", "x"}) {
		t.Errorf("messages %v, %v", got, err)
	}
}

func TestFailedProviderLeavesNoTrace(t *testing.T) {
	spoil := func(s *State, msgs []pipeline.Message) {
		s.Messages[0].Parts[0].Text, s.Observations[0], s.Data["k"].([]any)[0], s.Reflection = "changed", "changed", "changed", "changed"
		msgs[0].Parts[0].Text = "changed"
	}
	for name, fail := range map[string]func() ([]pipeline.Message, error){
		"error": func() ([]pipeline.Message, error) {
			return []pipeline.Message{message.New(pipeline.RoleUser, "partial")}, errBoom
		},
		"panic":        func() ([]pipeline.Message, error) { panic("boom") },
		"nothing left": func() ([]pipeline.Message, error) { return []pipeline.Message{}, nil },
		"unknown role": func() ([]pipeline.Message, error) { return []pipeline.Message{message.Message{Role: "bard"}}, nil },
	} {
		var log bytes.Buffer
		bad := provider{"bad", 2, func(_ context.Context, s *State, msgs []pipeline.Message) ([]pipeline.Message, error) {
			spoil(s, msgs)
			return fail()
		}}
		c := mustChain(t, &log, appending("p1", 1, "A"), bad, appending("p3", 3, "B"))
		newState := func() *State {
			return &State{Messages: []pipeline.Message{message.New(pipeline.RoleUser, "m")}, Observations: []string{"o"}, Data: map[string]any{"k": []any{"v"}}}
		}
		state, given := newState(), []pipeline.Message{fromJSON(pipeline.RoleUser, `"content":"m0"`)}
		out, err := c.Run(t.Context(), state, given, Budget{})
		if got := texts(out); err != nil || !slices.Equal(got, []string{"m0", "A", "B"}) || out[0].Changed() {
			t.Errorf("%s: messages %v, %v", name, got, err)
		}
		if !reflect.DeepEqual(state, newState()) || given[0].Text() != "m0" {
			t.Errorf("%s: state %+v, messages given %+v", name, state, given)
		}
		if !bytes.HasPrefix(log.Bytes(), []byte(`level=WARN msg="provider left out" provider=bad plugin="" reason=`)) {
			t.Errorf("%s: log %s", name, log.String())
		}
	}
}

func TestNilIsNoChangeAndStateStays(t *testing.T) {
	var log bytes.Buffer
	notes := provider{"notes", 1, func(_ context.Context, s *State, _ []pipeline.Message) ([]pipeline.Message, error) {
		s.Observations = append(s.Observations, "noted")
		return nil, nil
	}}
	state := &State{}
	out, err := mustChain(t, &log, notes, appending("p2", 2, "B")).Run(t.Context(), state, []pipeline.Message{message.New(pipeline.RoleUser, "m0")}, Budget{})
	if got := texts(out); err != nil || !slices.Equal(got, []string{"m0", "B"}) || !slices.Equal(state.Observations, []string{"noted"}) {
		t.Errorf("messages %v, state %+v, %v", got, state, err)
	}
}

func TestCancellationStopsTheChain(t *testing.T) {
	for name, after := range map[string]error{"success": nil, "failure": errBoom} {
		for _, isolated := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			p := provider{"p1", 1, func(_ context.Context, s *State, msgs []pipeline.Message) ([]pipeline.Message, error) {
				cancel()
				s.Reflection = "too late"
				return append(msgs, userMessages("A")...), after
			}}
			var p1 Provider = p
			if isolated {
				p1 = isolatedProvider{p}
			}
			p2 := provider{"p2", 2, func(context.Context, *State, []pipeline.Message) ([]pipeline.Message, error) {
				t.Errorf("%s: p2 runs", name)
				return nil, nil
			}}
			var log bytes.Buffer
			var state State
			out, err := mustChain(t, &log, appending("p0", 0, "0"), p1, p2).Run(ctx, &state, userMessages("m0"), Budget{})
			if !errors.Is(err, context.Canceled) || !slices.Equal(texts(out), []string{"m0", "0"}) || state.Reflection != "" {
				t.Errorf("%s: messages %v, state %+v, error %v", name, texts(out), state, err)
			}
		}
	}
}

func TestRegisterRefuses(t *testing.T) {
	for want, providers := range map[string][]Provider{
		"provider chain: no provider: invalid value":                            {nil},
		"provider chain: name is empty: invalid value":                          {provider{}},
		`provider "a": registered twice: invalid value (give one another name)`: {appending("a", 1, ""), appending("a", 2, "")},
	} {
		if _, err := NewChain(Config{Providers: providers}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestRegisterWhileTheChainRuns registers from several goroutines while others run the
// chain, each with its own state; every run sees one list of providers, in order.
func TestRegisterWhileTheChainRuns(t *testing.T) {
	var log bytes.Buffer
	c := chainOf(t, &log, Config{Counter: wordCounter(t), Enforcer: appending("last", 0, "z")})
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			for j := range 20 {
				p := appending(fmt.Sprintf("p%d-%d", i, j), j%7, "x")
				if j%5 == 0 {
					p.apply = func(context.Context, *State, []pipeline.Message) ([]pipeline.Message, error) { panic("boom") }
				}
				if err := c.Register(p); err != nil {
					t.Error(err)
				}
				if err := c.Register(p); !errors.Is(err, pipeline.ErrInvalid) {
					t.Errorf("registered twice: %v", err)
				}
			}
		})
		running.Go(func() {
			for range 20 {
				a, err := c.Assemble(t.Context(), &State{Data: map[string]any{"k": []any{"v"}}}, nil, Budget{})
				if err != nil {
					t.Error(err)
				}
				checkRunInOrder(t, a)
			}
		})
	}
	running.Wait()
	if got := len(c.Names()); got != 81 {
		t.Errorf("%d providers, want 81", got)
	}
}

func checkRunInOrder(t *testing.T, a *Assembly) {
	last := len(a.Diagnostics.Providers) - 1
	changed := 0
	for i, d := range a.Diagnostics.Providers {
		if i > 0 && i < last && d.Priority < a.Diagnostics.Providers[i-1].Priority || (i == last) != (d.Name == "last") {
			t.Errorf("provider %q in place %d of %d", d.Name, i, last)
		}
		if d.Outcome == ProviderChanged {
			changed++
		}
	}
	if len(a.Messages) != changed {
		t.Errorf("%d messages of %d providers", len(a.Messages), changed)
	}
}
