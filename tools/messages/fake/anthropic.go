package fake

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// opaque is made-up data of the provider: a signature, or encrypted reasoning.
func opaque(n int, kind string) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "made-up %s of turn %04d, which nobody may change", kind, n))
}

// anthropicEvents writes an answer as the events of a Messages stream.
func anthropicEvents(n int, model string, turn Turn) []event {
	usage := map[string]any{"input_tokens": 1000, "output_tokens": 20}
	events := []event{{"type": "message_start", "message": map[string]any{
		"id": fmt.Sprintf("msg_%04d", n), "type": "message", "role": "assistant", "model": model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}}}
	index := 0
	block := func(start map[string]any, deltas ...map[string]any) {
		events = append(events, event{"type": "content_block_start", "index": index, "content_block": start})
		for _, d := range deltas {
			events = append(events, event{"type": "content_block_delta", "index": index, "delta": d})
		}
		events = append(events, event{"type": "content_block_stop", "index": index})
		index++
	}
	if turn.Think != "" {
		block(map[string]any{"type": "thinking", "thinking": "", "signature": ""},
			map[string]any{"type": "thinking_delta", "thinking": turn.Think},
			map[string]any{"type": "signature_delta", "signature": opaque(n, "signature")})
	}
	if turn.Text != "" {
		block(map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": turn.Text})
	}
	reason := "end_turn"
	for i, c := range turn.Calls {
		reason = "tool_use"
		block(map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%04d_%d", n, i), "name": c.Name, "input": map[string]any{}},
			map[string]any{"type": "input_json_delta", "partial_json": text(c.Input)})
	}
	return append(events,
		event{"type": "message_delta", "delta": map[string]any{"stop_reason": reason, "stop_sequence": nil}, "usage": usage},
		event{"type": "message_stop"})
}

// text writes a value as JSON.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the script is made of plain values
	}
	return string(b)
}
