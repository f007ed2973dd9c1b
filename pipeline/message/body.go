package message

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Body is a JSON document with messages: a bare list of them, or the body of a request to one of
// the four APIs, such as {"model": "…", "system": "…", "messages": […], "tools": […]}. It keeps
// the document, so that everything but the messages is written as it came.
type Body struct {
	// Form is the form of the document.
	Form Form
	// Messages are the messages. Instructions that stand in a member of their own, such as
	// system, come first, as messages of the system.
	Messages []Message
	// Tools are the tools that the document declares. They are for reading: Append writes those
	// of the document.
	Tools []Tool

	doc string
	// top has the members of the document, none for a bare list.
	top *tree
	// list is the value with the messages, and elements are those that were read from it. It is
	// empty for a document without.
	list     node
	elements []*origin
}

// maxMembers bounds the members of a document. APIs know some dozens.
const maxMembers = 10_000

// listNames are the members with the messages.
var listNames = []string{"messages", "contents", "input"}

// listName returns the member with the messages of a form, empty if it can be any.
func listName(form Form) string {
	switch form {
	case FormAnthropic, FormOpenAI:
		return "messages"
	case FormGemini:
		return "contents"
	case FormResponses:
		return "input"
	}
	return ""
}

// instructionNames are the members with instructions.
var instructionNames = []string{"system", "instructions", "systemInstruction", "system_instruction"}

// DecodeBody reads a document. FormAny finds out the form: by its members, by what only one API
// has in its messages or tools, by the name of a Claude model, and OpenAI's chat if all that fits
// several. An error names the
// member, with the index of the message.
func DecodeBody(data []byte, form Form) (*Body, error) {
	return DecodeBodyContext(context.Background(), data, form)
}

// DecodeBodyContext is [DecodeBody], which ends with the error of the context soon after that ends.
func DecodeBodyContext(ctx context.Context, data []byte, form Form) (*Body, error) {
	b := &Body{Form: form}
	r := newReader(data)
	r.ctx = ctx
	b.doc = r.doc
	err := b.read(r)
	if err == nil {
		err = r.end()
	}
	if err == nil {
		err = b.readMembers()
	}
	if err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	if b.Form == FormAny {
		b.Form = b.detect()
	}
	findFollowing(b.Messages, b.Form)
	return b, nil
}

// read reads the document, without its instructions.
func (b *Body) read(r *reader) error {
	switch r.dec.PeekKind() {
	case '[':
		return b.readList(r, "")
	case '{':
	default:
		raw, err := r.dec.ReadValue()
		if err != nil {
			return syntaxError(err)
		}
		return wrong(string(raw), "a list of messages, or an object with one")
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	begin := int(r.dec.InputOffset()) - 1
	b.top = &tree{nodes: []node{{kid: none, next: none, at: begin, key: begin}}}
	for r.dec.PeekKind() != '}' {
		if len(b.top.nodes) > maxMembers {
			return fmt.Errorf("more than %d members: %w", maxMembers, ErrInvalid)
		}
		if err := b.readMember(r); err != nil {
			return err
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	b.top.nodes[0].raw = r.doc[begin:r.dec.InputOffset()]
	return nil
}

// readMember reads a member of the document.
func (b *Body) readMember(r *reader) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	raw, err := r.dec.ReadValue()
	if err != nil {
		return syntaxError(err)
	}
	end := int(r.dec.InputOffset())
	n := node{name: unquote(r.doc[end-len(raw) : end]), key: end - len(raw), kid: none, next: none}
	if slices.Contains(listNames, n.name) && r.dec.PeekKind() == '[' {
		if b.list.raw != "" {
			return inside(n.name, fmt.Errorf("there is %s, too: %w", b.list.name, ErrInvalid))
		}
		if err := b.readList(r, n.name); err != nil {
			return err
		}
		n.raw, n.at = b.list.raw, b.list.at
	} else {
		if raw, err = r.dec.ReadValue(); err != nil {
			return syntaxError(err)
		}
		end = int(r.dec.InputOffset())
		n.raw, n.at = r.doc[end-len(raw):end], end-len(raw)
	}
	if r.bad >= n.key && r.bad < n.end() {
		return inside(n.name, fmt.Errorf("byte %d is not UTF-8: %w", r.bad, ErrInvalid))
	}
	last := int32(len(b.top.nodes))
	if len(b.top.nodes) == 1 {
		b.top.nodes[0].kid = last
	} else {
		b.top.nodes[last-1].next = last
	}
	b.top.nodes = append(b.top.nodes, n)
	return nil
}

// readList reads a list of messages, which is the member of this name or the whole document.
func (b *Body) readList(r *reader, name string) (err error) {
	r.dec.PeekKind()
	b.Messages, err = r.messages()
	if err != nil {
		if name != "" {
			err = inside(name, err)
		}
		return err
	}
	end := int(r.dec.InputOffset())
	begin := listBegin(r.doc, b.Messages, end)
	b.list = node{name: name, raw: r.doc[begin:end], at: begin}
	b.elements = make([]*origin, len(b.Messages))
	for i := range b.Messages {
		b.elements[i] = b.Messages[i].origin
	}
	return nil
}

// listBegin returns where a list begins that ends at end.
func listBegin(doc string, messages []Message, end int) int {
	at := end - 1
	if len(messages) > 0 {
		at = messages[0].origin.at
	}
	for at--; doc[at] != '['; at-- {
	}
	return at
}

// readMembers reads the instructions, the tools, and a list of messages that is only a text.
func (b *Body) readMembers() error {
	if b.top == nil {
		return nil
	}
	var instructions []Message
	for i := b.top.nodes[0].kid; i != none; i = b.top.nodes[i].next {
		n := &b.top.nodes[i]
		var err error
		switch {
		case n.raw == "null":
		case slices.Contains(instructionNames, n.name):
			var m Message
			if m, err = readSlot(n, RoleSystem); err == nil {
				instructions = append(instructions, m)
			}
		case n.name == "tools":
			b.Tools, err = readTools(n)
		case n.name == "input" && n.kind() == '"' && b.list.raw == "":
			var m Message
			if m, err = readSlot(n, RoleUser); err == nil {
				b.Messages, b.list = append(b.Messages, m), *n
			}
		case slices.Contains(listNames, n.name) && b.list.raw == "":
			err = inside(n.name, wrong(n.raw, "a list of messages"))
		}
		if err != nil {
			return err
		}
	}
	if want := listName(b.Form); want != "" && b.list.raw != "" && b.list.name != want {
		return inside(b.list.name, fmt.Errorf("a document of the form %s has %s: %w", b.Form, want, ErrInvalid))
	}
	if b.list.raw == "" && !b.Continues() {
		return inside("messages", fmt.Errorf("missing: %w (want messages, input or contents)", ErrInvalid))
	}
	b.Messages = append(instructions, b.Messages...)
	return nil
}

// readSlot reads a message from a member of its own: a text, a list of blocks, or an object of
// Gemini.
func readSlot(n *node, role Role) (Message, error) {
	r := readString(n.raw)
	root, err := r.value()
	if err != nil {
		return Message{}, inside(n.name, err)
	}
	m := Message{Role: role, origin: &origin{raw: n.raw, at: n.at, slot: slotText}}
	c := codec{tree: &r.tree, m: &m}
	if n.kind() == '{' {
		m.origin.slot = slotObject
		if err = c.gemini(root); err == nil {
			m.Role = role
		}
	} else {
		r.tree.nodes[root].name = n.name
		m.Parts, err = c.list(root, c.chatPart)
		if err != nil {
			return Message{}, err
		}
	}
	if err == nil {
		err = r.keep(&m)
	}
	if err != nil {
		return Message{}, inside(n.name, err)
	}
	return m, nil
}

// Continues reports whether the API has earlier messages of the conversation, such as those of
// previous_response_id. [Check] does not know them.
func (b *Body) Continues() bool {
	return b.top != nil && b.top.index(0, "previous_response_id", "prompt", "conversation") != none
}

// detect returns the form of a document by what only one API has.
func (b *Body) detect() Form {
	if b.top == nil {
		return FormOf(b.Messages)
	}
	has := func(names ...string) bool { return b.top.index(0, names...) != none }
	switch {
	case has("contents", "systemInstruction", "system_instruction"):
		return FormGemini
	case has("input", "instructions", "previous_response_id"):
		return FormResponses
	case has("system", "anthropic_version"):
		return FormAnthropic
	}
	if form := knownForm(b.Messages); form != FormAny {
		return form
	}
	for i := range b.Tools {
		if form := b.Tools[i].form; form != FormAny {
			return form
		}
	}
	switch {
	case slices.ContainsFunc(b.Messages, func(m Message) bool { return m.Instructs() }),
		has("max_completion_tokens", "response_format", "seed", "stop", "n", "logprobs", "logit_bias",
			"frequency_penalty", "presence_penalty", "stream_options", "reasoning_effort"):
		return FormOpenAI
	case has("stop_sequences", "mcp_servers", "context_management"), b.forClaude():
		return FormAnthropic
	}
	return FormOpenAI
}

// forClaude reports whether the model of a document has a name of Anthropic's API. A name with a
// vendor, such as anthropic/claude-3, is one of a service with OpenAI's API.
func (b *Body) forClaude() bool { return strings.HasPrefix(b.Model(), "claude") }

// Model returns the model that a document names, empty if it names none.
func (b *Body) Model() string {
	if b.top == nil {
		return ""
	}
	i := b.top.index(0, "model")
	if i == none || b.top.nodes[i].kind() != '"' {
		return ""
	}
	return unquote(b.top.nodes[i].raw)
}
