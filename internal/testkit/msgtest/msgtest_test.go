package msgtest

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestBody checks what the judge in tools/messages takes for granted: the bodies are JSON, have as
// many messages as asked for, are the same each time, and differ by seed.
func TestBody(t *testing.T) {
	names := map[string]string{Anthropic: "messages", Chat: "messages", Responses: "input", Gemini: "contents"}
	for _, form := range Forms {
		for seed := range uint64(60) {
			o := Options{Form: form, Seed: seed, Messages: 2 + int(seed*seed)%90, Simple: seed%3 == 0, Loop: seed%4 == 1}
			body := Body(o)
			var root map[string]json.RawMessage
			if err := json.Unmarshal(body, &root); err != nil {
				t.Fatalf("%+v: %v", o, err)
			}
			var messages []json.RawMessage
			if err := json.Unmarshal(root[names[form]], &messages); err != nil || len(messages) != o.Messages {
				t.Errorf("%+v: %d messages, %v", o, len(messages), err)
			}
			if !bytes.Equal(body, Body(o)) {
				t.Errorf("%+v: another body the second time", o)
			}
			o.Seed++
			if bytes.Equal(body, Body(o)) {
				t.Errorf("%+v: the same body as of the seed before", o)
			}
		}
	}
}

// TestBodyHasEverything looks for each kind of part in the bodies of a few seeds.
func TestBodyHasEverything(t *testing.T) {
	want := map[string][]string{
		Anthropic: {
			"text", "image", "base64", "url", "document", "tool_use", "tool_result", "is_error", "thinking", "signature", "redacted_thinking",
			"compaction", "server_tool_use", "web_search_tool_result", "cache_control", "x_note", "x_meta", `"role":"system"`, `\u`, "1e2", "1.0",
		},
		Chat: {
			"image_url", "input_audio", "file_data", "tool_calls", "tool_call_id", "custom", "refusal", "audio", "developer", "x_note", "x_meta", `\u`, "1e2",
		},
		Responses: {
			"input_text", "output_text", "input_image", "input_file", "refusal", "reasoning", "encrypted_content", "compaction", "function_call",
			"function_call_output", "custom_tool_call_output", "x_note", "x_meta", `\u`, "1e2",
		},
		Gemini: {
			"inlineData", "fileData", "audio/wav", "functionCall", "functionResponse", "thought", "thoughtSignature", "executableCode", "x_note", "x_meta", `\u`, "1e2",
		},
	}
	for _, form := range Forms {
		var all []byte
		for seed := range uint64(20) {
			all = append(all, Body(Options{Form: form, Seed: seed, Messages: 60})...)
		}
		if len(want[form]) == 0 {
			t.Errorf("%s: the test asks for nothing", form)
		}
		for _, w := range want[form] {
			if !bytes.Contains(all, []byte(w)) {
				t.Errorf("%s: no %s", form, w)
			}
		}
	}
}
