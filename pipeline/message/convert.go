package message

import (
	"fmt"
	"slices"
	"strconv"
)

// Convert returns messages in another form, as if they had been read in it. Messages that are
// the same in both forms stay as they are. An error wraps [ErrLoss] and names the message and
// the member that the form has no place for, such as a signature, an unknown member or a part
// that the API does not take. Left out without an error are: the ids and states of items of the
// Responses API, and members that are empty.
//
// Instructions that stand first stay messages of the system. Later ones become messages of the
// user in the forms of Anthropic and Gemini. Calls of Gemini without an id get one.
func Convert(messages []Message, to Form) ([]Message, error) {
	out, _, err := convert(messages, knownForm(messages), to, false)
	return out, err
}

// Lossy does what [Convert] does, and leaves out what the form has no place for. It returns one
// line for each thing that is missing now.
func Lossy(messages []Message, to Form) ([]Message, []string, error) {
	return convert(messages, knownForm(messages), to, true)
}

func convert(messages []Message, from, to Form, lossy bool) ([]Message, []string, error) {
	messages, err := withIDs(messages, to)
	if err != nil {
		return nil, nil, inside("messages", err)
	}
	w := &listWriter{writer: writer{form: to, from: from, lossy: lossy, tools: toolNames(messages)}, gap: ",", dst: []byte{'['}}
	var first []Message
	if to == FormAnthropic || to == FormGemini {
		first, w.skip, err = w.instructions(messages)
	}
	if err == nil {
		err = w.all(messages)
	}
	if err != nil {
		return nil, nil, inside("messages", err)
	}
	list, err := DecodeList(append(w.dst, ']'))
	return append(first, list...), w.lines(), err
}

// lines returns what was left out.
func (w *writer) lines() (lines []string) {
	for _, err := range w.left {
		lines = append(lines, leftOut(inside("messages", err)))
	}
	return lines
}

// instructions converts the instructions that stand first, and reports which messages they are.
func (w *listWriter) instructions(messages []Message) ([]Message, []bool, error) {
	skip := make([]bool, len(messages))
	in := &listWriter{writer: writer{form: FormOpenAI, target: w.form, from: "another", lossy: w.lossy}, gap: ",", dst: []byte{'['}}
	var first []Message
	for n := 0; n < len(messages) && messages[n].Instructs(); n++ {
		m := &messages[n]
		w.at(n)
		skip[n] = true
		err := w.loseRest(m)
		for i := 0; i < len(m.Parts) && err == nil; i++ {
			if p := &m.Parts[i]; p.Kind != Text {
				w.path = append(w.path, step{"content", i})
				err = w.loseKind(p)
				w.path = w.path[:0]
			}
		}
		m.Parts = slices.DeleteFunc(m.Parts, func(p Part) bool { return p.Kind != Text })
		if err == nil && len(m.Parts) == 0 {
			err = w.loseEmpty()
		}
		if err != nil {
			return nil, nil, err
		}
		if len(m.Parts) > 0 {
			first = append(first, Message{Role: m.Role, Parts: m.Parts})
		}
	}
	if err := in.all(first); err != nil {
		return nil, nil, err
	}
	w.left = append(w.left, in.left...)
	list, err := DecodeList(append(in.dst, ']'))
	return list, skip, err
}

// withIDs returns copies of messages whose calls and results have ids, for forms that need them. A result
// without an id answers the first call of its tool that has no result.
func withIDs(messages []Message, to Form) ([]Message, error) {
	messages = CloneList(messages)
	if to == FormGemini || !missesID(messages) {
		return messages, nil
	}
	taken := toolNames(messages)
	waiting := make(map[string][]string) // ids by tool
	next := 0
	for i := range messages {
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			switch {
			case p.ID != "":
			case p.Kind == ToolCall:
				for p.ID == "" {
					next++
					if id := "call_" + strconv.Itoa(next); taken[id] == "" {
						p.ID = id
					}
				}
				waiting[p.Name] = append(waiting[p.Name], p.ID)
			case p.Kind == ToolResult:
				ids := waiting[p.Name]
				if len(ids) == 0 {
					return nil, indexed(i, fmt.Errorf("a result of %.100q without a call before it: %w", p.Name, ErrInvalid))
				}
				p.ID, waiting[p.Name] = ids[0], ids[1:]
			}
		}
	}
	return messages, nil
}

// missesID reports whether a call or a result has no id.
func missesID(messages []Message) bool {
	for i := range messages {
		for j := range messages[i].Parts {
			if p := &messages[i].Parts[j]; p.ID == "" && (p.Kind == ToolCall || p.Kind == ToolResult) {
				return true
			}
		}
	}
	return false
}
