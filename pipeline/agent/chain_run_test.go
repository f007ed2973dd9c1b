package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

func chainOf(t *testing.T, log *bytes.Buffer, cfg Config) *Chain {
	t.Helper()
	cfg.Logger = textLogger(log)
	c, err := NewChain(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func wordCounter(t *testing.T) *Counter {
	t.Helper()
	c, err := NewCounter(CounterConfig{Tokenizer: pipeline.WordTokenizer(), Overhead: -1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestProviderTimeouts(t *testing.T) {
	for name, c := range map[string]struct {
		chain, own time.Duration
		want       time.Duration // 0 for none
	}{
		"default":       {want: DefaultProviderTimeout},
		"of the chain":  {chain: time.Second, want: time.Second},
		"its own":       {chain: time.Second, own: time.Minute, want: time.Minute},
		"none":          {chain: NoTimeout},
		"none, its own": {own: NoTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testTimeout(t, c.chain, c.own, c.want) })
		})
	}
}

// testTimeout runs a provider that ignores its context and would take an
// hour.
func testTimeout(t *testing.T, chain, own, want time.Duration) {
	var log bytes.Buffer
	release := make(chan struct{})
	time.AfterFunc(time.Hour, func() { close(release) })
	var slow Provider = provider{"slow", 1, func(_ context.Context, s *State, msgs []pipeline.Message) ([]pipeline.Message, error) {
		s.Data = map[string]any{"late": true}
		<-release
		msgs[0].Parts[0].Text = "late"
		return msgs, nil
	}}
	if own != 0 {
		slow = LimitProvider(LimitProvider(slow, time.Nanosecond), own)
	}
	c := chainOf(t, &log, Config{Timeout: chain, Providers: []Provider{slow, appending("next", 2, "B")}})
	state, began := State{}, time.Now()
	a, err := c.Assemble(t.Context(), &state, userMessages("m0"), Budget{})
	took := time.Since(began)
	if want == 0 {
		if err != nil || !slices.Equal(texts(a.Messages), []string{"late", "B"}) || took != time.Hour {
			t.Errorf("messages %v, %v after %v", texts(a.Messages), err, took)
		}
		return
	}
	d := a.Diagnostics.Providers[0]
	message := "no answer within " + want.String() + ": context deadline exceeded"
	if err != nil || !slices.Equal(texts(a.Messages), []string{"m0", "B"}) || state.Data != nil || took != want {
		t.Errorf("messages %v, state %+v, %v after %v", texts(a.Messages), state, err, took)
	}
	if d.Outcome != ProviderFailed || d.Reason != "timeout" || d.Message != message || d.TimeMS != values.Milliseconds(want) {
		t.Errorf("diagnostics %+v", d)
	}
	if !strings.Contains(log.String(), `provider=slow plugin="" reason=timeout error="`+message+`"`) {
		t.Errorf("log %s", log.String())
	}
	<-release
	synctest.Wait() // the abandoned provider ends, and has changed nothing
	if texts(a.Messages)[0] != "m0" || state.Data != nil {
		t.Errorf("messages %v, state %+v after the end of the provider", texts(a.Messages), state)
	}
}

func TestCancellationDoesNotWaitForAProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		release := make(chan struct{})
		c := chainOf(t, &log, Config{Providers: []Provider{
			appending("first", 1, "A"),
			provider{"stubborn", 2, func(context.Context, *State, []pipeline.Message) ([]pipeline.Message, error) {
				<-release
				return nil, nil
			}},
			appending("never", 3, "C"),
		}})
		a, err := c.Assemble(ctx, &State{}, userMessages("m0"), Budget{})
		if !errors.Is(err, context.DeadlineExceeded) || !slices.Equal(texts(a.Messages), []string{"m0", "A"}) {
			t.Errorf("messages %v, %v", texts(a.Messages), err)
		}
		var outcomes []Outcome
		for _, d := range a.Diagnostics.Providers {
			outcomes = append(outcomes, d.Outcome)
		}
		if !slices.Equal(outcomes, []Outcome{ProviderChanged, ProviderFailed, ProviderNotRun}) {
			t.Errorf("outcomes %v", outcomes)
		}
		if log.Len() > 0 {
			t.Errorf("log %s", log.String())
		}
		close(release)
	})
}

// exiting ends the goroutine it runs in.
func exiting(context.Context, *State, []pipeline.Message) ([]pipeline.Message, error) {
	runtime.Goexit()
	return nil, nil
}

func TestProviderThatExits(t *testing.T) {
	var log bytes.Buffer
	a, err := mustChain(t, &log, provider{"exits", 1, exiting}, appending("next", 2, "B")).Assemble(t.Context(), &State{}, nil, Budget{})
	if d := a.Diagnostics.Providers[0]; err != nil || d.Message != "provider called runtime.Goexit" || len(a.Messages) != 1 {
		t.Errorf("messages %v, %v, diagnostics %+v", a.Messages, err, d)
	}
}

// isolatedProvider keeps the promise of its marker.
type isolatedProvider struct{ provider }

func (isolatedProvider) Isolated() {}

func TestIsolatedProviderGetsNoCopies(t *testing.T) {
	for name, fails := range map[string]error{"": nil, "down": errBoom} {
		var log bytes.Buffer
		given := userMessages("m0")
		state := State{Data: map[string]any{"k": "v"}, Messages: given}
		p := isolatedProvider{provider{"p", 1, func(ctx context.Context, s *State, msgs []pipeline.Message) ([]pipeline.Message, error) {
			if &msgs[0] != &given[0] || &s.Messages[0] != &given[0] {
				t.Error("list or state is a copy")
			}
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("no deadline")
			}
			s.Reflection = "noted"
			return append(msgs, userMessages("A")...), fails
		}}}
		out, err := mustChain(t, &log, p).Run(t.Context(), &state, given, Budget{})
		want, reflection := []string{"m0", "A"}, "noted"
		if fails != nil {
			want, reflection = want[:1], ""
		}
		if !slices.Equal(texts(out), want) || state.Reflection != reflection || err != nil {
			t.Errorf("%s: messages %v, state %+v, %v", name, texts(out), state, err)
		}
		out[0].Parts[0].Text = "changed by the caller"
		if given[0].Text() != "m0" {
			t.Error("the result shares messages with the list given")
		}
	}
}

func TestDiagnosticsOfARun(t *testing.T) {
	var log bytes.Buffer
	now := seedEpoch
	c := chainOf(t, &log, Config{
		Counter: wordCounter(t),
		Now: func() time.Time {
			now = now.Add(time.Millisecond)
			return now
		},
		Providers: []Provider{
			appending("adds", 5, "two words"),
			provider{"same", 10, func(_ context.Context, _ *State, msgs []pipeline.Message) ([]pipeline.Message, error) {
				return msgs, nil
			}},
			provider{"fails", 20, func(context.Context, *State, []pipeline.Message) ([]pipeline.Message, error) {
				return nil, errBoom
			}},
		},
	})
	a, err := c.Assemble(t.Context(), &State{}, userMessages("m0"), Budget{MaxTokens: 2, MaxMessages: 1})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(a.Diagnostics)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"budget":{"max_tokens":2,"max_messages":1,"phase":"llm"},"providers":[` +
		`{"name":"adds","priority":5,"outcome":"changed","before":{"messages":1,"tokens":1},"after":{"messages":2,"tokens":3},"time_ms":1},` +
		`{"name":"same","priority":10,"outcome":"unchanged","before":{"messages":2,"tokens":3},"after":{"messages":2,"tokens":3},"time_ms":1},` +
		`{"name":"fails","priority":20,"outcome":"failed","before":{"messages":2,"tokens":3},"after":{"messages":2,"tokens":3},"time_ms":1,"message":"boom"}],` +
		`"before":{"messages":1,"tokens":1},"after":{"messages":2,"tokens":3},"tokens_over":1,"messages_over":1,"time_ms":7}`
	if string(got) != want {
		t.Errorf("diagnostics\n%s, want\n%s", got, want)
	}
	if !strings.HasSuffix(log.String(), "level=WARN msg=\"messages over budget\" tokens_over=1 messages_over=1\n") {
		t.Errorf("log %s", log.String())
	}
}

// The diagnostics have the fuel of each provider, including one that fails.
func TestFuelOfProviders(t *testing.T) {
	burns := func(name string, priority int, fuel int64, err error) Provider {
		return provider{name, priority, func(ctx context.Context, _ *State, msgs []pipeline.Message) ([]pipeline.Message, error) {
			pipeline.AddFuel(ctx, fuel)
			return msgs, err
		}}
	}
	var log bytes.Buffer
	c := chainOf(t, &log, Config{Providers: []Provider{
		burns("one", 1, 7, nil), burns("none", 2, 0, nil), burns("fails", 3, 9, errBoom),
	}})
	for range 2 {
		a, err := c.Assemble(t.Context(), &State{}, userMessages("m0"), Budget{Phase: PhaseLLM})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int64{7, 0, 9} {
			if d := a.Diagnostics.Providers[i]; d.Fuel != want {
				t.Errorf("%s: %d units of fuel, want %d", d.Name, d.Fuel, want)
			}
		}
	}
}

func TestRunWithoutCounts(t *testing.T) {
	var log bytes.Buffer
	counter, err := NewCounter(CounterConfig{Tokenizer: brokenTokenizer{}})
	if err != nil {
		t.Fatal(err)
	}
	c := chainOf(t, &log, Config{Counter: counter, Providers: []Provider{appending("p", 1, "A")}})
	a, err := c.Assemble(t.Context(), &State{}, userMessages("m0"), Budget{MaxTokens: 1})
	if d := a.Diagnostics; err != nil || len(a.Messages) != 2 || d.After.Tokens != nil || d.TokensOver != 0 ||
		!slices.Equal(d.Warnings, []string{`tokens not counted: tokenizer "broken": count 1 texts: boom`}) {
		t.Errorf("messages %v, %v, diagnostics %+v", a.Messages, err, d)
	}
}

// brokenTokenizer cannot count.
type brokenTokenizer struct{ pipeline.Tokenizer }

func (brokenTokenizer) Name() string { return "broken" }

func (brokenTokenizer) Count(context.Context, ...string) ([]int, error) { return nil, errBoom }

func TestAssembleRefuses(t *testing.T) {
	bad := []pipeline.Message{message.Message{Role: "bard"}}
	for want, c := range map[string]struct {
		state  *State
		msgs   []pipeline.Message
		budget Budget
	}{
		"provider chain: no state: invalid value":                                                                          {},
		`provider chain: phase "think": invalid value (want llm or synthesize)`:                                            {state: &State{}, budget: Budget{Phase: "think"}},
		"provider chain: max_tokens -1, max_messages 0: invalid value (want 0 or more)":                                    {state: &State{}, budget: Budget{MaxTokens: -1}},
		`provider chain: messages[0]: role "bard": invalid value (want user, assistant, system, developer or tool)`:        {state: &State{}, msgs: bad},
		`provider chain: state: messages[0]: role "bard": invalid value (want user, assistant, system, developer or tool)`: {state: &State{Messages: bad}},
	} {
		var log bytes.Buffer
		a, err := mustChain(t, &log, provider{"p", 1, func(context.Context, *State, []pipeline.Message) ([]pipeline.Message, error) {
			t.Error("a provider runs")
			return nil, nil
		}}).Assemble(t.Context(), c.state, c.msgs, c.budget)
		if err == nil || err.Error() != want || !errors.Is(err, pipeline.ErrInvalid) || !reflect.DeepEqual(a.Messages, c.msgs) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// pairLists are a call with two results and what a provider may make of it.
func TestSplitPairsAreRefused(t *testing.T) {
	call := fromJSON(pipeline.RoleAssistant, `"tool_calls":[{"id":"x"},{"id":"y"}]`)
	x, y := message.NewResult("x", "", ""), message.NewResult("y", "", "")
	ask, pending := message.New(pipeline.RoleUser, "q"), fromJSON(pipeline.RoleAssistant, `"tool_calls":[{"id":"z"}]`)
	orphan := message.NewResult("gone", "", "")
	before := []pipeline.Message{orphan, ask, call, x, y, pending}
	for name, c := range map[string]struct {
		after []pipeline.Message
		want  string
	}{
		"all":          {before, ""},
		"more":         {append([]pipeline.Message{ask}, before...), ""},
		"pair gone":    {[]pipeline.Message{orphan, ask, pending}, ""},
		"pending call": {[]pipeline.Message{pending}, ""},
		"orphan":       {[]pipeline.Message{orphan}, ""},
		"result gone":  {[]pipeline.Message{ask, call, x}, `messages[1]: tool call "y" without its result: invalid value`},
		"call gone":    {[]pipeline.Message{ask, y}, `messages[1]: result "y" without its tool call: invalid value`},
	} {
		var log bytes.Buffer
		a, err := mustChain(t, &log, provider{"p", 1, func(context.Context, *State, []pipeline.Message) ([]pipeline.Message, error) {
			return c.after, nil
		}}).Assemble(t.Context(), &State{}, before, Budget{})
		d := a.Diagnostics.Providers[0]
		if err != nil || d.Message != c.want || (d.Outcome == ProviderFailed) != (c.want != "") {
			t.Errorf("%s: %v, diagnostics %+v", name, err, d)
		}
	}
}

func TestProviderThatSpoilsTheState(t *testing.T) {
	var log bytes.Buffer
	state := State{Messages: userMessages("m")}
	a, err := mustChain(t, &log, provider{"p", 1, func(_ context.Context, s *State, _ []pipeline.Message) ([]pipeline.Message, error) {
		s.Messages = append(s.Messages, pipeline.Message{Role: "bard"})
		return nil, nil
	}}).Assemble(t.Context(), &state, nil, Budget{})
	want := `state: messages[1]: role "bard": invalid value (want user, assistant, system, developer or tool)`
	if d := a.Diagnostics.Providers[0]; err != nil || d.Message != want || d.Reason != "invalid_output" || len(state.Messages) != 1 {
		t.Errorf("%v, diagnostics %+v, state %+v", err, d, state)
	}
}

// budgeted records the budget that it receives, and returns an estimate.
type budgeted struct {
	provider
	estimate func(ctx context.Context, s *State) (int, error)
	given    *[]int
}

func (p budgeted) EstimateTokens(ctx context.Context, s *State) (int, error) {
	return p.estimate(ctx, s)
}

func (p budgeted) Apply(_ context.Context, _ *State, _ []pipeline.Message, b Budget) ([]pipeline.Message, error) {
	*p.given = append(*p.given, b.MaxTokens)
	return nil, nil
}

func TestPlanHoldsBackWhatLaterProvidersAdd(t *testing.T) {
	var given []int
	says := func(name string, n int, err error) Provider {
		return budgeted{provider{name: name}, func(_ context.Context, s *State) (int, error) {
			s.Reflection = "an estimate changes nothing"
			return n, err
		}, &given}
	}
	panics := budgeted{provider{name: "panics"}, func(context.Context, *State) (int, error) { panic("boom") }, &given}
	for name, c := range map[string]struct {
		providers []Provider
		budget    int
		want      []int
		warnings  []string
	}{
		"sums":          {[]Provider{says("a", 5, nil), says("b", 20, nil), says("c", 10, nil)}, 100, []int{70, 90, 100}, nil},
		"at most half":  {[]Provider{says("a", 5, nil), says("b", 1<<62, nil), says("c", 1<<62, nil)}, 101, []int{51, 51, 101}, nil},
		"without bound": {[]Provider{says("a", 5, nil), says("b", 20, nil)}, 0, []int{0, 0}, nil},
		"cannot be had": {
			[]Provider{says("a", 5, nil), says("b", 9, errBoom), panics, says("d", -1, nil), says("e", 3, nil)}, 100, []int{97, 97, 97, 97, 100},
			[]string{"no estimate: estimate of -1 tokens: invalid value (want 0 or more)", "no estimate: panic: boom", "no estimate: boom"},
		},
	} {
		var log bytes.Buffer
		given = nil
		state := State{}
		a, err := chainOf(t, &log, Config{Plan: true, Providers: c.providers}).Assemble(t.Context(), &state, nil, Budget{MaxTokens: c.budget})
		if err != nil || !slices.Equal(given, c.want) || !slices.Equal(a.Diagnostics.Warnings, c.warnings) || state.Reflection != "" {
			t.Errorf("%s: budgets %v, want %v; %v, warnings %q, state %+v", name, given, c.want, err, a.Diagnostics.Warnings, state)
		}
		if n := a.Diagnostics.Providers[0].EstimatedTokens; n == nil || *n != 5 {
			t.Errorf("%s: estimate of the first %v", name, n)
		}
	}
}

func TestPlanEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var log bytes.Buffer
	var given []int
	asked := 0
	p := func(name string) Provider {
		return budgeted{provider{name: name}, func(context.Context, *State) (int, error) {
			asked++
			cancel()
			return 1, nil
		}, &given}
	}
	_, err := chainOf(t, &log, Config{Plan: true, Providers: []Provider{p("a"), p("b")}}).Assemble(ctx, &State{}, nil, Budget{})
	if !errors.Is(err, context.Canceled) || asked != 1 || given != nil {
		t.Errorf("%v, %d estimates, budgets %v", err, asked, given)
	}
}

func TestEnforcerRunsLast(t *testing.T) {
	var log bytes.Buffer
	c := chainOf(t, &log, Config{Enforcer: appending("last", 0, "Z"), Providers: []Provider{appending("p", 1000, "A")}})
	if err := c.Register(appending("q", 2000, "B")); err != nil {
		t.Fatal(err)
	}
	out, err := c.Run(t.Context(), &State{}, nil, Budget{})
	if err != nil || !slices.Equal(texts(out), []string{"A", "B", "Z"}) || !slices.Equal(c.Names(), []string{"p", "q", "last"}) {
		t.Errorf("messages %v of %v, %v", texts(out), c.Names(), err)
	}
}

// anonymous panics when it is asked its name.
type anonymous struct{ provider }

func (anonymous) Name() string { panic("no name") }

func TestNewChainRefuses(t *testing.T) {
	for want, cfg := range map[string]Config{
		"provider chain: no provider: invalid value":                                 {Enforcer: LimitProvider(nil, time.Second)},
		"provider chain: ask agent.anonymous for name and priority: panic: no name":  {Providers: []Provider{anonymous{}}},
		`provider "a": timeout -2ns: invalid value (want more than 0, or NoTimeout)`: {Providers: []Provider{LimitProvider(appending("a", 1, ""), -2)}},
		`provider "a": timeout 0s: invalid value (want more than 0, or NoTimeout)`:   {Providers: []Provider{LimitProvider(appending("a", 1, ""), 0)}},
		`provider "a": registered twice: invalid value (give one another name)`:      {Enforcer: appending("a", 1, ""), Providers: []Provider{appending("a", 2, "")}},
	} {
		if _, err := NewChain(cfg); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
