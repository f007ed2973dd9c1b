package message

import (
	"fmt"
	"slices"
	"strings"
)

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
	// strict is true if the arguments must be as the schema says, for OpenAI.
	strict bool
	// beside is a member beside the declarations of an object of Gemini, such as googleSearch.
	beside string
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
		tools, err := geminiTools(&t.nodes[declarations])
		if len(tools) == 0 && err == nil {
			tools = []Tool{{raw: t.nodes[i].raw}}
		}
		for _, n := range t.kids(i) {
			if n.at != t.nodes[declarations].at && len(tools) > 0 && n.raw != "null" {
				tools[0].beside = n.name
			}
		}
		return tools, err
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
	if strict := t.member(at, "strict"); strict != nil && form != FormAnthropic {
		tool.strict = strict.raw == "true"
	}
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

// ConvertTools writes the tools of a JSON list that are written for another API in the form to.
// All others stay byte for byte, and so does a tool that cannot be converted without loss: left has
// an error for each, which names the tool and the member. A tool of an API itself, of which only
// the type is known, always stays. raw is returned as it is if it is no list of tools.
func ConvertTools(raw string, to Form) (out string, left []error) {
	t, err := parse(`{"content":` + raw + `}`)
	if err != nil || to == FormAny || t.nodes[t.nodes[0].kid].kind() != '[' {
		return raw, nil
	}
	var list, declared []string
	first, index, changed := 0, 0, false
	for i := t.nodes[t.nodes[0].kid].kid; i != none; i = t.nodes[i].next {
		texts, err := t.foreignTool(i, to)
		switch {
		case err != nil:
			left = append(left, inside("tools", indexed(index, err)))
			list = append(list, t.nodes[i].raw)
		case texts == nil:
			list = append(list, t.nodes[i].raw)
		case to == FormGemini: // which takes one object with all declarations
			if changed = true; declared == nil {
				first = len(list)
			}
			declared = append(declared, texts...)
		default:
			list, changed = append(list, texts...), true
		}
		index++
	}
	if !changed {
		return raw, left
	}
	if declared != nil {
		list = slices.Insert(list, first, `{"functionDeclarations":[`+strings.Join(declared, ",")+"]}")
	}
	return "[" + strings.Join(list, ",") + "]", left
}

// foreignTool converts one object of a list of tools. It returns nil for one that stays.
func (t *tree) foreignTool(i int32, to Form) (texts []string, err error) {
	if t.nodes[i].kind() != '{' {
		return nil, nil
	}
	tools, err := t.tools(i)
	if err != nil || len(tools) == 0 || tools[0].form == FormAny || tools[0].form == to {
		return nil, nil // the API says what is wrong
	}
	for j := range tools {
		w := &writer{form: to, from: tools[j].form, index: -1}
		text, err := w.convertTool(&tools[j])
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}
