package fake

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

var script = []Turn{{
	Think: "I think.", Text: "I look.",
	Calls: []Call{{Name: "read", Input: map[string]any{"path": "a"}}, {Name: "list", Input: map[string]any{}}},
}}

// TestAnthropic reads a turn with the official SDK.
func TestAnthropic(t *testing.T) {
	var recorded []int
	server := httptest.NewServer(&Server{Script: script, Record: func(n int, _ []byte) { recorded = append(recorded, n) }})
	defer server.Close()
	client := anthropic.NewClient(anthropicoption.WithBaseURL(server.URL), anthropicoption.WithAPIKey("made-up"))
	tool := anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{}, "read")
	params := anthropic.MessageNewParams{
		Model: "m", MaxTokens: 10, Tools: []anthropic.ToolUnionParam{tool},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))},
	}
	ask := func() (m anthropic.Message) {
		stream := client.Messages.NewStreaming(context.Background(), params)
		for stream.Next() {
			if err := m.Accumulate(stream.Current()); err != nil {
				t.Fatal(err)
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := ask()
	var kinds []string
	for _, b := range m.Content {
		kinds = append(kinds, b.Type)
	}
	if want := []string{"thinking", "text", "tool_use", "tool_use"}; !slices.Equal(kinds, want) || m.StopReason != "tool_use" {
		t.Fatalf("blocks %v, stopped by %q, want %v", kinds, m.StopReason, want)
	}
	if m.Content[0].Signature == "" || m.Content[1].Text != "I look." || string(m.Content[2].Input) != `{"path":"a"}` {
		t.Errorf("content: %+v", m.Content)
	}
	if m = ask(); len(m.Content) != 1 || m.Content[0].Text != "Done." {
		t.Errorf("after the script: %+v", m.Content)
	}
	params.Tools = nil
	if m = ask(); len(m.Content) != 1 || m.Content[0].Text == "Done." {
		t.Errorf("beside the session: %+v", m.Content)
	}
	if !slices.Equal(recorded, []int{0, 1}) {
		t.Errorf("recorded %v", recorded)
	}
}

// TestResponses reads a turn with the official SDK.
func TestResponses(t *testing.T) {
	server := httptest.NewServer(&Server{Script: script, Record: func(int, []byte) {}})
	defer server.Close()
	client := openai.NewClient(openaioption.WithBaseURL(server.URL+"/v1"), openaioption.WithAPIKey("made-up"))
	stream := client.Responses.NewStreaming(context.Background(), responses.ResponseNewParams{
		Model: "m", Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("read", nil, false)},
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("hi")},
	})
	var done responses.Response
	items := 0
	for stream.Next() {
		switch e := stream.Current(); e.Type {
		case "response.output_item.done":
			items++
		case "response.completed":
			done = e.Response
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, o := range done.Output {
		kinds = append(kinds, o.Type)
	}
	if want := []string{"reasoning", "message", "function_call", "function_call"}; !slices.Equal(kinds, want) || items != len(want) {
		t.Fatalf("items %v (%d one by one), want %v", kinds, items, want)
	}
	var input map[string]any
	if err := json.Unmarshal([]byte(done.Output[2].AsFunctionCall().Arguments), &input); err != nil || input["path"] != "a" {
		t.Errorf("arguments: %v, %v", input, err)
	}
	if done.OutputText() != "I look." || done.Output[0].EncryptedContent == "" {
		t.Errorf("output: %s", done.RawJSON())
	}
}
