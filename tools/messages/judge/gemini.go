package judge

import (
	"regexp"
	"slices"
)

// Sources: "API" is the text of the error that the service answers with, status 400,
// INVALID_ARGUMENT. "spec" is https://ai.google.dev/api/caching#Content.

// spec: FunctionDeclaration.name: letters, digits, underscores, colons, dots and dashes, at most 128
var geminiTool = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_:.-]{0,127}$`)

// spec: the union field "data" of Part.
var geminiData = []string{
	"text", "inlineData", "functionCall", "functionResponse", "fileData", "executableCode", "codeExecutionResult",
	"toolCall", "toolResponse",
}

// geminiRules holds a body against the rules of generateContent.
func geminiRules(root map[string]any) error {
	contents, err := messageObjects(root, "contents") // API: contents is not specified
	if err != nil {
		return err
	}
	calls := make([][]map[string]any, len(contents))
	answers := make([][]map[string]any, len(contents))
	for i, c := range contents {
		role := str(c, "role")
		if role != "user" && role != "model" { // API: Please use a valid role: user, model.
			return refuse(i, "role", "the role is unknown", c["role"])
		}
		// API: Please ensure that multiturn requests alternate between user and model.
		if i == 0 && role != "user" {
			return refuse(i, "role", "the first content is of the user", role)
		}
		if i > 0 && role == str(contents[i-1], "role") {
			return refuse(i, "role", "user and model alternate", role)
		}
		if calls[i], answers[i], err = geminiParts(i, role, c); err != nil {
			return err
		}
	}
	for i := range contents {
		if err := geminiAnswers(i, calls, answers); err != nil {
			return err
		}
	}
	return nil
}

// geminiParts checks the parts of a content and returns its calls and responses.
func geminiParts(i int, role string, c map[string]any) (calls, answers []map[string]any, err error) {
	parts := list(c, "parts")
	if len(parts) == 0 { // API: contents.parts must not be empty.
		return nil, nil, refuse(i, "parts", "parts are not empty")
	}
	for j, v := range parts {
		p := object(v)
		data := 0
		for name := range p {
			if slices.Contains(geminiData, name) || isNew(name) {
				data++
			}
		}
		known := slices.ContainsFunc(geminiData, func(name string) bool { return p[name] != nil })
		if data == 0 { // API: contents.parts[0].data: required oneof field 'data' must have one initialized field
			return nil, nil, refuse(i, at("parts", j), "a part has data")
		}
		if known && countOf(p) > 1 { // API: Proto field is not repeating, oneof field 'data' is already set.
			return nil, nil, refuse(i, at("parts", j), "a part has data of one kind")
		}
		if call := object(p["functionCall"]); call != nil {
			if role != "model" {
				return nil, nil, refuse(i, at("parts", j, "functionCall"), "a call is of the model")
			}
			if name := str(call, "name"); !geminiTool.MatchString(name) { // API: Invalid function name
				return nil, nil, refuse(i, at("parts", j, "functionCall", "name"), "the name of a function has letters, digits, _, :, . and - only", name)
			}
			calls = append(calls, call)
		}
		if answer := object(p["functionResponse"]); answer != nil {
			if role != "user" {
				return nil, nil, refuse(i, at("parts", j, "functionResponse"), "a response is of the user")
			}
			if object(answer["response"]) == nil { // API: function_response.response: required, a Struct
				return nil, nil, refuse(i, at("parts", j, "functionResponse", "response"), "a response is an object")
			}
			answers = append(answers, answer)
		}
	}
	return calls, answers, nil
}

// countOf counts the kinds of data of a part.
func countOf(p map[string]any) int {
	n := 0
	for _, name := range geminiData {
		if p[name] != nil {
			n++
		}
	}
	return n
}

// geminiAnswers checks that the content after calls answers them.
func geminiAnswers(i int, calls, answers [][]map[string]any) error {
	if len(answers[i]) > 0 && (i == 0 || len(calls[i-1]) == 0) {
		// API: Please ensure that function response turn comes immediately after a function call turn.
		return refuse(i, "parts", "responses follow the content with their calls")
	}
	if len(calls[i]) == 0 {
		return nil
	}
	var next []map[string]any
	if i+1 < len(answers) {
		next = answers[i+1]
	}
	if len(next) != len(calls[i]) {
		// API: Please ensure that the number of function response parts is equal to the number
		// of function call parts of the function call turn.
		return refuse(i, "parts", "the next content has as many responses as there are calls", len(next), " for ", len(calls[i]))
	}
	left := slices.Clone(next)
	for _, call := range calls[i] {
		// spec: FunctionResponse: name matches the call's, and so does id if there is one.
		at := slices.IndexFunc(left, func(a map[string]any) bool {
			return str(a, "name") == str(call, "name") && str(a, "id") == str(call, "id")
		})
		if at < 0 {
			return refuse(i+1, "parts", "a response has name and id of its call", str(call, "name"))
		}
		left = slices.Delete(left, at, at+1)
	}
	return nil
}
