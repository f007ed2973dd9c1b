package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/msgtest"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// talks are conversations with an image, and a call of a tool with its result, as each API
// writes them.
var talks = map[message.Form]string{
	message.FormAnthropic: `[
  {"role": "user", "content": [{"type": "text", "text": "what is this?"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}]},
  {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"n": 1.50}}]},
  {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a cat"}]}]`,
	message.FormOpenAI: `[
  {"role": "user", "content": [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]},
  {"role": "assistant", "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "look", "arguments": "{\"n\": 1.50}"}}]},
  {"role": "tool", "tool_call_id": "t1", "content": "a cat"}]`,
	message.FormResponses: `[
  {"role": "user", "content": [{"type": "input_text", "text": "what is this?"}, {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]},
  {"role": "assistant", "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "look", "arguments": "{\"n\": 1.50}"}}]},
  {"role": "tool", "tool_call_id": "t1", "content": "a cat"}]`,
	message.FormGemini: `[
  {"role": "user", "content": [{"text": "what is this?"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]},
  {"role": "assistant", "content": [{"functionCall": {"name": "look", "args": {"n": 1.50}}}]},
  {"role": "tool", "content": [{"functionResponse": {"name": "look", "response": {"output": "a cat"}}}]}]`,
}

// echoes are the same conversations as clients of the APIs keep them.
var echoes = map[message.Form]string{
	message.FormAnthropic: `[{"role": "user", "content": [{"type": "text", "text": "what is this?"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}]},
  {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "stop_sequence": null, "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"n": 1.50}}]},
  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a cat"}], "created_at": "2026-01-02T03:04:05Z"}]`,
	message.FormOpenAI: `[{"role": "user", "content": [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]},
  {"role": "assistant", "content": null, "refusal": null, "annotations": [], "audio": null, "function_call": null, "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "look", "arguments": "{\"n\": 1.50}"}}]},
  {"role": "tool", "tool_call_id": "t1", "content": "a cat"}]`,
	message.FormResponses: `[{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "what is this?"}, {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]},
  {"type": "reasoning", "id": "rs_1", "summary": []},
  {"type": "function_call", "id": "fc_1", "call_id": "t1", "name": "look", "arguments": "{\"n\": 1.50}", "status": "completed"},
  {"type": "function_call_output", "call_id": "t1", "output": "a cat"}]`,
	message.FormGemini: `[{"role": "user", "parts": [{"text": "what is this?"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]},
  {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"n": 1.50}}, "thoughtSignature": "c2ln"}]},
  {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "a cat"}}}], "metadata": {"importance": 0.5}}]`,
}

// An image and a call with its result come out of a build in the form of each API.
func TestConversationsKeepImagesAndCalls(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, all := range []map[message.Form]string{talks, echoes} {
		checkTalks(t, all)
	}
}

func checkTalks(t *testing.T, talks map[message.Form]string) {
	t.Helper()
	for from, talk := range talks {
		for _, to := range message.Forms {
			request := `{"query": "and now?", "format": "` + string(to) + `", "conversation": ` + talk + `}`
			config := `{format: ` + string(to) + `, memory: {conversation: {turns: ` + talk + `}}}`
			if err := os.WriteFile("c.yaml", []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			outputs := []string{
				outputOf(t, must(t, request, "build", "--request", "-")),
				outputOf(t, must(t, "", "build", "--config", "c.yaml", "-o", "json", "and now?")),
			}
			for _, out := range outputs {
				checkTalk(t, string(from)+" to "+string(to), out, to)
			}
			if from == to && to != message.FormResponses && !strings.Contains(strings.ReplaceAll(outputs[0], " ", ""), `1.50`) {
				t.Errorf("%s: the number has changed: %s", to, outputs[0])
			}
		}
	}
}

// outputOf returns the output in the result of a build.
func outputOf(t *testing.T, result string) string {
	t.Helper()
	var doc struct {
		Output json.RawMessage `json:"formatted_output"`
	}
	if err := json.Unmarshal([]byte(result), &doc); err != nil {
		t.Fatal(err, result)
	}
	return string(doc.Output)
}

func checkTalk(t *testing.T, what, out string, form message.Form) {
	t.Helper()
	body, err := message.DecodeBody([]byte(out), form)
	if err == nil {
		err = message.Check(body.Messages, form)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", what, err, out)
	}
	media, calls, results := 0, 0, ""
	for i := range body.Messages {
		m := &body.Messages[i]
		media += core.Media(m.Parts)
		calls += len(m.Calls())
		for _, r := range m.Results() {
			results += message.TextOf(r.Parts)
		}
	}
	if media != 1 || calls != 1 || !strings.Contains(results, "a cat") {
		t.Errorf("%s: %d images, %d calls, result %q: %s", what, media, calls, results, out)
	}
}

// The messages of any API are turns as they are, and come out so in the form of that API.
func TestMessagesOfAnyAPIAreTurns(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, form := range message.Forms {
		for seed := range uint64(4) {
			body, err := message.DecodeBody(msgtest.Body(msgtest.Options{Form: string(form), Seed: seed, Messages: 14, Simple: true}), form)
			if err != nil {
				t.Fatal(err)
			}
			var turns []string
			for i := range body.Messages {
				if m := &body.Messages[i]; !m.Instructs() {
					turns = append(turns, m.Raw())
				}
			}
			if len(turns) == 0 {
				t.Fatalf("%s %d: no turn", form, seed)
			}
			request := `{"query": "so?", "window": {"max_tokens": 1000000}, "counting": {"tokenizer": "words"}, "format": "` + string(form) + `", "conversation": [` + strings.Join(turns, ",") + `]}`
			var out bytes.Buffer
			if err := json.Compact(&out, []byte(outputOf(t, must(t, request, "build", "--request", "-")))); err != nil {
				t.Fatal(err)
			}
			for _, turn := range turns {
				if !strings.Contains(out.String(), turn) {
					t.Errorf("%s %d: missing %s", form, seed, turn)
				}
			}
		}
	}
}

// An error of a turn names the document, the turn and the member.
func TestTurnsAreChecked(t *testing.T) {
	t.Chdir(t.TempDir())
	for turn, want := range map[string]string{
		`{"role": "user"}`: "stdin:1:33: conversation[0].content: missing",
		`{"role": "user", "content": [{"type": "text", "text": 7}]}`: "conversation[0]: content[0]",
		`{"role": "user", "content": "x", "tool_calls": "f"}`:        "conversation[0].tool_calls: want a list of calls",
		`{"role": "user", "content": "x", "tool_call_id": "f"}`:      "conversation[0]",
		`{"role": "tool", "content": {"a": 1}, "tool_call_id": "f"}`: "conversation[0].content: ",
		`{"role": "model", "parts": []}`:                             "conversation[0]: content: missing",
		`{"role": "model", "parts": [{}]}`:                           "conversation[0]: parts[0]: {}",
		`{"role": "assistant", "content": "x", "refusal": 7}`:        "conversation[0]: refusal: 7",
		`{"type": "function_call_output", "call_id": 7}`:             "conversation[0]: call_id: 7",
		`{"role": "user", "content": "x", "metdata": {}}`:            "conversation[0].metdata: unknown key",
		`{"role": "user", "parts": [{"text": "x"}], "metadata": 7}`:  "conversation[0].metadata: ",
	} {
		code, _, stderr := run(t, `{"query": "q", "conversation": [`+turn+`]}`, "build", "--request", "-")
		if code == codeOK || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d %s", turn, code, stderr)
		}
	}
}

// What the format has no place for is named, and is a degradation under --strict.
func TestTurnsWithoutAPlaceAreNamed(t *testing.T) {
	t.Parallel()
	const pair = `{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]}, {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "r"}]}`
	const thinks = `{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "b"}]}`
	const calls = `{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "text", "text": "b"}, {"type": "tool_use", "id": "t", "name": "look", "input": {}}]}, {"role": "user", "content": "c"}`
	const again = `{"role": "user", "content": "a"}, ` + pair + `, ` + pair
	for _, c := range []struct{ turns, format, want string }{
		{thinks, "anthropic", ""},
		{thinks, "openai", "turn-2: content[0]"},
		{thinks, "gemini", "turn-2: content[0]"},
		{again, "anthropic", `turn-4: content[0]: call of look with the id "t" of an earlier one`},
		{calls, "anthropic", "turn-2: content[1]: call of look without its result"},
		{calls, "openai-responses", "turn-2: content[1]: call of look without its result"},
	} {
		request := `{"query": "and now?", "format": "` + c.format + `", "conversation": [` + c.turns + `]}`
		code, out, stderr := run(t, request, "build", "--strict", "--request", "-")
		var doc struct {
			Diagnostics struct{ Lost []string }
		}
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatal(err, out)
		}
		lost := strings.Join(doc.Diagnostics.Lost, "\n")
		if (code == codeDegraded) != (c.want != "") || !strings.Contains(lost, c.want) || (lost != "") != (c.want != "") {
			t.Errorf("%s to %s: %d, lost %q, %s", c.turns, c.format, code, lost, stderr)
		}
	}
}

// An empty text of the assistant, which some clients store, is not sent: the API refuses it.
func TestEmptyTextsAreNotSent(t *testing.T) {
	t.Parallel()
	const turns = `{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "text", "text": ""}]}`
	for _, form := range message.Forms {
		out := outputOf(t, must(t, `{"query": "b", "format": "`+string(form)+`", "conversation": [`+turns+`]}`, "build", "--request", "-"))
		body, err := message.DecodeBody([]byte(out), form)
		if err != nil {
			t.Fatalf("%s: %v: %s", form, err, out)
		}
		if err := message.Check(body.Messages, form); err != nil || len(body.Messages) == 0 {
			t.Errorf("%s: %d messages, %v: %s", form, len(body.Messages), err, out)
		}
	}
}
