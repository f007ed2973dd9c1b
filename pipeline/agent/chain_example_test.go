package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

func ExampleChain_Assemble() {
	counter, err := agent.NewCounter(agent.CounterConfig{Tokenizer: pipeline.WordTokenizer(), Overhead: -1})
	if err != nil {
		fmt.Println(err)
		return
	}
	chain, err := agent.NewChain(agent.Config{
		Counter:   counter,
		Providers: []agent.Provider{agent.LimitProvider(clock{}, time.Second)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	state := agent.State{Messages: []pipeline.Message{message.New(pipeline.RoleUser, "Lunch?")}}
	a, err := chain.Assemble(context.Background(), &state, state.Messages, agent.Budget{MaxTokens: 1000, Phase: agent.PhaseSynthesize})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range a.Diagnostics.Providers {
		fmt.Printf("%d %s: %s, %d messages and %d tokens, then %d and %d\n",
			d.Priority, d.Name, d.Outcome, d.Before.Messages, *d.Before.Tokens, d.After.Messages, *d.After.Tokens)
	}
	// Output:
	// 5 clock: changed, 1 messages and 1 tokens, then 2 and 4
}

func ExampleUnits() {
	fmt.Println(agent.Units([]pipeline.Message{
		message.New(pipeline.RoleUser, "What is in the file?"),
		{Role: pipeline.RoleAssistant, Parts: []message.Part{message.NewCall("c1", "look", "{}")}},
		message.NewResult("c1", "", "nothing"),
		message.New(pipeline.RoleAssistant, "It is empty."),
	}))
	// Output:
	// [0 1 1 3]
}

func ExampleState() {
	var state agent.State
	err := json.Unmarshal([]byte(`{"run_id": "r1", "observations": ["Ann called."], "data": {"account_id": 42}}`), &state)
	fmt.Println(state.Observations, state.Data["account_id"], err)
	err = json.Unmarshal([]byte(`{"observation": ["Ann called."]}`), &state)
	fmt.Println(err)
	// Output:
	// [Ann called.] 42 <nil>
	// agent state: observation: unknown key: invalid value (did you mean "observations"?)
}

// clock is a provider that puts the time before the messages.
type clock struct{}

func (clock) Name() string  { return "clock" }
func (clock) Priority() int { return 5 }
func (clock) EstimateTokens(context.Context, *agent.State) (int, error) {
	return 5, nil
}

func (clock) Apply(_ context.Context, _ *agent.State, msgs []pipeline.Message, _ agent.Budget) ([]pipeline.Message, error) {
	return append([]pipeline.Message{message.New(pipeline.RoleSystem, "It is noon.")}, msgs...), nil
}

func ExampleChain() {
	chain, err := agent.NewChain(agent.Config{Providers: []agent.Provider{clock{}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	msgs, err := chain.Run(context.Background(), &agent.State{}, []pipeline.Message{message.New(pipeline.RoleUser, "Lunch?")},
		agent.Budget{MaxTokens: 1000, Phase: agent.PhaseLLM})
	for _, m := range msgs {
		fmt.Println(m.Role, m.Text())
	}
	fmt.Println(err)
	// Output:
	// system It is noon.
	// user Lunch?
	// <nil>
}
