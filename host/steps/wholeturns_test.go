package steps

import (
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
)

// A turn that a query plugin hands back keeps its whole message. A changed one does not.
func TestHostQueryKeepsWholeTurns(t *testing.T) {
	first, second := new(pipeline.Message), new(pipeline.Message)
	asked := &pipeline.Query{Text: "q", ChatHistory: []pipeline.Turn{
		{Role: pipeline.RoleUser, Content: "look", Whole: first},
		{Role: pipeline.RoleAssistant, Content: "a cat"},
		{Role: pipeline.RoleUser, Content: "look", Whole: second},
	}}
	got := hostQuery(&abi.Query{Text: "q", ChatHistory: abiTurns(asked.ChatHistory)}, asked).ChatHistory
	if got[0].Whole != first || got[1].Whole != nil || got[2].Whole != second {
		t.Errorf("unchanged turns: %+v", got)
	}
	changed := abiTurns(asked.ChatHistory)[1:]
	changed[0].Content = "a dog"
	got = hostQuery(&abi.Query{Text: "q", ChatHistory: changed}, asked).ChatHistory
	if got[0].Whole != nil || got[1].Whole != second {
		t.Errorf("a changed and an unchanged turn: %+v", got)
	}
}
