// Package redact makes a recorded request small and neutral. The structure, the order of
// members and every byte that is not replaced stay as the client wrote them.
package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Words is how many words are left of a text that belongs to the client's maker.
const Words = 5

// Body redacts a request body. Prompts, descriptions of tools and what the client itself tells
// the model are cut to their first words. Ids, folders and dates become neutral.
func Body(body []byte) ([]byte, error) {
	var out bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("redact: read body: not an object: %v", err)
	}
	out.WriteString("{")
	for from := d.InputOffset(); ; from = d.InputOffset() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("redact: read body: %w", err)
		}
		if name == json.Delim('}') {
			out.Write(body[from:])
			return neutral(out.Bytes()), nil
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("redact: read %v: %w", name, err)
		}
		start := d.InputOffset() - int64(len(value))
		out.Write(body[from:start])
		switch name {
		case "system", "tools", "instructions", "client_metadata":
			value, err = cut(value, always)
		case "messages", "input":
			value, err = messages(value)
		}
		if err != nil {
			return nil, fmt.Errorf("redact: %v: %w", name, err)
		}
		out.Write(value)
	}
}

// messages cuts what the client itself says in the messages.
func messages(list json.RawMessage) (json.RawMessage, error) {
	var all []json.RawMessage
	if json.Unmarshal(list, &all) != nil {
		return list, nil // one text of the user
	}
	out := list[:0:0]
	rest := []byte(list)
	for _, m := range all {
		var head struct {
			Role string `json:"role"`
		}
		if err := json.Unmarshal(m, &head); err != nil {
			return nil, err
		}
		of := marked
		if head.Role == "system" || head.Role == "developer" {
			of = always
		}
		short, err := cut(m, of)
		if err != nil {
			return nil, err
		}
		i := bytes.Index(rest, m)
		out = append(append(out, rest[:i]...), short...)
		rest = rest[i+len(m):]
	}
	return append(out, rest...), nil
}

func always(string) bool { return true }

// marked is true of a text that a client puts into a message of the user.
func marked(s string) bool {
	return strings.HasPrefix(s, "<system-reminder>") || strings.HasPrefix(s, "<environment_context>") || strings.HasPrefix(s, "<user_instructions>")
}

// cut shortens the values that are texts and of the kind asked for.
func cut(value json.RawMessage, of func(string) bool) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var out bytes.Buffer
	var names []bool // for each open object or list: whether a name comes next
	object := []bool{}
	last := int64(0)
	for {
		token, err := d.Token()
		if err == io.EOF {
			out.Write(value[last:])
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		depth := len(names) - 1
		s, text := token.(string)
		isName := text && depth >= 0 && object[depth] && names[depth]
		if text && !isName && of(s) {
			literal := bytes.IndexByte(value[last:], '"') + int(last)
			out.Write(value[last:literal])
			out.Write(short(s))
			last = d.InputOffset()
		} else {
			out.Write(value[last:d.InputOffset()])
			last = d.InputOffset()
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			names, object = append(names, true), append(object, token == json.Delim('{'))
			continue
		case json.Delim('}'), json.Delim(']'):
			names, object = names[:depth], object[:depth]
			depth--
		}
		if depth >= 0 {
			names[depth] = !isName
		}
	}
}

// short is the literal of the first words of a text. Texts of few words stay.
func short(s string) []byte {
	words := strings.SplitAfterN(s, " ", Words+1)
	if len(words) > Words {
		s = strings.TrimRight(strings.Join(words[:Words], ""), " ") + " …"
	} else if len(s) > 200 {
		s = s[:strings.LastIndexByte(s[:100], '\n')+1] + "…"
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string can always be written
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// What is not neutral, in JSON as well as in texts within it. Each distinct match gets a number.
var private = []struct {
	find *regexp.Regexp
	form string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "00000000-0000-4000-8000-%012d"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "%064d"},
	{regexp.MustCompile(`(Chunk ID: )[0-9a-f]{6}`), "Chunk ID: %06d"},
	{regexp.MustCompile(`/(?:[A-Za-z0-9_.-]+/)+client[0-9]+/project`), "/project"},
	{regexp.MustCompile(`/(?:[A-Za-z0-9_.-]+/)+client[0-9]+/home`), "/home/user"},
	{regexp.MustCompile(`/(?:[A-Za-z0-9_.-]+/)+client[0-9]+`), "/tmp/client"},
	{regexp.MustCompile(`\b20[2-9][0-9]-[01][0-9]-[0-3][0-9]\b`), "2026-01-01"},
}

func neutral(body []byte) []byte {
	for _, p := range private {
		seen := map[string]int{}
		body = p.find.ReplaceAllFunc(body, func(m []byte) []byte {
			if !strings.Contains(p.form, "%") {
				return []byte(p.form)
			}
			n, ok := seen[string(m)]
			if !ok {
				n = len(seen) + 1
				seen[string(m)] = n
			}
			return fmt.Appendf(nil, p.form, n)
		})
	}
	return body
}
