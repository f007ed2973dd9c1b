package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// history makes the messages of a conversation with tools that every API accepts.
func history(r *rand.Rand, turns int) []Message {
	var list []Message
	if r.IntN(2) == 0 {
		list = append(list, New(RoleSystem, words(r)))
	}
	for turn := range turns {
		list = append(list, user(r))
		for step := range r.IntN(3) {
			call := Message{Role: RoleAssistant}
			if r.IntN(2) == 0 {
				call.Parts = append(call.Parts, Part{Kind: Text, Text: words(r)})
			}
			var results []Message
			for n := range 1 + r.IntN(3) {
				id := fmt.Sprintf("call_%d_%d_%d", turn, step, n)
				name := []string{"read", "search", "run"}[r.IntN(3)]
				call.Parts = append(call.Parts, NewCall(id, name, `{"q":`+quote(words(r))+`,"n":1.50}`))
				results = append(results, NewResult(id, name, words(r)))
			}
			r.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
			list = append(append(list, call), results...)
		}
		list = append(list, New(RoleAssistant, words(r)))
	}
	return list
}

// user makes a message of the user.
func user(r *rand.Rand) Message {
	m := New(RoleUser, words(r))
	if r.IntN(3) == 0 {
		m.Parts = append(m.Parts, Part{Kind: Image, Media: &Media{Type: "image/png", Data: "aGVsbG8="}})
	}
	if r.IntN(3) == 0 {
		m.Parts = append(m.Parts, Part{Kind: Text, Text: words(r)})
	}
	return m
}

// words makes a text that is hard to write.
func words(r *rand.Rand) string {
	all := []string{"plain", "é", "\"", "\\", "\n", "<&>", "日本", "\U0001F600", "\u2028", "{}", "data:", "\x01", "a b"}
	var b strings.Builder
	b.WriteString("w")
	for range r.IntN(8) {
		b.WriteString(all[r.IntN(len(all))])
	}
	return b.String()
}

// document writes messages as the body of an API, with white space, escapes and members that
// nobody knows.
func document(r *rand.Rand, list []Message, form Form) ([]byte, error) {
	doc := map[Form]string{
		FormAnthropic: `{"model":"m","messages":[],"x":1e3}`,
		FormOpenAI:    `{"messages":[],"y":{"a":[1.0]}}`,
		FormResponses: `{"z":null,"input":[]}`,
		FormGemini:    `{"contents":[],"q":"\u00e9"}`,
	}[form]
	b, err := DecodeBody([]byte(doc), form)
	if err != nil {
		return nil, err
	}
	data, err := b.Append(nil, list)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	switch r.IntN(3) {
	case 0:
		return data, nil
	case 1:
		err = json.Indent(&out, data, " ", "\t")
	default: // with escapes for HTML
		json.HTMLEscape(&out, data)
	}
	return out.Bytes(), err
}
