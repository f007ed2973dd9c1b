package judge

import (
	"slices"
	"strings"
)

// Sources as in chat.go.

// answerOf names the item that answers each item which the client has to answer
// (spec: InputItem).
var answerOf = map[string]string{
	"function_call":    "function_call_output",
	"custom_tool_call": "custom_tool_call_output",
	"local_shell_call": "local_shell_call_output",
	"shell_call":       "shell_call_output",
	"apply_patch_call": "apply_patch_call_output",
	"computer_call":    "computer_call_output",
}

// idPrefix has the first letters of the ids of items that a model made.
// API: Invalid 'input[2].id': 'x'. Expected an ID that begins with 'fc'.
var idPrefix = map[string]string{
	"function_call": "fc", "reasoning": "rs", "custom_tool_call": "ctc", "compaction": "cmp",
}

// responsesRules holds a body against the rules of Responses.
func responsesRules(root map[string]any) error {
	if text, ok := root["input"].(string); ok && text != "" {
		return nil
	}
	items, err := messageObjects(root, "input")
	if err != nil {
		return err
	}
	ids := map[string]bool{}
	for i, it := range items {
		if err := responsesItem(i, it); err != nil {
			return err
		}
		id := str(it, "id")
		if id == "" || itemType(it) == "item_reference" {
			continue
		}
		if ids[id] { // API: Duplicate item found with id X. Remove duplicate items from your input and try again.
			return refuse(i, "id", "the id of an item is unique", id)
		}
		ids[id] = true
	}
	if err := reasoningFollowed(items); err != nil {
		return err
	}
	// With a stored conversation the call may be at the provider.
	stored := root["previous_response_id"] != nil || root["conversation"] != nil
	return responsesAnswers(items, stored)
}

// itemType is the type of an item. A message may leave it out (spec: EasyInputMessage).
func itemType(it map[string]any) string {
	if t := str(it, "type"); t != "" || it["role"] == nil {
		return t
	}
	return "message"
}

// responsesItem checks an item by itself.
func responsesItem(i int, it map[string]any) error {
	kind := itemType(it)
	if kind == "" {
		return refuse(i, "type", "an item has a type or a role")
	}
	if p, id := idPrefix[kind], str(it, "id"); p != "" && id != "" && !strings.HasPrefix(id, p) {
		return refuse(i, "id", "the id begins as its type wants", id)
	}
	switch kind {
	case "message":
		return responsesMessage(i, it)
	case "function_call":
		if _, ok := it["arguments"].(string); !ok { // spec: FunctionToolCall.arguments
			return refuse(i, "arguments", "the arguments of a call are a text")
		}
		if name := str(it, "name"); !chatTool.MatchString(name) { // API: Invalid 'input[1].name': string does not match pattern
			return refuse(i, "name", "the name of a tool has letters, digits, _ and - only", name)
		}
	case "function_call_output", "custom_tool_call_output":
		switch o := it["output"].(type) {
		case string:
		case []any:
			for j, v := range o { // spec: FunctionCallOutput.output
				if t := str(object(v), "type"); !isNew(t) && !slices.Contains([]string{"input_text", "input_image", "input_file"}, t) {
					return refuse(i, at("output", j, "type"), "an output holds input parts", t)
				}
			}
		default: // API: Missing required parameter: 'input[2].output'
			return refuse(i, "output", "the output is a text or a list of parts")
		}
	case "reasoning":
		if _, ok := it["summary"].([]any); !ok { // API: Missing required parameter: 'input[1].summary'
			return refuse(i, "summary", "reasoning has a summary, if only an empty one")
		}
	case "compaction":
		if str(it, "encrypted_content") == "" { // spec: CompactionSummaryItemParam
			return refuse(i, "encrypted_content", "the member is required")
		}
	}
	return nil
}

// responsesMessage checks role and parts of a message.
func responsesMessage(i int, it map[string]any) error {
	parts := []string{"input_text", "input_image", "input_file", "input_audio"}
	switch role := str(it, "role"); role {
	case "user", "system", "developer":
	case "assistant": // API: Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.
		parts = []string{"output_text", "refusal"}
	default:
		return refuse(i, "role", "the role is unknown", it["role"])
	}
	switch c := it["content"].(type) {
	case string:
	case []any:
		for j, v := range c {
			if t := str(object(v), "type"); !isNew(t) && !slices.Contains(parts, t) {
				return refuse(i, at("content", j, "type"), "the role has no parts of this type", t)
			}
		}
	default: // API: Missing required parameter: 'input[0].content'
		return refuse(i, "content", "content is a text or a list of parts")
	}
	return nil
}

// reasoningFollowed checks that reasoning stands before the item which it led to. API: Item 'rs_X'
// of type 'reasoning' was provided without its required following item.
func reasoningFollowed(items []map[string]any) error {
	for i, it := range items {
		if itemType(it) != "reasoning" {
			continue
		}
		next := ""
		if i+1 < len(items) {
			next = itemType(items[i+1])
			if next == "message" && str(items[i+1], "role") != "assistant" || strings.HasSuffix(next, "_output") {
				next = ""
			}
		}
		if next == "" {
			return refuse(i, "", "reasoning is followed by the item that it led to", str(it, "id"))
		}
	}
	return nil
}

// responsesAnswers checks that calls and outputs belong together, by call_id and type.
func responsesAnswers(items []map[string]any, stored bool) error {
	calls := map[string]int{}
	answered := map[string]bool{}
	approvals := map[string]bool{}
	for i, it := range items {
		kind, id := itemType(it), str(it, "call_id")
		switch kind {
		case "item_reference": // the call may be at the provider
			stored = true
		case "mcp_approval_request":
			approvals[str(it, "id")] = true
		case "mcp_approval_response": // spec: the ID of the approval request being answered
			if request := str(it, "approval_request_id"); !approvals[request] && !stored {
				return refuse(i, "approval_request_id", "an approval answers a request before it", request)
			}
		case "program_output": // spec: the call ID of the program item
			if !slices.ContainsFunc(items[:i], func(o map[string]any) bool { return itemType(o) == "program" && str(o, "call_id") == id }) {
				return refuse(i, "call_id", "the output of a program follows the program", id)
			}
		}
		if answer := answerOf[kind]; answer != "" {
			if kind == "local_shell_call" && id == "" {
				id = str(it, "id")
			}
			if _, twice := calls[answer+" "+id]; twice || id == "" { // API: Duplicate 'call_id': X
				return refuse(i, "call_id", "the id of a call is there and unique", id)
			}
			calls[answer+" "+id] = i
			continue
		}
		if !strings.HasSuffix(kind, "_output") || isNew(kind) || !slices.ContainsFunc(allAnswers(), func(a string) bool { return a == kind }) {
			continue
		}
		if kind == "local_shell_call_output" && id == "" {
			id = str(it, "id")
		}
		key := kind + " " + id
		if _, ok := calls[key]; !ok && !stored { // API: No tool call found for function call output with call_id X.
			return refuse(i, "call_id", "an output answers a call before it", id)
		}
		if answered[key] { // guides/function-calling: one output for each call
			return refuse(i, "call_id", "a call has one output", id)
		}
		answered[key] = true
	}
	for i, it := range items { // API: No tool output found for function call X.
		if answer := answerOf[itemType(it)]; answer != "" {
			id := str(it, "call_id")
			if id == "" {
				id = str(it, "id")
			}
			if !answered[answer+" "+id] {
				return refuse(i, "call_id", "a call has its output", id)
			}
		}
	}
	return nil
}

func allAnswers() []string {
	out := make([]string, 0, len(answerOf))
	for _, a := range answerOf {
		out = append(out, a)
	}
	return out
}
