package message

import (
	"fmt"
	"strings"
)

// render writes a part as a new one, without regard to its JSON. nested is the JSON of its
// parts. The result is empty if the part was left out.
func (w *writer) render(p *Part, role Role, nested string) (string, error) {
	switch p.Kind {
	case Text:
		return w.renderText(p, role), nil
	case Refusal:
		return w.renderRefusal(p, role)
	case Image, Document, Audio:
		if p.Media == nil {
			return "", w.fail("", fmt.Errorf("%s without Media: %w", p.Kind, ErrInvalid))
		}
		return w.renderMedia(p, nested)
	case ToolCall:
		return w.renderCall(p)
	case ToolResult:
		return w.renderResult(p, nested)
	}
	return "", w.loseKind(p)
}

func (w *writer) renderText(p *Part, role Role) string {
	switch {
	case w.form == FormGemini:
		return `{"text":` + p.spelled() + `}`
	case w.form != FormResponses:
		return `{"type":"text","text":` + p.spelled() + `}`
	case role == RoleAssistant:
		return `{"type":"output_text","text":` + p.spelled() + `,"annotations":[]}`
	}
	return `{"type":"input_text","text":` + p.spelled() + `}`
}

func (w *writer) renderRefusal(p *Part, role Role) (string, error) {
	if role == RoleAssistant && (w.form == FormOpenAI || w.form == FormResponses) {
		return `{"type":"refusal","refusal":` + p.spelled() + `}`, nil
	}
	return "", w.loseKind(p)
}

// arguments returns the arguments of a call as a JSON object, for forms that take nothing else.
func (w *writer) arguments(p *Part, member string) (string, error) {
	switch {
	case p.Arguments == "":
		return "{}", nil
	case isObject(p.Arguments):
		return p.Arguments, nil
	}
	return "{}", w.lose(member, fmt.Sprintf("%.40q is not a JSON object", p.Arguments))
}

func (w *writer) renderCall(p *Part) (string, error) {
	switch w.form {
	case FormAnthropic:
		input, err := w.arguments(p, "input")
		return `{"type":"tool_use","id":` + quote(p.ID) + `,"name":` + quote(p.Name) + `,"input":` + input + `}`, err
	case FormGemini:
		args, err := w.arguments(p, "args")
		return `{"functionCall":{` + idMember(p) + `"name":` + quote(p.Name) + `,"args":` + args + `}}`, err
	}
	arguments := p.Arguments
	if arguments == "" {
		arguments = "{}"
	}
	if w.form == FormResponses {
		return `{"type":"function_call","call_id":` + quote(p.ID) + `,"name":` + quote(p.Name) + `,"arguments":` + quote(arguments) + `}`, nil
	}
	return `{"id":` + quote(p.ID) + `,"type":"function","function":{"name":` + quote(p.Name) + `,"arguments":` + quote(arguments) + `}}`, nil
}

// idMember returns the member for an id that may be absent.
func idMember(p *Part) string {
	if p.ID == "" {
		return ""
	}
	return `"id":` + quote(p.ID) + `,`
}

func (w *writer) renderResult(p *Part, nested string) (string, error) {
	if p.Failed && (w.form == FormOpenAI || w.form == FormResponses) {
		if err := w.loseUnknown("is_error"); err != nil {
			return "", err
		}
	}
	switch w.form {
	case FormAnthropic:
		out := `{"type":"tool_result","tool_use_id":` + quote(p.ID)
		if len(p.Parts) > 0 {
			out += `,"content":` + nested
		}
		if p.Failed {
			out += `,"is_error":true`
		}
		return out + "}", nil
	case FormResponses:
		return `{"type":"function_call_output","call_id":` + quote(p.ID) + `,"output":` + nested + `}`, nil
	case FormGemini:
		name := p.Name
		if name == "" {
			name = w.tools[p.ID]
		}
		if name == "" {
			return "", w.fail("name", fmt.Errorf("missing: %w (the form gemini names the tool of each result, and no call before it has the id %.100q)", ErrInvalid, p.ID))
		}
		return `{"functionResponse":{` + idMember(p) + `"name":` + quote(name) + `,"response":` + w.response(p) + `}}`, nil
	}
	return `{"role":"tool","tool_call_id":` + quote(p.ID) + `,"content":` + nested + `}`, nil
}

// response returns the contents of a result as the JSON object that Gemini demands: the text
// itself if it is one, or the text as the member output or error.
func (w *writer) response(p *Part) string {
	text := TextOf(p.Parts)
	switch {
	case p.Failed:
		return `{"error":` + quote(text) + `}`
	case isObject(text):
		if name, _, _ := outcome(text); name == "" {
			return text
		}
	}
	if len(p.Parts) == 1 && p.Parts[0].Kind == Text {
		return `{"output":` + p.Parts[0].spelled() + `}`
	}
	return `{"output":` + quote(text) + `}`
}

// renderMedia writes an image, a document or sound.
func (w *writer) renderMedia(p *Part, nested string) (string, error) {
	m := p.Media
	if m.FileID != "" && m.Data == "" && m.URL == "" && p.place != 0 && (p.place == inAnthropic) != (w.form == FormAnthropic) {
		return "", w.lose("file_id", "the file is stored at another API")
	}
	if m.Detail != "" && m.Detail != "auto" && (w.form == FormAnthropic || w.form == FormGemini) {
		if err := w.loseUnknown("detail"); err != nil {
			return "", err
		}
	}
	switch w.form {
	case FormAnthropic:
		return w.anthropicMedia(p, nested)
	case FormGemini:
		return w.geminiMedia(p)
	case FormResponses:
		return w.responsesMedia(p)
	}
	return w.openAIMedia(p)
}

func (w *writer) anthropicMedia(p *Part, nested string) (string, error) {
	m := p.Media
	source := ""
	switch {
	case p.Kind == Audio:
		return "", w.loseKind(p)
	case m.Data != "":
		source = `{"type":"base64","media_type":` + quote(m.Type) + `,"data":` + quote(m.Data) + `}`
	case m.URL != "":
		source = `{"type":"url","url":` + quote(m.URL) + `}`
	case m.FileID != "":
		source = `{"type":"file","file_id":` + quote(m.FileID) + `}`
	case p.Kind == Document && len(p.Parts) > 0:
		source = `{"type":"content","content":` + nested + `}`
	case p.Kind == Document:
		source = `{"type":"text","media_type":"text/plain","data":` + quote(m.Text) + `}`
	default:
		return "", w.empty()
	}
	out := `{"type":` + quote(string(p.Kind)) + `,"source":` + source
	if m.Title != "" && p.Kind == Document {
		out += `,"title":` + quote(m.Title)
	}
	return out + "}", nil
}

// empty is the error of a medium without content.
func (w *writer) empty() error {
	return w.fail("", fmt.Errorf("no data, no address and no file: %w", ErrInvalid))
}

// dataURL returns the content as an address.
func (m *Media) dataURL() string { return "data:" + m.Type + ";base64," + m.Data }

func (w *writer) openAIMedia(p *Part) (string, error) {
	m := p.Media
	switch {
	case p.Kind == Image && (m.Data != "" || m.URL != ""):
		url, detail := m.URL, ""
		if m.Data != "" {
			url = m.dataURL()
		}
		if m.Detail != "" {
			detail = `,"detail":` + quote(m.Detail)
		}
		return `{"type":"image_url","image_url":{"url":` + quote(url) + detail + `}}`, nil
	case p.Kind == Audio && m.Data != "":
		return `{"type":"input_audio","input_audio":{"data":` + quote(m.Data) + `,"format":` + quote(strings.TrimPrefix(m.Type, "audio/")) + `}}`, nil
	case p.Kind == Document && m.Data != "":
		return `{"type":"file","file":{` + titleMember("filename", m) + `"file_data":` + quote(m.dataURL()) + `}}`, nil
	case p.Kind == Document && m.FileID != "":
		return `{"type":"file","file":{"file_id":` + quote(m.FileID) + `}}`, nil
	}
	return "", w.loseKind(p)
}

// titleMember returns the member for a title that may be absent.
func titleMember(name string, m *Media) string {
	if m.Title == "" {
		return ""
	}
	return quote(name) + ":" + quote(m.Title) + ","
}

func (w *writer) responsesMedia(p *Part) (string, error) {
	m := p.Media
	kind, url, data := "input_image", "image_url", "image_url"
	if p.Kind == Document {
		kind, url, data = "input_file", "file_url", "file_data"
	}
	source := ""
	switch {
	case p.Kind == Audio || m.Text != "" || len(p.Parts) > 0:
		return "", w.loseKind(p)
	case m.Data != "":
		source = quote(data) + ":" + quote(m.dataURL())
	case m.URL != "":
		source = quote(url) + ":" + quote(m.URL)
	case m.FileID != "":
		source = `"file_id":` + quote(m.FileID)
	default:
		return "", w.empty()
	}
	out := `{"type":"` + kind + `",` + titleMember("filename", m) + source
	if m.Detail != "" {
		out += `,"detail":` + quote(m.Detail)
	}
	return out + "}", nil
}

func (w *writer) geminiMedia(p *Part) (string, error) {
	m := p.Media
	switch {
	case m.Data != "" && m.Type != "":
		return `{"inlineData":{"mimeType":` + quote(m.Type) + `,` + titleMember("displayName", m) + `"data":` + quote(m.Data) + `}}`, nil
	case m.URL != "":
		kind := ""
		if m.Type != "" {
			kind = `"mimeType":` + quote(m.Type) + `,`
		}
		return `{"fileData":{` + kind + titleMember("displayName", m) + `"fileUri":` + quote(m.URL) + `}}`, nil
	}
	return "", w.loseKind(p)
}
