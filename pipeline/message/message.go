package message

import (
	"cmp"
	"slices"
	"strings"
)

// Role is the author of a message.
type Role string

// The roles. RoleDeveloper is the name that OpenAI's newer models have for instructions; each
// API that does not know it takes it as RoleSystem. Gemini's role model is RoleAssistant.
const (
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Form is the form in which an API writes its messages.
type Form string

// The forms. Their names are also those of the formats of a build.
const (
	// FormAny means that a message is the same in the forms Anthropic and OpenAI, such as
	// {"role": "user", "content": "hello"}.
	FormAny Form = ""
	// FormAnthropic is the form of Anthropic's Messages API.
	FormAnthropic Form = "anthropic"
	// FormOpenAI is the form of OpenAI's Chat Completions API, which many others accept.
	FormOpenAI Form = "openai"
	// FormResponses is the form of the items of OpenAI's Responses API.
	FormResponses Form = "openai-responses"
	// FormGemini is the form of the contents of Google's Gemini API.
	FormGemini Form = "gemini"
)

// Forms lists the forms that can be named.
var Forms = []Form{FormAnthropic, FormOpenAI, FormResponses, FormGemini}

// Kind says what a part is.
type Kind string

// The kinds of parts.
const (
	Text       Kind = "text"
	Image      Kind = "image"
	Document   Kind = "document"
	Audio      Kind = "audio"
	ToolCall   Kind = "tool_call"
	ToolResult Kind = "tool_result"
	// Thinking is a model's reasoning, plain, signed, encrypted or redacted, or a summary that
	// only the API can read. It has no text here: nobody reads, counts or changes it.
	Thinking Kind = "thinking"
	// Refusal is the text with which a model declines.
	Refusal Kind = "refusal"
	// Unknown is any other part. Only its JSON is known.
	Unknown Kind = "unknown"
)

// Message is one message of a list for a model. The zero value has no role and is invalid.
// Callers may change the fields; a copy of a Message shares its parts, see [Message.Clone].
type Message struct {
	// Role is one of the five roles.
	Role Role
	// Name tells speakers of one role apart. It is empty for most messages.
	Name string
	// Parts are the contents, in order.
	Parts []Part

	// origin is where the message was read from. It is nil for a new message.
	origin *origin
}

// Part is one piece of a message.
type Part struct {
	// Kind says which of the other fields are set.
	Kind Kind
	// Text is the text of a Text or of a Refusal.
	Text string
	// ID is the id of a ToolCall, or of the call that a ToolResult answers. It may be empty
	// in FormGemini.
	ID string
	// Name is the name of the tool of a ToolCall, and of a ToolResult whose form names it.
	Name string
	// Arguments are the arguments of a ToolCall: a JSON object, or whatever text the model
	// wrote instead.
	Arguments string
	// Parts are the contents of a ToolResult, or of a Document that consists of parts.
	Parts []Part
	// Failed is true for a ToolResult that reports an error.
	Failed bool
	// Media describes an Image, a Document or an Audio. It is nil for all others.
	Media *Media

	// raw is the JSON of the part as it was read, empty for a new part. at is its place in
	// the JSON of the message.
	raw string
	at  int
	// place says what raw is.
	place place
}

// place says what the JSON of a part is.
type place uint8

// The places. The zero value is that of a new part.
const (
	inString    place = 1 + iota // the text itself: a content or refusal that is a JSON string
	inChat                       // a text block, the same for Anthropic and OpenAI's chat
	inAnthropic                  // a block of Anthropic
	inOpenAI                     // a part of a content of OpenAI's chat
	inRefusal                    // a refusal in a content of OpenAI's chat or of the Responses API
	inCalls                      // an element of tool_calls
	inMessage                    // a whole message of the role tool
	inResponses                  // a part of a content or an output of the Responses API
	inItem                       // a whole item of the Responses API
	inGemini                     // a part of Gemini
	inValue                      // a JSON value that is the whole result of a tool
	inOther                      // a part of an unknown type, of the form of its message
)

// Media is a content that is not text. One of Data, URL, FileID and Text is set.
type Media struct {
	// Type is the media type, such as "image/png". It may be empty with URL and FileID.
	Type string
	// Data is the content in base64, as it came. It was not checked.
	Data string
	// URL is where the API fetches the content.
	URL string
	// FileID is the name under which the API has stored the content.
	FileID string
	// Text is the content of a document of plain text.
	Text string
	// Title is the title or the file name of a document.
	Title string
	// Detail is OpenAI's level of detail of an image: "low", "high", "auto" or empty.
	Detail string
}

// origin is the JSON of a message together with what was read from it.
type origin struct {
	form Form
	// raw is the whole JSON value, at is where it begins in the document.
	raw string
	at  int
	// slot says where in the document the value stood.
	slot slot
	role Role
	name string
	// follows is true for a message for which Follows is.
	follows bool
	// parts are what Parts was, to find out what has changed.
	parts []Part
	// others has the members that no field holds, as JSON: `"key":value`, one after the other.
	others []string
	// links are what Links returns, and refers is what Refers does.
	links  []string
	refers bool
}

// slot says where in a document a message stood.
type slot uint8

// The slots. The zero value is that of an element of the list of messages.
const (
	// slotText is a member whose value is only the content, such as system of Anthropic.
	slotText slot = 1 + iota
	// slotObject is a member whose value is a message, such as systemInstruction of Gemini.
	slotObject
)

// end is where the JSON ends in the document.
func (o *origin) end() int { return o.at + len(o.raw) }

// New returns a message of one text.
func New(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Kind: Text, Text: text}}}
}

// NewCall returns a part that calls a tool. arguments is a JSON object.
func NewCall(id, tool, arguments string) Part {
	return Part{Kind: ToolCall, ID: id, Name: tool, Arguments: arguments}
}

// NewResult returns the message of a tool's result in text form. id is that of the call.
func NewResult(id, tool, text string) Message {
	return Message{Role: RoleTool, Parts: []Part{{
		Kind: ToolResult, ID: id, Name: tool, Parts: []Part{{Kind: Text, Text: text}},
	}}}
}

// Valid reports whether r is one of the five roles.
func (r Role) Valid() bool {
	return r == RoleUser || r == RoleAssistant || r == RoleTool || r == RoleSystem || r == RoleDeveloper
}

// Instructs reports whether the message is one of the system or of the developer.
func (m *Message) Instructs() bool { return m.Role == RoleSystem || m.Role == RoleDeveloper }

// Follows reports whether the message is one of the system that stands within a list of the form
// Anthropic. The API takes it only after a message of the user, and before one of the
// assistant or at the end. So it belongs to the message before it.
func (m *Message) Follows() bool {
	return m.Role == RoleSystem && m.origin != nil && m.origin.follows
}

// findFollowing finds the messages of a list for which [Message.Follows] is true.
func findFollowing(messages []Message, form Form) {
	for i := 1; i < len(messages) && form == FormAnthropic; i++ {
		if m := &messages[i]; m.Role == RoleSystem && m.origin.slot == 0 && !messages[i-1].Instructs() {
			m.origin.follows = true
		}
	}
}

// Form returns the form in which the message was read. It is FormAny for a new message, and
// for one that is the same in several forms.
func (m *Message) Form() Form {
	if m.origin == nil {
		return FormAny
	}
	return m.origin.form
}

// FormOf returns the form of a list: that of the first message whose form is known. It is
// FormOpenAI if there is none, because most models accept it.
func FormOf(messages []Message) Form {
	return cmp.Or(knownForm(messages), FormOpenAI)
}

// knownForm returns the form of a list, FormAny if no message tells.
func knownForm(messages []Message) Form {
	for i := range messages {
		if form := messages[i].Form(); form != FormAny {
			return form
		}
	}
	return FormAny
}

// Raw returns the JSON from which the message was read, empty for a new message.
func (m *Message) Raw() string {
	if m.origin == nil {
		return ""
	}
	return m.origin.raw
}

// Others returns the members of the message that no field holds, each as JSON with its name:
// `"key":value`. The list must not be changed.
func (m *Message) Others() []string {
	if m.origin == nil {
		return nil
	}
	return m.origin.others
}

// Links returns the ids that tie the message to others besides those of its calls and results: an
// API takes all messages with such an id or none. They are the ids of a program and its output, of a
// request and its approval, and of a tool that the API runs itself and its result.
// The list must not be changed.
func (m *Message) Links() []string {
	if m.origin == nil {
		return nil
	}
	return m.origin.links
}

// Refers reports whether the message may make calls whose ids are not known: it refers to an item
// that the API has stored, or calls a function as it was done before there were tools.
func (m *Message) Refers() bool { return m.origin != nil && m.origin.refers }

// Raw returns the JSON from which the part was read, empty for a new part. Where an API allows
// a text instead of a list of parts, this is a JSON string.
func (p *Part) Raw() string { return p.raw }

// Text returns what the message says: its texts and refusals and the texts of results, one
// below the other. Media are named in brackets, such as [image]. Thinking and unknown parts
// have no text.
func (m *Message) Text() string { return TextOf(m.Parts) }

// TextOf returns what parts say, as [Message.Text] does.
func TextOf(parts []Part) string {
	var first string
	var lines []string
	each(parts, func(line string) {
		switch {
		case line == "":
		case first == "" && lines == nil:
			first = line
		default:
			if lines == nil {
				lines = append(lines, first)
			}
			lines = append(lines, line)
		}
	})
	if lines == nil {
		return first
	}
	return strings.Join(lines, "\n")
}

// each calls f with each text of parts, in order.
func each(parts []Part, f func(text string)) {
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case Text, Refusal:
			f(p.Text)
		case ToolResult:
			each(p.Parts, f)
		case Image, Document, Audio:
			f("[" + string(p.Kind) + "]")
		}
	}
}

// Calls returns the calls of tools in the message. They point into Parts.
func (m *Message) Calls() []*Part { return m.of(ToolCall) }

// Results returns the results of tools in the message. They point into Parts.
func (m *Message) Results() []*Part { return m.of(ToolResult) }

func (m *Message) of(kind Kind) (found []*Part) {
	for i := range m.Parts {
		if m.Parts[i].Kind == kind {
			found = append(found, &m.Parts[i])
		}
	}
	return found
}

// Clone returns a copy that shares no part with m. Texts are shared, because strings cannot
// change.
func (m Message) Clone() Message {
	m.Parts = cloneParts(m.Parts)
	return m
}

// CloneList returns copies of all messages; nil stays nil.
func CloneList(messages []Message) []Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].Parts = cloneParts(out[i].Parts)
	}
	return out
}

func cloneParts(parts []Part) []Part {
	out := slices.Clone(parts)
	for i := range out {
		p := &out[i]
		p.Parts = cloneParts(p.Parts)
		if p.Media != nil {
			media := *p.Media
			p.Media = &media
		}
	}
	return out
}

// Equal reports whether two messages say the same and are written the same.
func (m *Message) Equal(o *Message) bool {
	return m.Role == o.Role && m.Name == o.Name && m.Raw() == o.Raw() && equalParts(m.Parts, o.Parts)
}

// Changed reports whether the message differs from what was read. A new message has changed.
func (m *Message) Changed() bool {
	o := m.origin
	return o == nil || m.Role != o.role || m.Name != o.name || !equalParts(m.Parts, o.parts)
}

// equalParts compares all fields. It is fast for parts that were not touched, because equal
// strings are mostly the same string.
func equalParts(a, b []Part) bool {
	return slices.EqualFunc(a, b, func(p, q Part) bool { return p.equal(&q) })
}

func (p *Part) equal(q *Part) bool {
	if p.Kind != q.Kind || p.Text != q.Text || p.ID != q.ID || p.Name != q.Name || p.Arguments != q.Arguments ||
		p.Failed != q.Failed || p.raw != q.raw || (p.Media == nil) != (q.Media == nil) {
		return false
	}
	return (p.Media == nil || *p.Media == *q.Media) && equalParts(p.Parts, q.Parts)
}
