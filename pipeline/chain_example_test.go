package pipeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

func ExampleProviderChain_Assemble() {
	counter, err := pipeline.NewMessageCounter(pipeline.MessageCounterConfig{Tokenizer: pipeline.WordTokenizer(), Overhead: -1})
	if err != nil {
		fmt.Println(err)
		return
	}
	chain, err := pipeline.NewChain(pipeline.ChainConfig{
		Counter:   counter,
		Providers: []pipeline.ContextProvider{pipeline.LimitProvider(clock{}, time.Second)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	state := pipeline.AgentState{Messages: []pipeline.Message{{Role: pipeline.RoleUser, Content: "Lunch?"}}}
	a, err := chain.Assemble(context.Background(), &state, state.Messages, pipeline.ProviderBudget{MaxTokens: 1000, Phase: pipeline.PhaseSynthesize})
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

func ExampleMessageUnits() {
	fmt.Println(pipeline.MessageUnits([]pipeline.Message{
		{Role: pipeline.RoleUser, Content: "What is in the file?"},
		{Role: pipeline.RoleAssistant, ToolCalls: json.RawMessage(`[{"id": "c1"}]`)},
		{Role: pipeline.RoleTool, ToolCallID: "c1", Content: "nothing"},
		{Role: pipeline.RoleAssistant, Content: "It is empty."},
	}))
	// Output:
	// [0 1 1 3]
}

func ExampleAgentState() {
	var state pipeline.AgentState
	err := json.Unmarshal([]byte(`{"run_id": "r1", "observations": ["Ann called."], "data": {"account_id": 42}}`), &state)
	fmt.Println(state.Observations, state.Data["account_id"], err)
	err = json.Unmarshal([]byte(`{"observation": ["Ann called."]}`), &state)
	fmt.Println(err)
	// Output:
	// [Ann called.] 42 <nil>
	// agent state: observation: unknown key: invalid value (want one of run_id, messages, observations, reflection, data)
}
