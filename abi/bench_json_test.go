package abi

import (
	"fmt"
	"strings"
	"testing"
)

// benchAnswers are answers as plugins give them in the JSON lane.
func benchAnswers(b *testing.B) map[string][]byte {
	b.Helper()
	doc := func(c *Changes) []byte {
		out, err := AppendChangesJSON(nil, c)
		if err != nil {
			b.Fatal(err)
		}
		return out
	}
	keep, scores, edits, items := &Changes{}, &Changes{}, &Changes{}, &Changes{}
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 12)[:500]
	for i := range uint32(1000) {
		if i%2 == 0 {
			keep.Keep = append(keep.Keep, i)
		}
		scores.Scores = append(scores.Scores, RowScore{i, float64(i%97) / 97})
		edits.Edits = append(edits.Edits, Edit{Row: i, Content: &text, Metadata: Metadata{"lang": "en", "n": int64(i)}})
	}
	for i := range 100 {
		items.Items = append(items.Items, NewItem{Key: fmt.Sprint("k", i), Content: text + "\n\"quoted\"", Score: 0.5,
			Metadata: Metadata{"path": "docs/a.md", "page": int64(i), "tags": []any{"a", "b"}}})
	}
	return map[string][]byte{"keep": doc(keep), "scores": doc(scores), "edits": doc(edits), "items": doc(items), "one": []byte(`{"keep":[0]}`)}
}

// What does decoding an answer of the JSON lane cost?
func BenchmarkDecodeChangesJSON(b *testing.B) {
	for name, doc := range benchAnswers(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				if _, err := DecodeChangesJSON(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What does decoding the answer of a provider cost?
func BenchmarkDecodeReply(b *testing.B) {
	doc := []byte(`{"messages":[` + strings.Repeat(`{"role":"user","content":"The quick brown fox jumps over the lazy dog."},`, 200) +
		`{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function"}]}]}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		var reply ProvideReply
		if err := DecodeReply(doc, &reply); err != nil {
			b.Fatal(err)
		}
	}
}
