package message

import "fmt"

// Tool is a tool that a body declares.
type Tool struct {
	// Name is the name. It is empty for a tool of the API itself that is only switched on.
	Name string
	// Description says what the tool does.
	Description string
	// Schema is the JSON Schema of the arguments, as JSON. It is empty if there is none.
	Schema string

	raw  string
	form Form // FormAny if only its type is known
	// more is true for the tools after the first that stand in one object of Gemini.
	more bool
}

// Raw returns the JSON of the tool as it came, empty for a new one.
func (t *Tool) Raw() string { return t.raw }

// readTools reads the tools of a body.
func readTools(n *node) (tools []Tool, err error) {
	if n.kind() != '[' {
		return nil, inside("tools", wrong(n.raw, "a list of tools"))
	}
	t, err := parse(`{"content":` + n.raw + `}`)
	if err != nil {
		return nil, inside("tools", err)
	}
	for i := t.nodes[t.nodes[0].kid].kid; i != none; i = t.nodes[i].next {
		if t.nodes[i].kind() != '{' {
			return nil, inside("tools", indexed(len(tools), wrong(t.nodes[i].raw, "an object")))
		}
		more, err := t.tools(i)
		if err != nil {
			return nil, inside("tools", indexed(len(tools), err))
		}
		tools = append(tools, more...)
	}
	return tools, nil
}

// tools reads one object of the list of tools. Only that of Gemini has several.
func (t *tree) tools(i int32) ([]Tool, error) {
	if declarations := t.index(i, "functionDeclarations", "function_declarations"); declarations != none {
		return geminiTools(&t.nodes[declarations])
	}
	at, form := i, FormAny
	switch {
	case t.index(i, "input_schema") != none:
		form = FormAnthropic
	case t.index(i, "function") != none && t.nodes[t.index(i, "function")].kind() == '{':
		at, form = t.index(i, "function"), FormOpenAI
	case t.some(i, "type") == "function":
		form = FormResponses
	}
	tool := Tool{Name: t.some(at, "name"), Description: t.some(at, "description"), raw: t.nodes[i].raw, form: form}
	if schema := t.index(at, "parameters", "input_schema"); schema != none {
		tool.Schema = t.nodes[schema].raw
	}
	return []Tool{tool}, nil
}

func geminiTools(n *node) (tools []Tool, err error) {
	if n.kind() != '[' {
		return nil, inside(n.name, wrong(n.raw, "a list of declarations"))
	}
	t, err := parse(`{"content":` + n.raw + `}`)
	if err != nil {
		return nil, inside(n.name, err)
	}
	for i := t.nodes[t.nodes[0].kid].kid; i != none; i = t.nodes[i].next {
		tool := Tool{Name: t.some(i, "name"), Description: t.some(i, "description"), raw: t.nodes[i].raw, form: FormGemini, more: len(tools) > 0}
		if tool.Name == "" {
			return nil, inside(n.name, indexed(len(tools), fmt.Errorf("name: missing: %w", ErrInvalid)))
		}
		if schema := t.index(i, "parameters", "parametersJsonSchema", "parameters_json_schema"); schema != none {
			tool.Schema = t.nodes[schema].raw
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// ForeignTool finds the first tool of a JSON list that is written for another API than form. It
// returns its place in the list and that API. ok is false if there is none, or if raw is no list
// of tools. A tool of an API itself, of which only the type is known, is never found.
func ForeignTool(raw string, form Form) (index int, of Form, ok bool) {
	t, err := parse(`{"content":` + raw + `}`)
	if err != nil || form == FormAny {
		return 0, FormAny, false
	}
	for i := t.nodes[t.nodes[0].kid].kid; i != none; i = t.nodes[i].next {
		if t.nodes[i].kind() != '{' {
			return 0, FormAny, false
		}
		tools, err := t.tools(i)
		if err != nil {
			return 0, FormAny, false
		}
		for j := range tools {
			if of := tools[j].form; of != FormAny && of != form {
				return index, of, true
			}
		}
		index++
	}
	return 0, FormAny, false
}
