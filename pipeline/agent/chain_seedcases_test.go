package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/seedcase"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// chainDeviations are the fields that differ from the seed on purpose. The test checks
// that they do.
var chainDeviations = []struct{ id, field, why string }{}

var chainRunners = map[string]func(t *testing.T, c seedcase.Case) any{
	"zs-01": runOrderCase,
	"zs-03": runProvidersCase,
	"zs-04": runProvidersCase,
	"zs-05": runProvidersCase,
	"zs-08": runLoopCase,
	"zs-09": runSnapshotCase,
	"zs-10": runEstimateCase,
}

func TestChainSeedCases(t *testing.T) {
	data, err := os.ReadFile("../../testdata/seed-cases-chain.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Cases []seedcase.Case }
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Cases) != 7 {
		t.Fatalf("%d cases, want 7", len(doc.Cases))
	}
	known := make(map[string]bool)
	for _, c := range doc.Cases {
		known[c.ID] = true
		t.Run(c.ID, func(t *testing.T) {
			run := chainRunners[c.ID]
			if c.Area != "provider_chain" || run == nil {
				t.Fatalf("case of area %q has no runner", c.Area)
			}
			checkChainCase(t, c.ID, seedcase.Differences("", seedcase.JSON(t, run(t, c)), c.Expected, 0))
		})
	}
	for _, d := range chainDeviations {
		if !known[d.id] {
			t.Errorf("deviation of %s: no such case", d.id)
		}
	}
}

func checkChainCase(t *testing.T, id string, differing []string) {
	for _, d := range chainDeviations {
		before := len(differing)
		if d.id != id {
			continue
		}
		differing = slices.DeleteFunc(differing, func(s string) bool { return strings.HasPrefix(s, d.field+":") })
		if len(differing) == before {
			t.Errorf("%s does not deviate any more (%s)", d.field, d.why)
		}
	}
	for _, d := range differing {
		t.Error(d)
	}
}

func runOrderCase(t *testing.T, c seedcase.Case) any {
	var in struct{ Registered [][2]any }
	seedcase.Decode(t, c, &in)
	var log bytes.Buffer
	var order []string
	chain := mustChain(t, &log)
	for _, r := range in.Registered {
		name := r[0].(string)
		p := provider{name, int(r[1].(float64)), func(context.Context, *State, []pipeline.Message) ([]pipeline.Message, error) {
			order = append(order, name)
			return nil, nil
		}}
		if err := chain.Register(p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := chain.Run(t.Context(), &State{}, nil, Budget{}); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"run_order": order}
}

// caseProvider is a provider of zs-03 to zs-05.
type caseProvider struct {
	Name    string
	Append  string
	Return  []string
	Error   bool
	Cancels bool `json:"cancels_context"`
}

func (p *caseProvider) apply(msgs []pipeline.Message, cancel context.CancelFunc) ([]pipeline.Message, error) {
	if p.Cancels {
		cancel()
	}
	out := userMessages(p.Return...)
	if p.Append != "" {
		out = append(msgs, userMessages(p.Append)...)
	}
	if p.Error {
		return out, errors.New("failed on purpose")
	}
	return out, nil
}

func userMessages(texts ...string) (out []pipeline.Message) {
	for _, text := range texts {
		out = append(out, message.New(pipeline.RoleUser, text))
	}
	return out
}

var loggedProvider = regexp.MustCompile(`level=WARN msg="provider left out" provider=(\S+)`)

func runProvidersCase(t *testing.T, c seedcase.Case) any {
	var in struct {
		Messages  []string
		Providers []caseProvider
	}
	seedcase.Decode(t, c, &in)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var log bytes.Buffer
	var ran []string
	chain := mustChain(t, &log)
	for _, p := range in.Providers {
		err := chain.Register(provider{p.Name, 1, func(_ context.Context, _ *State, msgs []pipeline.Message) ([]pipeline.Message, error) {
			ran = append(ran, p.Name)
			return p.apply(msgs, cancel)
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := chain.Run(ctx, &State{}, userMessages(in.Messages...), Budget{})
	switch c.ID {
	case "zs-03":
		var logged []string
		for _, m := range loggedProvider.FindAllStringSubmatch(log.String(), -1) {
			logged = append(logged, m[1])
		}
		return map[string]any{"messages": texts(out), "errors_logged": logged, "chain_error": err}
	case "zs-05":
		return map[string]any{"providers_run": ran, "p2_called": slices.Contains(ran, "p2")}
	}
	return map[string]any{"messages": texts(out)}
}

func runLoopCase(t *testing.T, c seedcase.Case) any {
	var in struct {
		Iterations int `json:"llm_iterations"`
	}
	seedcase.Decode(t, c, &in)
	chain, phases := phaseRecorder(t)
	agentLoop(t, chain, in.Iterations)
	want := append(slices.Repeat([]Phase{PhaseLLM}, in.Iterations), PhaseSynthesize)
	if !slices.Equal(*phases, want) {
		t.Errorf("phases %v, want %v", *phases, want)
	}
	return map[string]any{"assemble_calls": len(*phases)}
}

// phased is a provider that records the budget.
type phased struct {
	provider
	seen *[]Phase
}

func (p phased) Apply(_ context.Context, _ *State, _ []pipeline.Message, b Budget) ([]pipeline.Message, error) {
	*p.seen = append(*p.seen, b.Phase)
	return nil, nil
}

func phaseRecorder(t *testing.T) (*Chain, *[]Phase) {
	var log bytes.Buffer
	var seen []Phase
	return mustChain(t, &log, phased{provider{name: "phases"}, &seen}), &seen
}

// agentLoop is the loop the chain is made for, with a model that calls a tool in every
// iteration.
func agentLoop(t *testing.T, chain *Chain, iterations int) {
	state := State{Messages: userMessages("question")}
	for i := range iterations + 1 {
		phase := PhaseLLM
		if i == iterations {
			phase = PhaseSynthesize
		}
		if _, err := chain.Run(t.Context(), &state, state.Messages, Budget{Phase: phase}); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("call-%d", i)
		state.Messages = append(state.Messages,
			fromJSON(pipeline.RoleAssistant, `"tool_calls":[{"id":"`+id+`"}]`),
			message.NewResult(id, "", "result"))
	}
}

func runSnapshotCase(t *testing.T, c seedcase.Case) any {
	var in struct {
		Cases []struct {
			Messages     [][2]string
			Account      *string
			AccountError bool `json:"account_error"`
		}
	}
	seedcase.Decode(t, c, &in)
	results := [][][2]string{}
	for _, k := range in.Cases {
		var log bytes.Buffer
		chain := mustChain(t, &log, provider{"crm_snapshot", 5, func(_ context.Context, _ *State, msgs []pipeline.Message) ([]pipeline.Message, error) {
			switch {
			case k.AccountError:
				return msgs, errors.New("crm snapshot: no connection")
			case k.Account == nil:
				return msgs, nil
			}
			return insertSnapshot(msgs, "SNAP"), nil
		}})
		var messages []pipeline.Message
		for _, m := range k.Messages {
			messages = append(messages, message.New(pipeline.Role(m[0]), m[1]))
		}
		out, err := chain.Run(t.Context(), &State{}, messages, Budget{})
		if err != nil {
			t.Fatal(err)
		}
		result := [][2]string{}
		for _, m := range out {
			result = append(result, [2]string{string(m.Role), m.Text()})
		}
		results = append(results, result)
	}
	return map[string]any{"results": results}
}

func insertSnapshot(msgs []pipeline.Message, text string) []pipeline.Message {
	at := 0
	if len(msgs) > 0 && msgs[0].Role == pipeline.RoleSystem {
		at = 1
	}
	return slices.Insert(msgs, at, message.New(pipeline.RoleSystem, text))
}

// estimating counts its calls.
type estimating struct {
	provider
	asked *int
}

func (p estimating) EstimateTokens(context.Context, *State) (int, error) {
	*p.asked++
	return 1, nil
}

func runEstimateCase(t *testing.T, c seedcase.Case) any {
	var in struct {
		Providers int
		Calls     int `json:"assemble_calls"`
	}
	seedcase.Decode(t, c, &in)
	asked, applied := 0, 0
	var log bytes.Buffer
	chain := mustChain(t, &log)
	for i := range in.Providers {
		p := provider{fmt.Sprint("p", i), i, func(context.Context, *State, []pipeline.Message) ([]pipeline.Message, error) {
			applied++
			return nil, nil
		}}
		if err := chain.Register(estimating{p, &asked}); err != nil {
			t.Fatal(err)
		}
	}
	for range in.Calls {
		if _, err := chain.Run(t.Context(), &State{}, nil, Budget{}); err != nil {
			t.Fatal(err)
		}
	}
	if applied != in.Providers*in.Calls {
		t.Errorf("%d calls of Apply, want %d", applied, in.Providers*in.Calls)
	}
	return map[string]any{"estimate_tokens_calls": asked}
}
