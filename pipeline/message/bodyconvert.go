package message

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Convert returns the body for another API: its instructions, messages and tools, and the
// settings that both APIs have. See [Convert] for messages. An error wraps [ErrLoss] and names
// the member. Names of models are kept, except for Gemini, whose address names the model.
func (b *Body) Convert(to Form) (*Body, error) {
	out, _, err := b.convert(to, false)
	return out, err
}

// Lossy does what Convert does, and leaves out what the other API has no place for. It returns
// one line for each thing that is missing now.
func (b *Body) Lossy(to Form) (*Body, []string, error) { return b.convert(to, true) }

func (b *Body) convert(to Form, lossy bool) (*Body, []string, error) {
	if to == b.Form {
		out := *b
		out.Messages = CloneList(b.Messages)
		return &out, nil, nil
	}
	messages, lines, err := convert(b.Messages, b.Form, to, lossy)
	if err != nil {
		return nil, nil, fmt.Errorf("body: %w", b.InPlace(err, 0))
	}
	before := b.slotsBefore()
	for i := range lines {
		lines[i] = b.pathOf(lines[i], before, 0)
	}
	w := &writer{form: to, from: b.Form, lossy: lossy, index: -1}
	settings, err := w.settings(b)
	if err != nil {
		return nil, nil, fmt.Errorf("body: %w", err)
	}
	tools, err := w.convertTools(b.Tools)
	if err != nil {
		return nil, nil, fmt.Errorf("body: %w", err)
	}
	doc := "{" + strings.Join(append(append(settings, quote(listName(to))+":[]"), tools...), ",") + "}"
	if b.top == nil {
		doc = "[]"
	}
	out, err := DecodeBody([]byte(doc), to)
	if err != nil {
		return nil, nil, err
	}
	data, err := out.Append(nil, messages)
	if err != nil {
		return nil, nil, err
	}
	for _, err := range w.left {
		lines = append(lines, leftOut(err))
	}
	out, err = DecodeBody(data, to)
	return out, lines, err
}

// InPlace makes the path of an error of [Check], which begins with an index in Messages, the one in
// the document: system[0] instead of messages[0].content[0]. The list that was checked lacks so many messages that
// follow the instructions. It returns the error, which may be nil.
func (b *Body) InPlace(err error, lacks int) error {
	var inner *pathError
	if errors.As(err, &inner) {
		inner.path = b.pathOf(inner.path, b.slotsBefore(), lacks)
	}
	return err
}

// slotsBefore returns, for each message, how many messages before it stand in a member of their own.
func (b *Body) slotsBefore() []int {
	before, n := make([]int, len(b.Messages)), 0
	for i := range b.Messages {
		before[i] = n
		if o := b.Messages[i].origin; o != nil && o.slot != 0 {
			n++
		}
	}
	return before
}

// pathOf returns a text that begins with an index in Messages, such as messages[0].content[1], with
// the place in the document, such as system[1]. before is what slotsBefore returns; lacks is that of InPlace.
func (b *Body) pathOf(text string, before []int, lacks int) string {
	rest, ok := strings.CutPrefix(text, "messages[")
	number, rest, closed := strings.Cut(rest, "]")
	i, err := strconv.Atoi(number)
	if own, _ := b.Split(); i >= len(own) && i+lacks >= len(own) {
		i += lacks
	}
	if !ok || !closed || err != nil || i < 0 || i >= len(b.Messages) || b.top == nil {
		return text
	}
	o := b.Messages[i].origin
	if o == nil || o.slot == 0 {
		return fmt.Sprintf("%s[%d]%s", cmp.Or(b.list.name, listName(b.Form)), i-before[i], rest)
	}
	for _, n := range b.top.kids(0) {
		if n.at == o.at {
			return n.name + strings.TrimPrefix(rest, ".content")
		}
	}
	return text
}

// DefaultMaxOutputTokens is the number of tokens that an answer may have at most, for an API that
// demands one, if the request states none.
const DefaultMaxOutputTokens = 4096

// setting is a setting that several APIs have, by the name that each gives it. Gemini's stand in
// generationConfig.
type setting map[Form]string

// settings are known settings. Their values are the same in all APIs.
var settings = []setting{
	{FormAnthropic: "model", FormOpenAI: "model", FormResponses: "model"},
	{FormAnthropic: "stream", FormOpenAI: "stream", FormResponses: "stream"},
	{FormAnthropic: "temperature", FormOpenAI: "temperature", FormResponses: "temperature", FormGemini: "temperature"},
	{FormAnthropic: "top_p", FormOpenAI: "top_p", FormResponses: "top_p", FormGemini: "topP"},
	{FormAnthropic: "top_k", FormGemini: "topK"},
	{FormAnthropic: "max_tokens", FormOpenAI: "max_completion_tokens", FormResponses: "max_output_tokens", FormGemini: "maxOutputTokens"},
	{FormAnthropic: "max_tokens", FormOpenAI: "max_tokens", FormResponses: "max_output_tokens", FormGemini: "maxOutputTokens"},
	{FormAnthropic: "stop_sequences", FormGemini: "stopSequences"},
}

// settings returns the members of a body that are neither messages nor tools, in another form.
func (w *writer) settings(b *Body) (members []string, err error) {
	if b.top == nil {
		return nil, nil
	}
	for i := b.top.nodes[0].kid; i != none; i = b.top.nodes[i].next {
		n := &b.top.nodes[i]
		switch n.name {
		case "messages", "input", "contents", "tools", "system", "instructions", "systemInstruction", "system_instruction":
			continue
		case "generationConfig", "generation_config":
			t, err := parse(wrapper + n.raw + "}")
			if err != nil {
				return nil, err
			}
			for _, kid := range t.kids(t.nodes[0].kid) {
				if members, err = w.setting(members, &kid, n.name+"."); err != nil {
					return nil, err
				}
			}
		default:
			if members, err = w.setting(members, n, ""); err != nil {
				return nil, err
			}
		}
	}
	if w.form == FormAnthropic && has(members, "model") && !has(members, "max_tokens") {
		members = append(members, fmt.Sprintf(`"max_tokens":%d`, DefaultMaxOutputTokens))
	}
	if w.form == FormGemini && len(members) > 0 {
		members = []string{`"generationConfig":{` + strings.Join(members, ",") + "}"}
	}
	return members, nil
}

// has reports whether one of the members has a name.
func has(members []string, name string) bool {
	return slices.ContainsFunc(members, func(m string) bool { return strings.HasPrefix(m, quote(name)+":") })
}

// setting appends one setting. Those that stand in an object of their own are Gemini's.
func (w *writer) setting(members []string, n *node, path string) ([]string, error) {
	for _, s := range settings {
		if name := s[w.form]; s[w.from] == n.name && name != "" && (path != "") == (w.from == FormGemini) && !has(members, name) {
			if degrees, err := strconv.ParseFloat(n.raw, 64); name == "temperature" && w.form == FormAnthropic && (err != nil || degrees > 1) && n.raw != "null" {
				return members, w.lose(path+n.name, n.raw+" (the form anthropic has 0 to 1)")
			}
			return append(members, quote(name)+":"+n.raw), nil
		}
	}
	return members, w.loseMember(n, path, nil)
}

// geminiTypes finds the names that Gemini has for the types of JSON Schema.
var geminiTypes = regexp.MustCompile(`"type"\s*:\s*"[A-Z]`)

// toolMembers are the members of a tool that are known.
var toolMembers = []string{"type", "name", "description", "input_schema", "function", "parameters", "parametersJsonSchema", "parameters_json_schema"}

// convertTools returns the member with the tools.
func (w *writer) convertTools(tools []Tool) ([]string, error) {
	var list []string
	for i := range tools {
		w.path = append(w.path[:0], step{"tools", i})
		text, err := w.convertTool(&tools[i])
		w.path = w.path[:0]
		if err != nil {
			return nil, err
		}
		if text != "" {
			list = append(list, text)
		}
	}
	text := strings.Join(list, ",")
	switch {
	case len(list) == 0:
		return nil, nil
	case w.form == FormGemini:
		text = `{"functionDeclarations":[` + text + "]}"
	}
	return []string{`"tools":[` + text + "]"}, nil
}

func (w *writer) convertTool(t *Tool) (string, error) {
	if t.form == FormAny {
		return "", w.lose("", "a tool of the API itself")
	}
	if t.Name == "" {
		return "", w.lose("name", "missing")
	}
	if t.beside != "" {
		if err := w.loseUnknown(t.beside); err != nil {
			return "", err
		}
	}
	node, err := parse(t.raw)
	if err != nil {
		return "", err
	}
	known := toolMembers
	if t.form != FormAnthropic && (w.form == FormOpenAI || w.form == FormResponses) {
		known = append(known[:len(known):len(known)], "strict")
	}
	for _, n := range node.kids(0) {
		if err := w.loseMember(&n, "", known); err != nil {
			return "", err
		}
		for _, kid := range node.kids(node.index(0, "function")) {
			if err := w.loseMember(&kid, "function.", known); err != nil {
				return "", err
			}
		}
	}
	if t.form == FormGemini && geminiTypes.MatchString(t.Schema) {
		return "", w.lose("parameters", "its types are not those of JSON Schema")
	}
	return w.newTool(t), nil
}

// newTool writes a tool.
func (w *writer) newTool(t *Tool) string {
	out := `"name":` + quote(t.Name)
	if t.Description != "" {
		out += `,"description":` + quote(t.Description)
	}
	member := map[Form]string{FormAnthropic: "input_schema", FormGemini: "parametersJsonSchema"}[w.form]
	if member == "" {
		member = "parameters"
	}
	switch {
	case t.Schema != "":
		out += `,"` + member + `":` + t.Schema
	case w.form == FormAnthropic:
		out += `,"input_schema":{"type":"object"}`
	}
	switch w.form {
	case FormOpenAI:
		if t.strict {
			out += `,"strict":true`
		}
		return `{"type":"function","function":{` + out + "}}"
	case FormResponses: // where schemas are strict unless the tool says otherwise
		return `{"type":"function",` + out + fmt.Sprintf(`,"strict":%v}`, t.strict)
	}
	return "{" + out + "}"
}
