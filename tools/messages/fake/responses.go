package fake

import "fmt"

// responsesEvents writes an answer as the events of a Responses stream.
func responsesEvents(n int, model string, turn Turn) []event {
	id := fmt.Sprintf("resp_%04d", n)
	var output []any
	if turn.Think != "" {
		output = append(output, map[string]any{
			"type": "reasoning", "id": fmt.Sprintf("rs_%04d", n), "encrypted_content": opaque(n, "reasoning"),
			"summary": []any{map[string]any{"type": "summary_text", "text": turn.Think}},
		})
	}
	if turn.Text != "" {
		output = append(output, map[string]any{
			"type": "message", "id": fmt.Sprintf("msg_%04d", n), "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": turn.Text, "annotations": []any{}}},
		})
	}
	for i, c := range turn.Calls {
		call := map[string]any{
			"type": "function_call", "id": fmt.Sprintf("fc_%04d_%d", n, i), "call_id": fmt.Sprintf("call_%04d_%d", n, i),
			"name": c.Name, "status": "completed", "arguments": text(c.Input),
		}
		if patch, ok := c.Input["*"].(string); ok { // a free-form tool
			call["type"], call["id"], call["input"] = "custom_tool_call", fmt.Sprintf("ctc_%04d_%d", n, i), patch
			delete(call, "arguments")
		}
		output = append(output, call)
	}
	response := map[string]any{"id": id, "object": "response", "model": model, "status": "in_progress", "output": []any{}}
	events := []event{{"type": "response.created", "response": response}}
	for i, item := range output {
		events = append(events,
			event{"type": "response.output_item.added", "output_index": i, "item": item},
			event{"type": "response.output_item.done", "output_index": i, "item": item})
	}
	return append(events, event{"type": "response.completed", "response": map[string]any{
		"id": id, "object": "response", "model": model, "status": "completed", "output": output,
		"usage": map[string]any{
			"input_tokens": 1000, "output_tokens": 20, "total_tokens": 1020,
			"input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
		},
	}})
}
