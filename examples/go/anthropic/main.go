// Command anthropic is the loop of an agent with the SDK of Anthropic.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/anchor-host/anchor-host/examples/go/session"
)

func main() {
	client, assemble := anthropic.NewClient(), session.New[anthropic.MessageNewParams](2000)
	tool := anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: map[string]any{"page": map[string]any{"type": "integer"}}}, "read_log")
	body := anthropic.MessageNewParams{
		Model: "claude-sonnet-4-5", MaxTokens: 500, Tools: []anthropic.ToolUnionParam{tool},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Which requests failed?"))},
	}
	for {
		prepared, err := assemble(body)
		if err != nil {
			log.Fatal(err)
		}
		answer, err := client.Messages.New(context.Background(), prepared)
		if err != nil {
			log.Fatal(err)
		}
		var results []anthropic.ContentBlockParamUnion
		for _, block := range answer.Content {
			if block.Type == "tool_use" {
				text, err := session.ReadLog(string(block.Input))
				results = append(results, anthropic.NewToolResultBlock(block.ID, text, err != nil))
			}
		}
		if len(results) == 0 {
			fmt.Println(answer.Content[0].Text)
			return
		}
		body.Messages = append(body.Messages, answer.ToParam(), anthropic.NewUserMessage(results...))
	}
}
