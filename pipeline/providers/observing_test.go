package providers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// distiller answers with what its fields return.
type distiller struct {
	observe func(agent.Observing) (*agent.Observed, error)
	reflect func(agent.Reflecting) (string, error)
}

func (d distiller) Observe(_ context.Context, r agent.Observing) (*agent.Observed, error) {
	return d.observe(r)
}

func (d distiller) Reflect(_ context.Context, r agent.Reflecting) (string, error) {
	return d.reflect(r)
}

func observing(t *testing.T, cfg ObservingConfig) *Observing {
	t.Helper()
	cfg.Counter = words(t)
	p, err := NewObserving(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestObservingMakesObservationsOfOldMessages(t *testing.T) {
	p := observing(t, ObservingConfig{HighWater: 6, LowWater: 4})
	s := agent.State{Messages: script("s:be brief", "u:one two", "c1:", "r1:three four", "u:five six", "a:seven eight")}
	out := apply(t, p, &s, s.Messages, agent.Budget{})
	wantList(t, out, "s:be brief", "u:five six", "a:seven eight")
	wantList(t, s.Messages, "s:be brief", "u:five six", "a:seven eight")
	want := []string{"user: one two", `assistant: calls look({"q":1})`, "tool: three four"}
	if !slices.Equal(s.Observations, want) {
		t.Errorf("observations %q, want %q", s.Observations, want)
	}
	if out := apply(t, p, &s, s.Messages, agent.Budget{}); out != nil {
		t.Errorf("observed again: %q", show(out))
	}
}

// What other providers put into the list stays in it, and is not written back.
func TestObservingLeavesMessagesOfOthers(t *testing.T) {
	p := observing(t, ObservingConfig{HighWater: 4, LowWater: 2})
	s := agent.State{Messages: script("u:one two", "a:three four", "u:five six")}
	list := slices.Insert(slices.Clone(s.Messages), 0, script("s:account 7")...)
	wantList(t, apply(t, p, &s, list, agent.Budget{}), "s:account 7", "u:five six")
	wantList(t, s.Messages, "u:five six")
}

func TestObservingReplacesAndKeepsForeignOnes(t *testing.T) {
	foreign := func(text string) bool { return strings.HasPrefix(text, "[frame") }
	var asked agent.Observing
	d := distiller{observe: func(r agent.Observing) (*agent.Observed, error) {
		asked = r
		return &agent.Observed{Replace: []string{"all\nso far", " "}, Add: []string{"new"}}, nil
	}}
	p := observing(t, ObservingConfig{HighWater: 2, LowWater: 1, Observe: d, Foreign: foreign})
	s := agent.State{Messages: script("u:one two", "u:three"), Observations: []string{"[frame 0] x", "before"}, Reflection: "r"}
	apply(t, p, &s, s.Messages, agent.Budget{})
	if want := []string{"all so far", "new", "[frame 0] x"}; !slices.Equal(s.Observations, want) {
		t.Errorf("observations %q, want %q", s.Observations, want)
	}
	if !slices.Equal(asked.Observations, []string{"before"}) || asked.Reflection != "r" || len(asked.Messages) != 1 || asked.MaxTokens != minNotes {
		t.Errorf("asked %+v", asked)
	}
}

// A distiller that fails, answers at length, or changes nothing leaves messages and state as
// they were.
func TestObservingFails(t *testing.T) {
	long := strings.Repeat("word ", minNotes+1)
	for _, tt := range []struct {
		made *agent.Observed
		err  error
		want string
	}{
		{nil, errors.New("down"), "observe 1 messages: down"},
		{&agent.Observed{Add: []string{long}}, nil, "observe 1 messages: observations take 65 tokens: invalid value (want at most 64)"},
		{&agent.Observed{Add: []string{"[frame 0 x] y"}}, nil, `observe 1 messages: observation "[frame 0 x] y": invalid value (it changes in each run)`},
		{nil, nil, ""},
	} {
		foreign := func(text string) bool { return strings.HasPrefix(text, "[frame") }
		p := observing(t, ObservingConfig{HighWater: 2, LowWater: 1, Foreign: foreign, Observe: distiller{observe: func(agent.Observing) (*agent.Observed, error) {
			return tt.made, tt.err
		}}})
		s := agent.State{Messages: script("u:one two", "u:three")}
		out, err := p.Apply(t.Context(), &s, s.Messages, agent.Budget{})
		if out != nil || (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%v, %v, want %s", out, err, tt.want)
		}
		if wantList(t, s.Messages, "u:one two", "u:three"); len(s.Observations) > 0 {
			t.Errorf("observations %q", s.Observations)
		}
	}
	p := observing(t, ObservingConfig{HighWater: 2, LowWater: 1, ReflectHighWater: 1})
	s := agent.State{Messages: script("u:one two", "u:three"), Observations: []string{long, "and more"}}
	if _, err := p.Apply(t.Context(), &s, s.Messages, agent.Budget{}); err == nil || !strings.Contains(err.Error(), "no reflection is made of them") {
		t.Errorf("observations without bound: %v", err)
	}
	if _, err := NewObserving(ObservingConfig{HighWater: -1}); err == nil || !strings.Contains(err.Error(), "high_water -1") {
		t.Error(err)
	}
	if p := observing(t, ObservingConfig{}); apply(t, p, &s, s.Messages, agent.Budget{}) != nil {
		t.Error("observed without a bound")
	}
}

func TestReflecting(t *testing.T) {
	reflecting := func(d agent.Distiller) *Reflecting {
		p, err := NewReflecting(ObservingConfig{
			HighWater: 100, ReflectHighWater: 4, ReflectLowWater: 2, Reflect: d, Counter: words(t),
			Foreign: func(text string) bool { return text == "foreign" },
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	state := func() *agent.State {
		return &agent.State{Observations: []string{"a b", "c d", "foreign", "e f"}, Reflection: "before"}
	}
	s := state()
	apply(t, reflecting(nil), s, nil, agent.Budget{})
	if s.Reflection != "before\na b\nc d" || !slices.Equal(s.Observations, []string{"e f", "foreign"}) {
		t.Errorf("reflection %q, observations %q", s.Reflection, s.Observations)
	}
	apply(t, reflecting(nil), s, nil, agent.Budget{})
	if s.Reflection != "before\na b\nc d" {
		t.Errorf("reflected again: %q", s.Reflection)
	}
	for _, tt := range []struct {
		text string
		err  error
		want string
	}{
		{"", errors.New("down"), "reflect on 2 observations: down"},
		{strings.Repeat("word ", 65), nil, "reflect on 2 observations: notes take 65 tokens: invalid value (want at most 64)"},
		{" \n", nil, ""},
	} {
		s := state()
		_, err := reflecting(distiller{reflect: func(agent.Reflecting) (string, error) { return tt.text, tt.err }}).Apply(t.Context(), s, nil, agent.Budget{})
		if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
		if s.Reflection != "before" || len(s.Observations) != 4 {
			t.Errorf("state %+v", s)
		}
	}
}

// A long conversation stays within its bounds, and so do the notes on it.
func TestObservingIsBounded(t *testing.T) {
	cfg := ObservingConfig{Enabled: true, HighWater: 400, Counter: words(t)}
	chain, err := New(Config{Observing: cfg, Counter: words(t), Logger: quiet(), Enforce: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := chain.Names(), []string{"observing", "reflecting", "observation", "compaction", "truncation", "enforcement"}; !slices.Equal(got, want) {
		t.Errorf("providers %q, want %q", got, want)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var s agent.State
	for i := range 400 {
		s.Messages = append(s.Messages, script(fmt.Sprintf("u:question %d %s", i, strings.Repeat("w ", r.IntN(60))), fmt.Sprintf("a:answer %d", i))...)
		a, err := chain.Assemble(t.Context(), &s, s.Messages, agent.Budget{MaxTokens: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range a.Diagnostics.Providers {
			if p.Outcome == agent.ProviderFailed {
				t.Fatalf("turn %d: %s: %s", i, p.Name, p.Message)
			}
		}
		if n := *a.Diagnostics.After.Tokens; n > 1000 {
			t.Fatalf("turn %d: %d tokens", i, n)
		}
	}
	if len(s.Messages) > 60 || s.Reflection == "" || len(s.Observations) == 0 {
		t.Errorf("%d messages, %d observations, reflection of %d characters", len(s.Messages), len(s.Observations), len(s.Reflection))
	}
	if first := strings.SplitN(s.Reflection, "\n", 2)[0]; !strings.Contains(first, "earlier lines left out") {
		t.Errorf("the reflection begins with %q", first)
	}
}

// The state is bounded whatever a distiller answers, where the tokenizer takes a text of any
// length for one token, and where observations are there but nothing makes new ones.
func TestStateIsBounded(t *testing.T) {
	t.Parallel()
	assemblies := 1500
	if os.Getenv("ANCHOR_THOROUGH") == "" {
		assemblies = 500 // more than the bound of observations
	}
	adds := func(text string) func(agent.Observing) (*agent.Observed, error) {
		return func(agent.Observing) (*agent.Observed, error) { return &agent.Observed{Add: []string{text}}, nil }
	}
	reflects := func(text string, err error) func(agent.Reflecting) (string, error) {
		return func(agent.Reflecting) (string, error) { return text, err }
	}
	long, down := strings.Repeat("x", 50_000), errors.New("down")
	for name, cfg := range map[string]Config{
		"no reflection":    {Observing: ObservingConfig{Enabled: true, Observe: distiller{observe: adds("note note")}, Reflect: distiller{reflect: reflects(" ", nil)}}},
		"reflection fails": {Observing: ObservingConfig{Enabled: true, Observe: distiller{observe: adds("note note")}, Reflect: distiller{reflect: reflects("", down)}}},
		"long words":       {Observing: ObservingConfig{Enabled: true, Observe: distiller{observe: adds(long)}, Reflect: distiller{reflect: reflects(long, nil)}}},
		"long reflection":  {Observing: ObservingConfig{Enabled: true, Observe: distiller{observe: adds("note note")}, Reflect: distiller{reflect: reflects(long, nil)}}},
		"not observed":     {},
		"not shown":        {Observation: ObservationConfig{Disabled: true}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Observing.HighWater, cfg.Counter, cfg.Logger, cfg.Enforce = 400, words(t), quiet(), true
			chain, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			s := agent.State{Observations: []string{"seen before"}}
			for i := range assemblies {
				s.Messages = append(s.Messages, script("u:"+strings.Repeat("word ", 30), "a:"+strings.Repeat("yes ", 20))...)
				if _, err := chain.Assemble(t.Context(), &s, s.Messages, agent.Budget{MaxTokens: 1000}); err != nil {
					t.Fatal(err)
				}
				n := byteLen(s.Observations) + len(s.Reflection)
				// Where nothing makes observations, a list may grow to four times its trigger.
				if len(s.Messages) > 200 || len(s.Observations) > 400 || n > 20_000 {
					t.Fatalf("assembly %d: %d messages, %d observations, notes of %d bytes", i, len(s.Messages), len(s.Observations), n)
				}
			}
		})
	}
}

func TestExtractFitsItsRoom(t *testing.T) {
	e := Extract{Counter: words(t)}
	msgs := script("u:"+strings.Repeat("w ", 200), "a:b", "a:", "u:c d")
	for room := range 100 {
		made, err := e.Observe(t.Context(), agent.Observing{Messages: msgs, MaxTokens: room})
		if err != nil {
			t.Fatal(err)
		}
		fits, err := e.fits(t.Context(), e.Counter, room, made.Add...)
		if err != nil || !fits && room >= 5 { // the line that says what was left out
			t.Errorf("room %d: %q, %v", room, made.Add, err)
		}
		text, err := e.Reflect(t.Context(), agent.Reflecting{Observations: made.Add, Reflection: "w w w", MaxTokens: room})
		if fits, _ = e.fits(t.Context(), e.Counter, room, text); err != nil || !fits && room >= 5 {
			t.Errorf("room %d: %q, %v", room, text, err)
		}
	}
	c, err := agent.NewCounter(agent.CounterConfig{Tokenizer: failingTokenizer{pipeline.WordTokenizer()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Extract{c}).Observe(t.Context(), agent.Observing{Messages: msgs, MaxTokens: 9}); err == nil {
		t.Error("a count that failed")
	}
	if _, err := (Extract{c}).Reflect(t.Context(), agent.Reflecting{Observations: []string{"a"}, MaxTokens: 9}); err == nil {
		t.Error("a count that failed")
	}
}

func TestObservingNeedsObservation(t *testing.T) {
	_, err := New(Config{Observing: ObservingConfig{Enabled: true}, Observation: ObservationConfig{Disabled: true}})
	if !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("nothing places the observations: %v", err)
	}
}
