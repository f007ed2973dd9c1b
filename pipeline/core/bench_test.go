package core

import (
	"encoding/json"
	"testing"
)

// BenchmarkDecodeJSON answers what it costs to read an item and a message.
func BenchmarkDecodeJSON(b *testing.B) {
	for name, tt := range map[string]struct {
		data string
		into func() any
	}{
		"item": {`{"id":"doc-17","content":"A context ends when its deadline passes, when it is cancelled, or when its parent ends.",` +
			`"source":"retrieval","score":0.8731,"priority":5,"token_count":31,"created_at":"2026-01-02T03:04:05Z",` +
			`"metadata":{"path":"docs/context.md","line":17,"section":"Deadlines","tags":["a","b"]}}`, func() any { return new(Item) }},
		"message": {`{"role":"assistant","content":[{"type":"text","text":"Let me look at the file that you named, and at its tests."},` +
			`{"type":"tool_use","id":"c1","name":"read","input":{"path":"a/b/c.go","from":1,"to":200}}],"stop_reason":"tool_use"}`, func() any { return new(Message) }},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(tt.data)))
			for b.Loop() {
				if err := json.Unmarshal([]byte(tt.data), tt.into()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
