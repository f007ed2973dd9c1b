package pipeline

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
)

func chainOf(t *testing.T, log *bytes.Buffer, cfg ChainConfig) *ProviderChain {
	t.Helper()
	cfg.Logger = textLogger(log)
	c, err := NewChain(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func wordCounter(t *testing.T) *MessageCounter {
	t.Helper()
	c, err := NewMessageCounter(MessageCounterConfig{Tokenizer: WordTokenizer(), Overhead: -1})
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

// testTimeout runs a provider that does not care about its context and would take an
// hour.
func testTimeout(t *testing.T, chain, own, want time.Duration) {
	var log bytes.Buffer
	release := make(chan struct{})
	time.AfterFunc(time.Hour, func() { close(release) })
	var slow ContextProvider = provider{"slow", 1, func(_ context.Context, s *AgentState, msgs []Message) ([]Message, error) {
		s.Data = map[string]any{"late": true}
		<-release
		msgs[0].Content = "late"
		return msgs, nil
	}}
	if own != 0 {
		slow = LimitProvider(LimitProvider(slow, time.Nanosecond), own)
	}
	c := chainOf(t, &log, ChainConfig{Timeout: chain, Providers: []ContextProvider{slow, appending("next", 2, "B")}})
	state, began := AgentState{}, time.Now()
	a, err := c.Assemble(t.Context(), &state, userMessages("m0"), ProviderBudget{})
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
	if d.Outcome != ProviderFailed || d.Reason != "timeout" || d.Message != message || d.TimeMS != milliseconds(want) {
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
		c := chainOf(t, &log, ChainConfig{Providers: []ContextProvider{
			appending("first", 1, "A"),
			provider{"stubborn", 2, func(context.Context, *AgentState, []Message) ([]Message, error) {
				<-release
				return nil, nil
			}},
			appending("never", 3, "C"),
		}})
		a, err := c.Assemble(ctx, &AgentState{}, userMessages("m0"), ProviderBudget{})
		if !errors.Is(err, context.DeadlineExceeded) || !slices.Equal(texts(a.Messages), []string{"m0", "A"}) {
			t.Errorf("messages %v, %v", texts(a.Messages), err)
		}
		var outcomes []ProviderOutcome
		for _, d := range a.Diagnostics.Providers {
			outcomes = append(outcomes, d.Outcome)
		}
		if !slices.Equal(outcomes, []ProviderOutcome{ProviderChanged, ProviderFailed, ProviderNotRun}) {
			t.Errorf("outcomes %v", outcomes)
		}
		if log.Len() > 0 {
			t.Errorf("log %s", log.String())
		}
		close(release)
	})
}

// exiting ends the goroutine it runs in.
func exiting(context.Context, *AgentState, []Message) ([]Message, error) {
	runtime.Goexit()
	return nil, nil
}

func TestProviderThatExits(t *testing.T) {
	var log bytes.Buffer
	a, err := mustChain(t, &log, provider{"exits", 1, exiting}, appending("next", 2, "B")).Assemble(t.Context(), &AgentState{}, nil, ProviderBudget{})
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
		state := AgentState{Data: map[string]any{"k": "v"}, Messages: given}
		p := isolatedProvider{provider{"p", 1, func(ctx context.Context, s *AgentState, msgs []Message) ([]Message, error) {
			if &msgs[0] != &given[0] || &s.Messages[0] != &given[0] {
				t.Error("list or state is a copy")
			}
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("no deadline")
			}
			s.Reflection = "noted"
			return append(msgs, userMessages("A")...), fails
		}}}
		out, err := mustChain(t, &log, p).Run(t.Context(), &state, given, ProviderBudget{})
		want, reflection := []string{"m0", "A"}, "noted"
		if fails != nil {
			want, reflection = want[:1], ""
		}
		if !slices.Equal(texts(out), want) || state.Reflection != reflection || err != nil {
			t.Errorf("%s: messages %v, state %+v, %v", name, texts(out), state, err)
		}
		out[0].Content = "changed by the caller"
		if given[0].Content != "m0" {
			t.Error("the result shares messages with the list given")
		}
	}
}

func TestDiagnosticsOfARun(t *testing.T) {
	var log bytes.Buffer
	now := seedEpoch
	c := chainOf(t, &log, ChainConfig{
		Counter: wordCounter(t),
		Now: func() time.Time {
			now = now.Add(time.Millisecond)
			return now
		},
		Providers: []ContextProvider{
			appending("adds", 5, "two words"),
			provider{"same", 10, func(_ context.Context, _ *AgentState, msgs []Message) ([]Message, error) { return msgs, nil }},
			provider{"fails", 20, func(context.Context, *AgentState, []Message) ([]Message, error) { return nil, errBoom }},
		},
	})
	a, err := c.Assemble(t.Context(), &AgentState{}, userMessages("m0"), ProviderBudget{MaxTokens: 2, MaxMessages: 1})
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

// Each provider has the fuel that was used for it, also one that fails.
func TestFuelOfProviders(t *testing.T) {
	burns := func(name string, priority int, fuel int64, err error) ContextProvider {
		return provider{name, priority, func(ctx context.Context, _ *AgentState, msgs []Message) ([]Message, error) {
			AddFuel(ctx, fuel)
			return msgs, err
		}}
	}
	var log bytes.Buffer
	c := chainOf(t, &log, ChainConfig{Providers: []ContextProvider{
		burns("one", 1, 7, nil), burns("none", 2, 0, nil), burns("fails", 3, 9, errBoom),
	}})
	for range 2 {
		a, err := c.Assemble(t.Context(), &AgentState{}, userMessages("m0"), ProviderBudget{Phase: PhaseLLM})
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
	counter, err := NewMessageCounter(MessageCounterConfig{Tokenizer: brokenTokenizer{}})
	if err != nil {
		t.Fatal(err)
	}
	c := chainOf(t, &log, ChainConfig{Counter: counter, Providers: []ContextProvider{appending("p", 1, "A")}})
	a, err := c.Assemble(t.Context(), &AgentState{}, userMessages("m0"), ProviderBudget{MaxTokens: 1})
	if d := a.Diagnostics; err != nil || len(a.Messages) != 2 || d.After.Tokens != nil || d.TokensOver != 0 ||
		!slices.Equal(d.Warnings, []string{`tokens not counted: tokenizer "broken": count 1 texts: boom`}) {
		t.Errorf("messages %v, %v, diagnostics %+v", a.Messages, err, d)
	}
}

// brokenTokenizer cannot count.
type brokenTokenizer struct{ Tokenizer }

func (brokenTokenizer) Name() string { return "broken" }

func (brokenTokenizer) Count(context.Context, ...string) ([]int, error) { return nil, errBoom }

func TestAssembleRefuses(t *testing.T) {
	bad := []Message{{Role: "bard"}}
	for want, c := range map[string]struct {
		state  *AgentState
		msgs   []Message
		budget ProviderBudget
	}{
		"provider chain: no state: invalid value":                                                                          {},
		`provider chain: phase "think": invalid value (want llm or synthesize)`:                                            {state: &AgentState{}, budget: ProviderBudget{Phase: "think"}},
		"provider chain: max_tokens -1, max_messages 0: invalid value (want 0 or more)":                                    {state: &AgentState{}, budget: ProviderBudget{MaxTokens: -1}},
		`provider chain: messages[0]: role "bard": invalid value (want user, assistant, system, developer or tool)`:        {state: &AgentState{}, msgs: bad},
		`provider chain: state: messages[0]: role "bard": invalid value (want user, assistant, system, developer or tool)`: {state: &AgentState{Messages: bad}},
		`provider chain: messages[0]: tool_calls: {}: invalid value (want a JSON array)`: {
			state: &AgentState{}, msgs: []Message{{Role: RoleAssistant, ToolCalls: json.RawMessage("{}")}},
		},
	} {
		var log bytes.Buffer
		a, err := mustChain(t, &log, provider{"p", 1, func(context.Context, *AgentState, []Message) ([]Message, error) {
			t.Error("a provider runs")
			return nil, nil
		}}).Assemble(t.Context(), c.state, c.msgs, c.budget)
		if err == nil || err.Error() != want || !errors.Is(err, ErrInvalid) || !reflect.DeepEqual(a.Messages, c.msgs) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// pairLists are a call with two results and what a provider may make of it.
func TestSplitPairsAreRefused(t *testing.T) {
	call := Message{Role: RoleAssistant, ToolCalls: json.RawMessage(`[{"id":"x"},{"id":"y"}]`)}
	x, y := Message{Role: RoleTool, ToolCallID: "x"}, Message{Role: RoleTool, ToolCallID: "y"}
	ask, pending := Message{Role: RoleUser, Content: "q"}, Message{Role: RoleAssistant, ToolCalls: json.RawMessage(`[{"id":"z"}]`)}
	orphan := Message{Role: RoleTool, ToolCallID: "gone"}
	before := []Message{orphan, ask, call, x, y, pending}
	for name, c := range map[string]struct {
		after []Message
		want  string
	}{
		"all":              {before, ""},
		"more":             {append([]Message{ask}, before...), ""},
		"pair gone":        {[]Message{orphan, ask, pending}, ""},
		"pending call":     {[]Message{pending}, ""},
		"orphan":           {[]Message{orphan}, ""},
		"result gone":      {[]Message{ask, call, x}, `messages[1]: tool call "y" without its result: invalid value`},
		"call gone":        {[]Message{ask, y}, `messages[1]: result "y" without its tool call: invalid value`},
		"tool call broken": {[]Message{{Role: RoleAssistant, ToolCalls: json.RawMessage(`[`)}}, `messages[0]: tool_calls: [: invalid value (want a JSON array)`},
	} {
		var log bytes.Buffer
		a, err := mustChain(t, &log, provider{"p", 1, func(context.Context, *AgentState, []Message) ([]Message, error) {
			return c.after, nil
		}}).Assemble(t.Context(), &AgentState{}, before, ProviderBudget{})
		d := a.Diagnostics.Providers[0]
		if err != nil || d.Message != c.want || (d.Outcome == ProviderFailed) != (c.want != "") {
			t.Errorf("%s: %v, diagnostics %+v", name, err, d)
		}
	}
}

func TestProviderThatSpoilsTheState(t *testing.T) {
	var log bytes.Buffer
	state := AgentState{Messages: userMessages("m")}
	a, err := mustChain(t, &log, provider{"p", 1, func(_ context.Context, s *AgentState, _ []Message) ([]Message, error) {
		s.Messages = append(s.Messages, Message{Role: "bard"})
		return nil, nil
	}}).Assemble(t.Context(), &state, nil, ProviderBudget{})
	want := `state: messages[1]: role "bard": invalid value (want user, assistant, system, developer or tool)`
	if d := a.Diagnostics.Providers[0]; err != nil || d.Message != want || d.Reason != "invalid_output" || len(state.Messages) != 1 {
		t.Errorf("%v, diagnostics %+v, state %+v", err, d, state)
	}
}

// budgeted notes the budget it is given and says what it would add.
type budgeted struct {
	provider
	estimate func(ctx context.Context, s *AgentState) (int, error)
	given    *[]int
}

func (p budgeted) EstimateTokens(ctx context.Context, s *AgentState) (int, error) {
	return p.estimate(ctx, s)
}

func (p budgeted) Apply(_ context.Context, _ *AgentState, _ []Message, b ProviderBudget) ([]Message, error) {
	*p.given = append(*p.given, b.MaxTokens)
	return nil, nil
}

func TestPlanHoldsBackWhatLaterProvidersAdd(t *testing.T) {
	var given []int
	says := func(name string, n int, err error) ContextProvider {
		return budgeted{provider{name: name}, func(_ context.Context, s *AgentState) (int, error) {
			s.Reflection = "an estimate changes nothing"
			return n, err
		}, &given}
	}
	panics := budgeted{provider{name: "panics"}, func(context.Context, *AgentState) (int, error) { panic("boom") }, &given}
	for name, c := range map[string]struct {
		providers []ContextProvider
		budget    int
		want      []int
		warnings  []string
	}{
		"sums":          {[]ContextProvider{says("a", 5, nil), says("b", 20, nil), says("c", 10, nil)}, 100, []int{70, 90, 100}, nil},
		"at most half":  {[]ContextProvider{says("a", 5, nil), says("b", 1<<62, nil), says("c", 1<<62, nil)}, 101, []int{51, 51, 101}, nil},
		"without bound": {[]ContextProvider{says("a", 5, nil), says("b", 20, nil)}, 0, []int{0, 0}, nil},
		"cannot be had": {
			[]ContextProvider{says("a", 5, nil), says("b", 9, errBoom), panics, says("d", -1, nil), says("e", 3, nil)}, 100, []int{97, 97, 97, 97, 100},
			[]string{"no estimate: estimate of -1 tokens: invalid value (want 0 or more)", "no estimate: panic: boom", "no estimate: boom"},
		},
	} {
		var log bytes.Buffer
		given = nil
		state := AgentState{}
		a, err := chainOf(t, &log, ChainConfig{Plan: true, Providers: c.providers}).Assemble(t.Context(), &state, nil, ProviderBudget{MaxTokens: c.budget})
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
	p := func(name string) ContextProvider {
		return budgeted{provider{name: name}, func(context.Context, *AgentState) (int, error) {
			asked++
			cancel()
			return 1, nil
		}, &given}
	}
	_, err := chainOf(t, &log, ChainConfig{Plan: true, Providers: []ContextProvider{p("a"), p("b")}}).Assemble(ctx, &AgentState{}, nil, ProviderBudget{})
	if !errors.Is(err, context.Canceled) || asked != 1 || given != nil {
		t.Errorf("%v, %d estimates, budgets %v", err, asked, given)
	}
}

func TestEnforcerRunsLast(t *testing.T) {
	var log bytes.Buffer
	c := chainOf(t, &log, ChainConfig{Enforcer: appending("last", 0, "Z"), Providers: []ContextProvider{appending("p", 1000, "A")}})
	if err := c.Register(appending("q", 2000, "B")); err != nil {
		t.Fatal(err)
	}
	out, err := c.Run(t.Context(), &AgentState{}, nil, ProviderBudget{})
	if err != nil || !slices.Equal(texts(out), []string{"A", "B", "Z"}) || !slices.Equal(c.Names(), []string{"p", "q", "last"}) {
		t.Errorf("messages %v of %v, %v", texts(out), c.Names(), err)
	}
}

// anonymous panics when it is asked its name.
type anonymous struct{ provider }

func (anonymous) Name() string { panic("no name") }

func TestNewChainRefuses(t *testing.T) {
	for want, cfg := range map[string]ChainConfig{
		"provider chain: no provider: invalid value":                                   {Enforcer: LimitProvider(nil, time.Second)},
		"provider chain: ask pipeline.anonymous for name and priority: panic: no name": {Providers: []ContextProvider{anonymous{}}},
		`provider "a": timeout -2ns: invalid value (want more than 0, or NoTimeout)`:   {Providers: []ContextProvider{LimitProvider(appending("a", 1, ""), -2)}},
		`provider "a": timeout 0s: invalid value (want more than 0, or NoTimeout)`:     {Providers: []ContextProvider{LimitProvider(appending("a", 1, ""), 0)}},
		`provider "a": registered twice: invalid value (give one another name)`:        {Enforcer: appending("a", 1, ""), Providers: []ContextProvider{appending("a", 2, "")}},
	} {
		if _, err := NewChain(cfg); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
