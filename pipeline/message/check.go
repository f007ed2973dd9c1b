package message

import (
	"fmt"
	"strings"
)

// Check returns an error for what an API refuses in a list of messages, whatever model answers:
//
//   - a call without its result, a result without its call, two of the same id, a call or a
//     result in a message of the wrong role, and anything between calls and their results;
//   - a message without content, and in the form of Anthropic a text of white space;
//   - a call without a name, or whose arguments are not an object where the API takes nothing
//     else;
//   - an image, a document or sound whose data is not base64.
//
// The error names the message and the member. FormAny means that of [FormOf]. Parts of unknown
// kinds are not looked into. A list that continues a response which the API has stored can have
// results whose calls are stored there; Check refuses it.
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
	return c.closed()
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
	results := true
	for j := range m.Parts {
		p := &m.Parts[j]
		if p.Kind != ToolResult {
			results = false
		} else if !results && c.form == FormAnthropic {
			return c.at(j, fmt.Errorf("a result after other content: %w", ErrInvalid))
		}
		if err := c.part(i, m, p); err != nil {
			return c.at(j, err)
		}
	}
	if !m.Instructs() {
		c.user = m.Role != RoleAssistant
	}
	return nil
}

// at adds the place of a part to an error.
func (c *checker) at(j int, err error) error { return inside(c.list(), indexed(j, err)) }

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
			return &pathError{path: fmt.Sprintf("messages[%d].%s", i, c.list()), err: err, whole: true}
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
	key := c.key(p)
	switch _, open := c.calls[key]; {
	case m.Role != RoleAssistant:
		return fmt.Errorf("a call in a message of the role %s: %w", m.Role, ErrInvalid)
	case key == "":
		return inside("id", fmt.Errorf("missing: %w", ErrInvalid))
	case p.Name == "":
		return inside("name", fmt.Errorf("missing: %w", ErrInvalid))
	case open && p.ID != "" || c.done[key] && c.form == FormAnthropic:
		return inside("id", fmt.Errorf("%.100q: %w (a call before it has the same)", p.ID, ErrInvalid))
	case c.form == FormAnthropic && p.Arguments != "" && !isObject(p.Arguments):
		return inside("input", fmt.Errorf("%.40q: %w (want a JSON object)", p.Arguments, ErrInvalid))
	case c.form == FormGemini && p.Arguments != "" && !isObject(p.Arguments):
		return inside("args", fmt.Errorf("%.40q: %w (want a JSON object)", p.Arguments, ErrInvalid))
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
		return inside("id", fmt.Errorf("%.100q: %w (a result before it has the same)", key, ErrInvalid))
	case !open:
		return inside("id", fmt.Errorf("no call before has the id %.100q: %w", key, ErrInvalid))
	case c.unnamed[key] > 0:
		c.repeat(key, -1)
		return nil
	}
	delete(c.calls, key)
	c.done[key] = true
	return nil
}

// media checks that the data of an image, a document or sound is base64.
func (c *checker) media(p *Part) error {
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
