package request

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// Messages is the input of a provider chain.
type Messages struct {
	// State is the state of the agent. It is nil if none was given.
	State *agent.State
	// Messages is the list, nil if none was given.
	Messages []pipeline.Message
	Budget   Budget
	Phase    agent.Phase
}

// Budget is the budget for the messages. A value of 0 was not given.
type Budget struct {
	MaxTokens   int    `key:"max_tokens" min:"1"`
	MaxMessages int    `key:"max_messages" min:"1"`
	Phase       string `key:"phase" enum:"llm,synthesize"`
}

// messagesDocument is the document without its messages, which package message reads.
type messagesDocument struct {
	State    *agentState `key:"state"`
	Messages []string    `key:"messages"`
	Budget   Budget      `key:"budget"`
	Phase    string      `key:"phase" enum:"llm,synthesize"`
}

type agentState struct {
	RunID        string         `key:"run_id"`
	Messages     []string       `key:"messages"`
	Observations []string       `key:"observations"`
	Reflection   string         `key:"reflection"`
	Data         map[string]any `key:"data"`
}

// ReadMessages reads a JSON list of messages, or an object with the keys state,
// messages, budget and phase. name appears in errors, which are a
// [strict.Problems] when the document is at fault. Outside of its messages it may have as many
// values as most says. data must not change as long as the messages are
// used.
func ReadMessages(ctx context.Context, name string, data []byte, most int) (*Messages, error) {
	if err := checkSize(name, data); err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("[")) {
		list, err := decodeMessages(ctx, name, "messages", data)
		if err != nil {
			return nil, err
		}
		return &Messages{Messages: list}, nil
	}
	lists := findLists(ctx, data)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := lists.check(name); err != nil {
		return nil, err
	}
	var doc messagesDocument
	n, err := decode(ctx, name, lists.rest, most, &doc)
	if err != nil {
		return nil, err
	}
	m := &Messages{Budget: doc.Budget, Phase: agent.Phase(doc.Phase)}
	if in := doc.Budget.Phase; in != "" && doc.Phase != "" && in != doc.Phase {
		at, _ := n.Find("phase")
		return nil, strict.Problems{{File: name, Pos: at.Pos, Path: "phase", Message: fmt.Sprintf("%q contradicts budget.phase, which is %q (keep one)", doc.Phase, in)}}
	}
	if m.Phase == "" {
		m.Phase = agent.Phase(doc.Budget.Phase)
	}
	if m.Messages, err = decodeMessages(ctx, name, "messages", lists.messages); err != nil {
		return nil, err
	}
	if s := doc.State; s != nil {
		m.State = &agent.State{
			RunID: s.RunID, Observations: s.Observations, Reflection: s.Reflection, Data: s.Data,
		}
		if m.State.Messages, err = decodeMessages(ctx, name, "state.messages", lists.state); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// IsBody reports whether a document is a list of messages, or the body of a request to an API,
// which has members that the documents of [ReadMessages] do not have.
func IsBody(ctx context.Context, data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	if bytes.HasPrefix(data, []byte("[")) {
		return true
	}
	found := false
	eachMember(ctx, data, 0, func(name string, _, _ int) bool {
		found = slices.Contains(bodyMembers, name)
		return !found
	})
	return found
}

// bodyMembers are the members that tell a body.
var bodyMembers = []string{
	"model", "max_tokens", "system", "tools", "input", "instructions",
	"contents", "systemInstruction", "system_instruction", "generationConfig", "generation_config",
}

// decodeMessages reads a list. path is its place in the document. nil is no list.
func decodeMessages(ctx context.Context, name, path string, data []byte) ([]pipeline.Message, error) {
	if data == nil {
		return nil, nil
	}
	list, err := message.DecodeListContext(ctx, data)
	if err == nil || !errors.Is(err, message.ErrInvalid) {
		return list, err
	}
	text := strings.TrimPrefix(err.Error(), "messages")
	return nil, strict.Problems{{File: name, Message: path + strings.TrimSuffix(text, ": "+message.ErrInvalid.Error())}}
}

// lists are the lists of messages in a document. rest is the document with blanks in their
// place, so that positions in it are those of the document.
type lists struct {
	messages, state, rest []byte
	// null is the path of a list that is null, empty if there is none.
	null string
}

// check refuses a list that is null, and a document that is not UTF-8 outside of its lists.
// Without this, the model would get no messages, or other characters.
func (l *lists) check(name string) error {
	if l.null != "" {
		return strict.Problems{{File: name, Path: l.null, Message: "null (want a list of messages)"}}
	}
	for at := 0; at < len(l.rest); {
		r, size := utf8.DecodeRune(l.rest[at:])
		if r == utf8.RuneError && size <= 1 {
			line := bytes.Count(l.rest[:at], []byte("\n")) + 1
			return strict.Problems{{File: name, Message: fmt.Sprintf("line %d: a byte that is not UTF-8", line)}}
		}
		at += size
	}
	return nil
}

// findLists finds the lists of messages. In a document that cannot be read it finds none.
func findLists(ctx context.Context, data []byte) (found lists) {
	at := 0
	list := func(from, to int) []byte {
		if found.rest == nil {
			found.rest = make([]byte, 0, len(data))
		}
		found.rest = appendBlank(append(found.rest, data[at:from]...), data[from:to])
		at = to
		return data[from:to]
	}
	eachMember(ctx, data, 0, func(name string, from, to int) bool {
		switch {
		case name == "messages" && data[from] == '[':
			found.messages = list(from, to)
		case name == "messages" && data[from] == 'n':
			found.null = "messages"
		case name == "state" && data[from] == '{':
			eachMember(ctx, data[from:to], from, func(name string, from, to int) bool {
				switch {
				case name == "messages" && data[from] == '[':
					found.state = list(from, to)
				case name == "messages" && data[from] == 'n':
					found.null = "state.messages"
				}
				return true
			})
		}
		return true
	})
	if found.rest == nil { // there are none
		found.rest = data
	} else {
		found.rest = append(found.rest, data[at:]...)
	}
	return found
}

// appendBlank appends an empty list with as many lines and columns as a list has.
func appendBlank(dst, list []byte) []byte {
	dst = append(dst, '[')
	for _, c := range list[1 : len(list)-1] {
		switch {
		case c == '\n':
			dst = append(dst, '\n')
		case utf8.RuneStart(c):
			dst = append(dst, ' ')
		}
	}
	return append(dst, ']')
}

// eachMember calls f with each member of an object, and the place of its value, as long as f reports
// true and ctx lasts. base is the place of the object.
func eachMember(ctx context.Context, object []byte, base int, f func(name string, from, to int) bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return
		}
		key := name.String()

		from := int(dec.InputOffset())
		from += bytes.IndexFunc(object[from:], func(r rune) bool { return !strings.ContainsRune(" \t\r\n:", r) })
		if skip(ctx, dec) != nil {
			return
		}
		if !f(key, base+from, base+int(dec.InputOffset())) {
			return
		}
	}
}

// skip reads one value. To do so in one step could take longer than ctx.
func skip(ctx context.Context, dec *jsontext.Decoder) error {
	for depth, n := dec.StackDepth(), 1; ; n++ {
		if n%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
		if dec.StackDepth() == depth {
			return nil
		}
	}
}
