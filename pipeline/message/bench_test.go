package message

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// benchDocument returns a body of 200 messages and about 500 KB.
func benchDocument(b *testing.B, form Form) []byte {
	b.Helper()
	text := strings.Repeat("func main() { fmt.Println(\"hello\") }\n\tA line of code, and one of text.\n", 80)
	var list []Message
	for i := 0; len(list) < 200; i++ {
		id := fmt.Sprint("call_", i)
		list = append(list, New(RoleUser, text[:900]),
			Message{Role: RoleAssistant, Parts: []Part{{Kind: Text, Text: text[:300]}, NewCall(id, "read_file", `{"path":"main.go","limit":100}`)}},
			NewResult(id, "read_file", text),
			New(RoleAssistant, text[:1500]))
	}
	doc, err := DecodeBody([]byte(fmt.Sprintf(`{%q:[]}`, listName(form))), form)
	if err != nil {
		b.Fatal(err)
	}
	data, err := doc.Append(nil, list)
	if err != nil {
		b.Fatal(err)
	}
	return data
}

func BenchmarkDecodeEncode(b *testing.B) {
	for _, form := range Forms {
		data := benchDocument(b, form)
		b.Run(string(form), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			dst := make([]byte, 0, len(data))
			for b.Loop() {
				body, err := DecodeBody(data, FormAny)
				if err != nil {
					b.Fatal(err)
				}
				if dst, err = body.Append(dst[:0], body.Messages); err != nil || len(dst) != len(data) {
					b.Fatal(err)
				}
			}
		})
		b.Run(string(form)+"/edit", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				body, err := DecodeBody(data, FormAny)
				if err != nil {
					b.Fatal(err)
				}
				firstText(body.Messages[len(body.Messages)-1].Parts).Text = "changed"
				if dst, err = body.Append(dst[:0], body.Messages); err != nil || bytes.Equal(dst, data) {
					b.Fatal(err)
				}
			}
		})
	}
}
