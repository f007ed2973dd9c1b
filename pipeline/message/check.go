package message

import (
	"fmt"
	"strconv"
	"strings"
)

// Check returns an error for what an API refuses in a list of messages, whatever model answers:
//
//   - a call without its result, a result without its call, two of the same id, a call or a
//     result in a message of the wrong role, and anything between calls and their results;
//   - a message without content, and in the form of Anthropic a text of white space;
//   - a call without a name, or whose arguments are not an object where the API takes nothing
//     else;
//   - an image, a document or sound whose data is not base64;
//   - half of a character, see [HalfCharacter].
//
// The error names the message and the member. FormAny means that of [FormOf]. Parts of unknown
// kinds are not looked into. A result after a reference to an item that the API has stored can answer
// that item. A list that continues a response which the API has stored can have results whose calls
// are stored there; Check refuses it.
func Check(messages []Message, form Form) error {
	if form == FormAny {
		form = FormOf(messages)
	}
	c := &checker{form: form, last: len(messages) - 1, calls: make(map[string]int), done: make(map[string]bool)}
	for i := range messages {
		if err := c.message(i, &messages[i]); err != nil {
			return inside("messages", indexed(i, err))
		}
	}
	if err := c.closed(); err != nil {
		return err
	}
	return HalfCharacter(messages)
}

// HalfCharacter returns an error for the first message whose JSON has half of a character, such as
// "\ud83d" without what follows it. No API takes it, because it cannot be written in UTF-8.
func HalfCharacter(messages []Message) error {
	for i := range messages {
		if half := lone(messages[i].Raw()); half != "" {
			return inside("messages", indexed(i, fmt.Errorf("%s is half of a character: %w (write both halves, or remove it)", half, ErrInvalid)))
		}
	}
	return nil
}

// lone returns the first escape of JSON that is half of a character, or "".
func lone(raw string) string {
	open := "" // the first half, whose second one must follow
	for raw != "" {
		i := strings.IndexByte(raw, '\\')
		if open != "" && i != 0 {
			return open
		}
		if i < 0 || i+2 > len(raw) {
			break
		}
		if raw = raw[i:]; raw[1] != 'u' || len(raw) < 6 {
			if open != "" {
				return open
			}
			raw = raw[2:]
			continue
		}
		code, err := strconv.ParseUint(raw[2:6], 16, 16)
		escape := raw[:6]
		raw = raw[6:]
		second := err == nil && code >= 0xDC00 && code < 0xE000
		switch {
		case open != "" && !second:
			return open
		case open == "" && second:
			return escape
		case open != "":
			open = ""
		case err == nil && code >= 0xD800 && code < 0xDC00:
			open = escape
		}
	}
	return open
}

// checker checks a list from its beginning.
type checker struct {
	form Form
	last int // the index of the last message
	// calls has the index of the message of each call that has no result yet, by id. Calls of
	// Gemini without an id are counted by name.
	calls   map[string]int
	unnamed map[string]int
	order   []string // the ids of calls, in order
	done    map[string]bool
	user    bool // the turn before is one of the user
	refers  bool // the list refers to items that the API has stored, which can be calls
}

// list is the member with the parts.
func (c *checker) list() string {
	if c.form == FormGemini {
		return "parts"
	}
	return "content"
}

func (c *checker) message(i int, m *Message) error {
	if !m.Role.Valid() {
		return inside("role", fmt.Errorf("%.100q: %w (want user, assistant, system, developer or tool)", m.Role, ErrInvalid))
	}
	lastOfModel := c.form == FormAnthropic && m.Role == RoleAssistant && i == c.last
	if len(m.Parts) == 0 && len(m.Others()) == 0 && !lastOfModel {
		return inside(c.list(), fmt.Errorf("empty: %w", ErrInvalid))
	}
	if err := c.between(m); err != nil {
		return err
	}
	c.refers = c.refers || m.Refers()
	results := true
	for j := range m.Parts {
		p := &m.Parts[j]
		if p.Kind != ToolResult {
			results = false
		} else if !results && c.form == FormAnthropic {
			return c.at(m, j, fmt.Errorf("a result after other content: %w", ErrInvalid))
		}
		if err := c.part(i, m, p); err != nil {
			return c.at(m, j, err)
		}
	}
	if !m.Instructs() {
		c.user = m.Role != RoleAssistant
	}
	return nil
}

// at adds the place of a part to an error. Where a form keeps calls and results outside of the
// content, the place says so.
func (c *checker) at(m *Message, j int, err error) error {
	kind := m.Parts[j].Kind
	switch {
	case kind != ToolCall && kind != ToolResult, c.form == FormAnthropic, c.form == FormGemini:
		return inside(c.list(), indexed(j, err))
	case c.form == FormOpenAI && kind == ToolCall:
		k := 0
		for i := range j {
			if m.Parts[i].Kind == ToolCall {
				k++
			}
		}
		return inside("tool_calls", indexed(k, err))
	}
	return err // members of the message or item itself
}

// names are the members of a call and of a result, as a form has them.
type names struct{ call, name, arguments, result string }

var namesOf = map[Form]names{
	FormAnthropic: {"id", "name", "input", "tool_use_id"},
	FormOpenAI:    {"id", "function.name", "function.arguments", "tool_call_id"},
	FormResponses: {"call_id", "name", "arguments", "call_id"},
	FormGemini:    {"functionCall.id", "functionCall.name", "functionCall.args", "functionResponse.id"},
}

// between refuses a message between calls and their results.
func (c *checker) between(m *Message) error {
	if len(c.order) == 0 || c.form == FormResponses || len(m.Results()) > 0 {
		return nil
	}
	if m.Role == RoleAssistant && c.form != FormOpenAI && !c.user {
		return nil // the API takes both as one turn
	}
	return c.closed()
}

// closed fails if a call has no result.
func (c *checker) closed() error {
	for _, id := range c.order {
		if i, open := c.calls[id]; open {
			err := fmt.Errorf("the call %.100q has no result after it: %w", id, ErrInvalid)
			path := fmt.Sprintf("messages[%d].%s", i, c.list())
			switch c.form {
			case FormOpenAI:
				path = fmt.Sprintf("messages[%d].tool_calls", i)
			case FormResponses:
				path = fmt.Sprintf("messages[%d]", i)
			}
			return &pathError{path: path, err: err, whole: true}
		}
	}
	c.order = c.order[:0]
	return nil
}

func (c *checker) part(i int, m *Message, p *Part) error {
	switch p.Kind {
	case Text:
		if c.form == FormAnthropic && strings.TrimSpace(p.Text) == "" && (i != c.last || m.Role != RoleAssistant) {
			return inside("text", fmt.Errorf("empty: %w", ErrInvalid))
		}
	case ToolCall:
		return c.call(i, m, p)
	case ToolResult:
		if err := c.result(m, p); err != nil {
			return err
		}
		for j := range p.Parts {
			if err := c.media(&p.Parts[j]); err != nil {
				return inside("content", indexed(j, err))
			}
		}
	}
	return c.media(p)
}

// key is what a result names its call by.
func (c *checker) key(p *Part) string {
	if p.ID == "" && c.form == FormGemini {
		return "name " + p.Name
	}
	return p.ID
}

func (c *checker) call(i int, m *Message, p *Part) error {
	key, names := c.key(p), namesOf[c.form]
	switch _, open := c.calls[key]; {
	case m.Role != RoleAssistant:
		return fmt.Errorf("a call in a message of the role %s: %w", m.Role, ErrInvalid)
	case key == "":
		return inside(names.call, fmt.Errorf("missing: %w", ErrInvalid))
	case p.Name == "":
		return inside(names.name, fmt.Errorf("missing: %w", ErrInvalid))
	case open && p.ID != "" || c.done[key] && c.form == FormAnthropic:
		return inside(names.call, fmt.Errorf("%.100q: %w (a call before it has the same)", p.ID, ErrInvalid))
	case (c.form == FormAnthropic || c.form == FormGemini) && p.Arguments != "" && !isObject(p.Arguments):
		return inside(names.arguments, fmt.Errorf("%.40q: %w (want a JSON object)", p.Arguments, ErrInvalid))
	case open:
		c.repeat(key, 1)
		return nil
	}
	delete(c.done, key)
	c.calls[key] = i
	c.order = append(c.order, key)
	return nil
}

// repeat counts further calls of a tool that have no ids.
func (c *checker) repeat(key string, n int) {
	if c.unnamed == nil {
		c.unnamed = make(map[string]int)
	}
	c.unnamed[key] += n
}

func (c *checker) result(m *Message, p *Part) error {
	key := c.key(p)
	_, open := c.calls[key]
	switch {
	case m.Role != RoleUser && m.Role != RoleTool:
		return fmt.Errorf("a result in a message of the role %s: %w", m.Role, ErrInvalid)
	case key == "" && p.Name != "" && c.form == FormOpenAI:
		return nil // the result of a function, from before there were tools
	case !open && c.done[key]:
		return inside(namesOf[c.form].result, fmt.Errorf("%.100q: %w (a result before it has the same)", key, ErrInvalid))
	case !open && c.form == FormResponses && c.refers && key != "":
		c.done[key] = true
		return nil
	case !open:
		return inside(namesOf[c.form].result, fmt.Errorf("no call before has the id %.100q: %w", key, ErrInvalid))
	case c.unnamed[key] > 0:
		c.repeat(key, -1)
		return nil
	}
	delete(c.calls, key)
	c.done[key] = true
	return nil
}

// media checks that an image or sound has content, and that the data of one or of a document is
// base64.
func (c *checker) media(p *Part) error {
	if m := p.Media; (p.Kind == Image || p.Kind == Audio) && (m == nil || m.Data == "" && m.URL == "" && m.FileID == "") {
		return fmt.Errorf("the %s has no data, address or file: %w", p.Kind, ErrInvalid)
	}
	if p.Media == nil || p.Media.Data == "" || isBase64(p.Media.Data) {
		return nil
	}
	return inside("data", fmt.Errorf("%.20q: %w (want base64)", p.Media.Data, ErrInvalid))
}

// isBase64 reports whether a text is base64 without line breaks, in the alphabet of mail or of
// addresses. The = at its end may be missing.
func isBase64(text string) bool {
	body := strings.TrimRight(text, "=")
	if len(body)%4 == 1 || len(text)-len(body) > 2 {
		return false
	}
	for i := range len(body) {
		if !base64Digits[body[i]] {
			return false
		}
	}
	return true
}

// base64Digits has the digits of both alphabets.
var base64Digits = func() (digits [256]bool) {
	for c := range 256 {
		digits[c] = 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
	}
	return digits
}()
