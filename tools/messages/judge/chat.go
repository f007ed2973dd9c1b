package judge

import (
	"regexp"
	"slices"
)

// Sources: "spec" is the OpenAPI description of the API (github.com/openai/openai-openapi),
// "API" is the text of the error that the service answers with, status 400.

// spec: FunctionObject.name: a-z, A-Z, 0-9, underscores and dashes, at most 64
var chatTool = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// spec: the parts that the content of each role may have (ChatCompletionRequest*Message).
var chatParts = map[string][]string{
	"developer": {"text"},
	"system":    {"text"},
	"user":      {"text", "image_url", "input_audio", "file"},
	"assistant": {"text", "refusal"},
	"tool":      {"text"},
	"function":  {},
}

// chatRules holds a body against the rules of Chat Completions.
func chatRules(root map[string]any) error {
	messages, err := messageObjects(root, "messages")
	if err != nil {
		return err
	}
	if str(root, "model") == "" { // API: you must provide a model parameter
		return refuse(-1, "model", "the member is required")
	}
	for i, m := range messages {
		parts, ok := chatParts[str(m, "role")]
		if !ok { // API: Invalid value: 'x'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.
			return refuse(i, "role", "the role is unknown", m["role"])
		}
		if err := chatContent(i, m, parts); err != nil {
			return err
		}
		if err := chatToolCalls(i, m); err != nil {
			return err
		}
	}
	return chatAnswers(messages)
}

// chatContent checks the content of a message.
func chatContent(i int, m map[string]any, parts []string) error {
	switch c := m["content"].(type) {
	case nil:
		role := str(m, "role")
		// spec: content of the assistant is required unless tool_calls or function_call is given.
		// API: Invalid value for 'content': expected a string, got null.
		if role == "function" || role == "assistant" && (m["tool_calls"] != nil || m["function_call"] != nil || m["refusal"] != nil || m["audio"] != nil) {
			return nil
		}
		return refuse(i, "content", "content is not null")
	case string:
		return nil
	case []any:
		if len(c) == 0 { // spec: minItems 1
			return refuse(i, "content", "content is not an empty list")
		}
		for j, v := range c {
			if kind := str(object(v), "type"); !slices.Contains(parts, kind) && !isNew(kind) {
				// API: Invalid value: 'image_url'. Supported values are: 'text'.
				return refuse(i, at("content", j, "type"), "the role has no parts of this type", kind)
			}
		}
		return nil
	}
	return refuse(i, "content", "content is a text or a list of parts")
}

// chatToolCalls checks the calls of a message by themselves.
func chatToolCalls(i int, m map[string]any) error {
	if m["tool_calls"] == nil {
		return nil
	}
	if str(m, "role") != "assistant" { // API: Unrecognized request argument supplied: tool_calls
		return refuse(i, "tool_calls", "calls are of the assistant")
	}
	calls := list(m, "tool_calls")
	if len(calls) == 0 { // API: Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1
		return refuse(i, "tool_calls", "the list of calls is not empty")
	}
	for j, v := range calls {
		call, place := object(v), at("tool_calls", j)
		if isNew(str(call, "type")) {
			continue
		}
		// API: Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40
		if id := str(call, "id"); id == "" || len(id) > 40 {
			return refuse(i, at(place, "id"), "the id of a call has 1 to 40 bytes", id)
		}
		f := object(call["function"])
		if str(call, "type") == "custom" {
			f = object(call["custom"])
		} else if _, ok := f["arguments"].(string); !ok { // API: Invalid type for 'arguments': expected a string
			return refuse(i, at(place, "function", "arguments"), "the arguments of a call are a text")
		}
		if name := str(f, "name"); !chatTool.MatchString(name) {
			return refuse(i, at(place, "name"), "the name of a tool has letters, digits, _ and - only", name)
		}
	}
	return nil
}

// chatAnswers checks that results and calls belong together.
func chatAnswers(messages []map[string]any) error {
	var open map[string]bool // calls of the last assistant message: answered or not
	from := 0
	for i, m := range messages {
		if str(m, "role") == "tool" {
			id := str(m, "tool_call_id")
			answered, known := open[id]
			if !known { // API: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.
				return refuse(i, "tool_call_id", "a tool message answers a call of the assistant before it", id)
			}
			if answered { // API: Duplicate value for 'tool_call_id' of 'X' in message[3]
				return refuse(i, "tool_call_id", "a call has one answer", id)
			}
			open[id] = true
			continue
		}
		if err := chatOpen(from, messages, open); err != nil {
			return err
		}
		open, from = map[string]bool{}, i
		for j, v := range list(m, "tool_calls") {
			id := str(object(v), "id")
			if _, twice := open[id]; twice { // API: Duplicate value for 'tool_call_id'
				return refuse(i, at("tool_calls", j, "id"), "the id of a call is unique in its message", id)
			}
			open[id] = isNew(str(object(v), "type"))
		}
	}
	return chatOpen(from, messages, open)
}

// chatOpen refuses a call without an answer. API: An assistant message with 'tool_calls' must be
// followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not
// have response messages: X
func chatOpen(from int, messages []map[string]any, open map[string]bool) error {
	if open == nil {
		return nil // before the first message
	}
	for j, v := range list(messages[from], "tool_calls") {
		if id := str(object(v), "id"); !open[id] {
			return refuse(from, at("tool_calls", j, "id"), "a call is answered before the next message that is not of a tool", id)
		}
	}
	return nil
}
