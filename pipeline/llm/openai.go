package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// chat is the API of chat completions. official says that the server is OpenAI's own.
type chat struct{ official bool }

// chatRequest is the body of a request.
type chatRequest struct {
	Model               string      `json:"model"`
	Messages            []Message   `json:"messages"`
	MaxTokens           int         `json:"max_tokens,omitempty"`
	MaxCompletionTokens int         `json:"max_completion_tokens,omitempty"` // OpenAI's newer models want this
	Temperature         *float64    `json:"temperature,omitempty"`
	Format              *chatFormat `json:"response_format,omitempty"`
}

type chatFormat struct {
	Type   string     `json:"type"`
	Schema chatSchema `json:"json_schema"`
}

type chatSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

func (c chat) body(o *Options, r *Request, maxTokens int) ([]byte, error) {
	q := chatRequest{Model: o.Model, Messages: r.Messages, Temperature: r.Temperature}
	q.Temperature = cmp.Or(q.Temperature, o.Temperature)
	if c.official {
		q.MaxCompletionTokens = maxTokens
	} else {
		q.MaxTokens = maxTokens
	}
	if len(r.Schema) > 0 {
		q.Format = &chatFormat{"json_schema", chatSchema{"answer", r.Schema, strict(r.Schema)}}
	}
	return json.Marshal(q)
}

func (chat) read(answer []byte, _ bool) (a Answer, err error) {
	var d struct {
		Choices choices `json:"choices"`
		Usage   struct {
			Input   int `json:"prompt_tokens"`
			Output  int `json:"completion_tokens"`
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(answer, &d); err != nil {
		return a, fmt.Errorf("the answer is no document of chat completions: %w", err)
	}
	if !d.Choices.there {
		return a, errors.New("the answer has no choices (is base_url right?)")
	}
	c := &d.Choices
	a = Answer{Text: c.Message.Content, InputTokens: counted(d.Usage.Input), OutputTokens: counted(d.Usage.Output), CachedTokens: counted(d.Usage.Details.Cached), Cut: c.Finish == "length"}
	if c.Message.Refusal != "" || c.Finish == "content_filter" {
		return a, &Error{Kind: Refused, Err: errors.New("the model declines to answer")}
	}
	return a, nil
}

// strict reports whether OpenAI holds answers to a schema: each object in it names all its
// properties as required, and allows no others.
func strict(schema json.RawMessage) bool {
	var v any
	return json.Unmarshal(schema, &v) == nil && strictValue(v)
}

func strictValue(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			if !strictValue(x) {
				return false
			}
		}
	case map[string]any:
		properties, isObject := v["properties"].(map[string]any)
		required, _ := v["required"].([]any)
		if (isObject || v["type"] == "object") && (v["additionalProperties"] != false || len(required) != len(properties)) {
			return false
		}
		for _, x := range v {
			if !strictValue(x) {
				return false
			}
		}
	}
	return true
}
