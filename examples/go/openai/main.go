// Command openai is the loop of an agent with the SDK of OpenAI.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/openai/openai-go/v3"

	"github.com/anchor-host/anchor-host/examples/go/session"
)

func main() {
	client, assemble := openai.NewClient(), session.New[openai.ChatCompletionNewParams](2000)
	tool := openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
		Name:       "read_log",
		Parameters: openai.FunctionParameters{"type": "object", "properties": map[string]any{"page": map[string]any{"type": "integer"}}},
	})
	body := openai.ChatCompletionNewParams{
		Model: "gpt-5", Tools: []openai.ChatCompletionToolUnionParam{tool},
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Which requests failed?")},
	}
	for {
		prepared, err := assemble(body)
		if err != nil {
			log.Fatal(err)
		}
		completion, err := client.Chat.Completions.New(context.Background(), prepared)
		if err != nil {
			log.Fatal(err)
		}
		answer := completion.Choices[0].Message
		if len(answer.ToolCalls) == 0 {
			fmt.Println(answer.Content)
			return
		}
		body.Messages = append(body.Messages, answer.ToParam())
		for _, call := range answer.ToolCalls {
			text, err := session.ReadLog(call.Function.Arguments)
			if err != nil {
				log.Fatal(err)
			}
			body.Messages = append(body.Messages, openai.ToolMessage(text, call.ID))
		}
	}
}
