package format

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Gemini formats for the Gemini API of Google. Its output is a [*GeminiOutput].
type Gemini struct {
	// Params are what the body states besides the window. The API takes the model in the
	// address, so the body does not name it.
	Params Params
}

// GeminiOutput is the document that [Gemini] makes.
type GeminiOutput struct {
	// SystemInstruction, Tools and GenerationConfig are left out of the document if they are
	// empty.
	SystemInstruction *GeminiContent    `json:"systemInstruction,omitempty"`
	Contents          []GeminiContent   `json:"contents"`
	Tools             json.RawMessage   `json:"tools,omitempty"`
	GenerationConfig  *GeminiGeneration `json:"generationConfig,omitempty"`
}

// GeminiGeneration bounds the answer, in tokens.
type GeminiGeneration struct {
	MaxOutputTokens int `json:"maxOutputTokens"`
}

// GeminiContent is one message. Its role is "user" or "model", and empty for instructions.
type GeminiContent struct {
	Role string `json:"role,omitempty"`
	// Parts are of the types GeminiText, GeminiCall and GeminiResult, and Whole for
	// what is more than these.
	Parts []any `json:"parts"`
}

// GeminiText is a part with a text.
type GeminiText struct {
	Text string `json:"text"`
}

// GeminiCall is a part with a call of a tool.
type GeminiCall struct {
	FunctionCall struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

// GeminiResult is a part with the result of a tool.
type GeminiResult struct {
	FunctionResponse struct {
		ID       string          `json:"id,omitempty"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

// Append implements [Body].
func (out *GeminiOutput) Append(dst []byte, indent string) ([]byte, error) {
	return appendMembers(dst, indent, member{"systemInstruction", out.SystemInstruction, false}, member{"contents", out.Contents, true},
		member{"tools", out.Tools, false}, member{"generationConfig", out.GenerationConfig, false})
}

// FormatType returns "gemini".
func (Gemini) FormatType() string { return "gemini" }

// Format returns a [*GeminiOutput]: the system prompts as the instruction, then a user content
// with the context, the turns and the query. It merges neighboring contents of equal role. A
// system turn of a conversation becomes a content of the user, because the API has no such
// contents. The results of calls are one content, as the API demands.
func (f Gemini) Format(_ context.Context, w *core.Window) (any, error) {
	s := divide(w)
	out := &GeminiOutput{Contents: []GeminiContent{}, Tools: w.Tools}
	if f.Params.MaxOutputTokens > 0 {
		out.GenerationConfig = &GeminiGeneration{f.Params.MaxOutputTokens}
	}
	if text := s.systemText(); strings.TrimSpace(text) != "" {
		out.SystemInstruction = &GeminiContent{Parts: []any{GeminiText{text}}}
	}
	messages := s.chatMessages(api{form: message.FormGemini, prefix: openAIContext, pairs: true, whole: true})
	var names map[string]string // of the calls of the last message with some, by id
	for i := range messages {
		m := &messages[i]
		if m.whole != nil {
			c := GeminiContent{Role: geminiRole(m.role)}
			for j := range m.whole.Parts {
				c.Parts = append(c.Parts, Whole{JSON: json.RawMessage(m.whole.Parts[j].Raw()), Parts: m.whole.Parts[j : j+1]})
			}
			out.Contents = append(out.Contents, c)
			continue
		}
		if m.result != nil {
			out.addResult(names, m)
			continue
		}
		c := GeminiContent{Role: geminiRole(m.role)}
		if text := m.text(); text != "" {
			c.Parts = append(c.Parts, GeminiText{text})
		}
		if len(m.calls) > 0 {
			names = make(map[string]string, len(m.calls))
		}
		for _, call := range m.calls {
			names[call.ID] = call.Name
			var part GeminiCall
			part.FunctionCall.ID, part.FunctionCall.Name, part.FunctionCall.Args = call.ID, call.Name, inputOf(call)
			c.Parts = append(c.Parts, part)
		}
		out.Contents = append(out.Contents, c)
	}
	out.Contents = joinContents(out.Contents)
	return s.formatted(out), nil
}

// joinContents joins neighboring contents of equal role, because the API wants user and model to
// alternate.
func joinContents(contents []GeminiContent) []GeminiContent {
	out := contents[:0]
	for _, c := range contents {
		if last := len(out) - 1; last >= 0 && out[last].Role == c.Role {
			out[last].Parts = append(out[last].Parts, c.Parts...)
			continue
		}
		out = append(out, c)
	}
	return out
}

func geminiRole(role core.Role) string {
	if role == core.RoleAssistant {
		return "model"
	}
	return string(core.RoleUser)
}

// addResult adds a result to the content of the results of calls, whose names are given by id.
func (out *GeminiOutput) addResult(names map[string]string, m *chatMessage) {
	var part GeminiResult
	r := &part.FunctionResponse
	r.ID, r.Name, r.Response = m.result.ID, m.result.Name, responseOf(m.text())
	if name, ok := names[r.ID]; ok {
		r.Name = name
	}
	last := &out.Contents[len(out.Contents)-1]
	if _, ok := last.Parts[0].(GeminiResult); !ok {
		out.Contents = append(out.Contents, GeminiContent{Role: string(core.RoleUser)})
		last = &out.Contents[len(out.Contents)-1]
	}
	last.Parts = append(last.Parts, part)
}

// responseOf returns the text of a result as the API takes it: an object.
func responseOf(text string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) == nil && object != nil {
		return json.RawMessage(text)
	}
	data, _ := json.Marshal(map[string]string{"output": text}) // cannot fail: it has only strings
	return data
}

// texts counts the instruction and each content as a message, and a part that is no text as its
// JSON text.
func (out *GeminiOutput) texts(message func(core.Role), text func(string), media func(*message.Part)) {
	contents := out.Contents
	if out.SystemInstruction != nil {
		message(core.RoleSystem)
		out.SystemInstruction.texts(text, media)
	}
	for i := range contents {
		message(core.Role(contents[i].Role))
		contents[i].texts(text, media)
	}
}

func (c *GeminiContent) texts(text func(string), media func(*message.Part)) {
	for _, part := range c.Parts {
		if t, ok := part.(GeminiText); ok {
			text(t.Text)
			continue
		}
		if w, ok := part.(Whole); ok {
			w.texts(text, media)
			continue
		}
		if doc, err := json.Marshal(part); err == nil {
			text(string(doc))
		}
	}
}

func (out *GeminiOutput) self() exact { return out }

func (out *GeminiOutput) toolList() json.RawMessage { return out.Tools }

func (out *GeminiOutput) started() bool {
	if len(out.Contents) == 0 {
		return false
	}
	text, ok := out.Contents[0].Parts[0].(GeminiText)
	return ok && text.Text == start
}

func (out *GeminiOutput) contextEnd(s *sections) (text, separator, after string) {
	if t, ok := out.Contents[0].Parts[0].(GeminiText); ok {
		return s.chatEnd(t.Text, openAIContext)
	}
	return "", "", ""
}
