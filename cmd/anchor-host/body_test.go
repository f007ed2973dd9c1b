package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/message"
)

// What build prints for the API of a model is a body that can be sent as it is.
func TestBuildPrintsABody(t *testing.T) {
	const tools = `[{"name": "search",   "input_schema": {"type": "object", "x": "<"}}]`
	t.Chdir(write(t, map[string]string{
		"anchor.yaml": "model: claude-sonnet-4-5\nsystem_prompts: [{content: be brief}]\nbudget: {reserve_tokens: 500}\ntools: '" + tools + "'\n" +
			"conversation: {turns: [{role: assistant, content: hello}, {role: user, content: \" \"}]}\nformat_options: {caching: true}\n",
	}))
	for format, head := range map[string]string{
		"anthropic":        "{\n  \"model\": \"claude-sonnet-4-5\",\n  \"max_tokens\": 500,\n  \"tools\": " + tools + ",\n  \"system\": [",
		"openai":           "{\n  \"model\": \"claude-sonnet-4-5\",\n  \"messages\": [",
		"openai-responses": "{\n  \"model\": \"claude-sonnet-4-5\",\n  \"instructions\": \"be brief\",\n  \"input\": [",
		"gemini":           "{\n  \"systemInstruction\": {",
	} {
		out := must(t, "", "build", "--format", format, "why <this>?")
		if !strings.HasPrefix(out, head) || !strings.Contains(out, tools) || !strings.Contains(out, "500") {
			t.Errorf("%s: %s", format, out)
		}
		body, err := message.DecodeBody([]byte(out), message.Form(format))
		if err != nil || message.Check(body.Messages, body.Form) != nil {
			t.Errorf("%s: %v, %v", format, err, message.Check(body.Messages, body.Form))
			continue
		}
		if last := body.Messages[len(body.Messages)-1]; last.Role != message.RoleUser || last.Text() != "why <this>?" {
			t.Errorf("%s: the last message is %s", format, last.Raw())
		}
	}
	out := must(t, `{"query": "q", "format": "anthropic", "tools": `+tools+`}`, "build", "--request", "-")
	var result struct {
		Output struct{ Tools json.RawMessage } `json:"formatted_output"`
		Window struct {
			Query      string
			ToolTokens int `json:"tool_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatal(err)
	}
	if compacted(t, string(result.Output.Tools)) != compacted(t, tools) || result.Window.Query != "q" || result.Window.ToolTokens == 0 {
		t.Errorf("result: %s", out)
	}
}

// Tools that are written for another API are passed through, with a warning that names the first.
func TestBuildWarnsOfToolsOfAnotherAPI(t *testing.T) {
	t.Chdir(t.TempDir())
	tools := map[string]string{
		"anthropic":        `{"name": "f", "input_schema": {"type": "object"}}`,
		"openai":           `{"type": "function", "function": {"name": "f"}}`,
		"openai-responses": `{"type": "function", "name": "f"}`,
		"gemini":           `{"functionDeclarations": [{"name": "f"}]}`,
	}
	for of, tool := range tools {
		for _, format := range []string{"anthropic", "openai", "openai-responses", "gemini", "generic"} {
			out := must(t, `{"query": "q", "format": "`+format+`", "tools": [{"type": "web_search"}, `+tool+`]}`, "build", "--request", "-")
			warned := strings.Contains(out, "tools[1] is written for the API "+of+", and the format is "+format)
			if warned != (of != format && format != "generic") {
				t.Errorf("%s in %s: warned %t: %s", of, format, warned, out)
			}
		}
	}
}
