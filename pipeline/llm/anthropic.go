package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// messages is the API of messages.
type messages struct{}

// answerTool is the name of the tool by whose input a model answers in JSON. All models of the API
// have tools.
const answerTool = "answer"

type messagesRequest struct {
	Model       string         `json:"model"`
	MaxTokens   int            `json:"max_tokens"`
	System      string         `json:"system,omitempty"`
	Messages    []Message      `json:"messages"`
	Temperature *float64       `json:"temperature,omitempty"`
	Tools       []messagesTool `json:"tools,omitempty"`
	Choice      *toolChoice    `json:"tool_choice,omitempty"`
}

type messagesTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
}

type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

func (messages) body(o *Options, r *Request, maxTokens int) ([]byte, error) {
	q := messagesRequest{Model: o.Model, MaxTokens: maxTokens, Temperature: r.Temperature}
	q.Temperature = cmp.Or(q.Temperature, o.Temperature)
	var system []string
	for _, m := range r.Messages {
		if m.Role == RoleSystem {
			system = append(system, m.Content)
		} else {
			q.Messages = append(q.Messages, m)
		}
	}
	if len(q.Messages) == 0 {
		return nil, errors.New("no message of the user (this API needs one)")
	}
	q.System = strings.Join(system, "\n\n")
	if len(r.Schema) > 0 {
		q.Tools = []messagesTool{{answerTool, "Gives the answer.", r.Schema}}
		q.Choice = &toolChoice{"tool", answerTool}
	}
	return json.Marshal(q)
}

func (messages) read(answer []byte, schema bool) (a Answer, err error) {
	var d struct {
		Content content `json:"content"`
		Stop    string  `json:"stop_reason"`
		Usage   struct {
			Input   int `json:"input_tokens"`
			Created int `json:"cache_creation_input_tokens"`
			Read    int `json:"cache_read_input_tokens"`
			Output  int `json:"output_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(answer, &d); err != nil {
		return a, fmt.Errorf("the answer is no document of messages: %w", err)
	}
	a = Answer{
		InputTokens:  counted(d.Usage.Input) + counted(d.Usage.Created) + counted(d.Usage.Read),
		CachedTokens: counted(d.Usage.Read), OutputTokens: counted(d.Usage.Output), Cut: d.Stop == "max_tokens",
	}
	if schema && d.Content.used {
		a.Text = string(d.Content.input)
		return a, nil
	}
	a.Text = d.Content.text
	switch d.Stop {
	case "refusal":
		return a, &Error{Kind: Refused, Err: errors.New("the model declines to answer")}
	case "":
		return a, errors.New("the answer has no stop_reason (is base_url right?)")
	}
	return a, nil
}
