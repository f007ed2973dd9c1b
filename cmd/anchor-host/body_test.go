package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/message"
)

// What build prints for the API of a model is a body that can be sent as it is.
func TestBuildPrintsABody(t *testing.T) {
	const tools = `[{"type": "search",   "options": {"type": "object", "x": "<"}}]`
	t.Chdir(write(t, map[string]string{
		"anchor.yaml": "counting: {model: claude-sonnet-4-5}\nwindow: {system_prompts: [{content: be brief}], answer: 500, tools: '" + tools + "'}\n" +
			"memory: {conversation: {turns: [{role: assistant, content: hello}, {role: user, content: \" \"}]}}\nformat_options: {caching: true}\n",
	}))
	for format, head := range map[string]string{
		"anthropic":        "{\n  \"model\": \"claude-sonnet-4-5\",\n  \"max_tokens\": 4096,\n  \"tools\": " + tools + ",\n  \"system\": [",
		"openai":           "{\n  \"model\": \"claude-sonnet-4-5\",\n  \"messages\": [",
		"openai-responses": "{\n  \"model\": \"claude-sonnet-4-5\",\n  \"instructions\": \"be brief\",\n  \"input\": [",
		"gemini":           "{\n  \"systemInstruction\": {",
	} {
		out := must(t, "", "build", "--format", format, "why <this>?")
		if !strings.HasPrefix(out, head) || !strings.Contains(out, tools) || strings.Contains(out, "500") { // the reserve is not the answer's
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
	out := must(t, `{"query": "q", "format": "anthropic", "window": {"tools": `+tools+`}}`, "build", "--request", "-")
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

// Tools that are written for another API are converted, and the body has no other difference.
func TestBuildConvertsToolsOfAnotherAPI(t *testing.T) {
	t.Chdir(t.TempDir())
	tools := map[string]string{
		"anthropic":        `{"name":"f","description":"d","input_schema":{"type":"object"}}`,
		"openai":           `{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}`,
		"openai-responses": `{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":false}`,
		"gemini":           `{"functionDeclarations":[{"name":"f","description":"d","parametersJsonSchema":{"type":"object"}}]}`,
	}
	build := func(format, tool string) string {
		return must(t, `{"query": "q", "format": "`+format+`", "window": {"tools": [{"type": "web_search"}, `+tool+`]}}`, "build", "--request", "-")
	}
	toolsOf := func(out string) string {
		result := decode[struct {
			Output struct{ Tools json.RawMessage } `json:"formatted_output"`
		}](t, out)
		return compacted(t, string(result.Output.Tools))
	}
	for of, tool := range tools {
		for _, format := range []string{"anthropic", "openai", "openai-responses", "gemini"} {
			out := build(format, tool)
			if got, want := toolsOf(out), "[{\"type\":\"web_search\"},"+tools[format]+"]"; got != want || strings.Contains(out, "refuses it") {
				t.Errorf("%s in %s:\n got %s\nwant %s\nin %s", of, format, got, want, out)
			}
		}
		if out := build("generic", tool); strings.Contains(out, "refuses it") {
			t.Errorf("%s in generic: %s", of, out)
		}
	}
	for tool, want := range map[string]string{
		`{"name": "f", "input_schema": {}, "cache_control": {"type": "ephemeral"}}`:   `tools[1].cache_control: `,
		`{"functionDeclarations": [{"name": "f"}], "googleSearch": {}}`:               `tools[1].googleSearch: `,
		`{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}`: `tools[1].parameters: `,
	} {
		out := build("openai", tool)
		if !strings.Contains(out, want) || !strings.Contains(out, "which refuses it") || toolsOf(out) != compacted(t, `[{"type": "web_search"},`+tool+`]`) {
			t.Errorf("%s: %s", tool, out)
		}
	}
}
