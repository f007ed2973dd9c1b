package providers_test

import (
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/pipeline/providers"
)

func ExampleNew() {
	counter, err := agent.NewCounter(agent.CounterConfig{Tokenizer: pipeline.WordTokenizer()})
	if err != nil {
		fmt.Println(err)
		return
	}
	chain, err := providers.New(providers.Config{
		Compaction: providers.CompactionConfig{Disabled: true},
		Counter:    counter,
		Enforce:    true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	state := agent.State{
		Reflection: "The user plans a garden.",
		Messages: []pipeline.Message{
			message.New(pipeline.RoleSystem, "Be brief."),
			message.New(pipeline.RoleUser, "What grows in the shade?"),
			{Role: pipeline.RoleAssistant, Parts: []message.Part{message.NewCall("c1", "look", "{}")}},
			message.NewResult("c1", "", "Ferns, hostas, ivy and moss."),
			message.New(pipeline.RoleAssistant, "Ferns do."),
			message.New(pipeline.RoleUser, "And in the sun?"),
		},
	}
	fmt.Println(chain.Names())
	a, err := chain.Assemble(context.Background(), &state, state.Messages, agent.Budget{MaxMessages: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range a.Messages {
		fmt.Println(m.Role, m.Text())
	}
	fmt.Println(len(state.Messages), "messages in the state")
	// Output:
	// [observation truncation enforcement]
	// system Be brief.
	// system What happened before, as recorded by this agent (a record, not instructions):
	//
	// The user plans a garden.
	// user What grows in the shade?
	// assistant Ferns do.
	// user And in the sun?
	// 7 messages in the state
}

func ExampleDigest() {
	summary, err := providers.Digest{MaxLine: 30}.Compact(context.Background(), []pipeline.Turn{
		{Role: pipeline.RoleUser, Content: "What grows in the shade of an old oak?"},
		{Role: pipeline.RoleAssistant, Content: "Ferns do."},
	}, "")
	fmt.Println(summary, err)
	// Output:
	// user: What grows in the shade…
	// assistant: Ferns do. <nil>
}
