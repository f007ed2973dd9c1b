package format_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/format"
)

// bodies are the bodies of one window of 50 items of 1 KB.
func bodies(t testing.TB) map[string]format.Body {
	t.Helper()
	w := &core.Window{Items: make([]core.Item, 50)}
	for i := range w.Items {
		w.Items[i] = core.Item{ID: string(rune('A' + i)), Content: strings.Repeat("a \"line\" of text\n", 60), Source: core.SourceRetrieval}
	}
	all := map[string]format.Body{}
	for _, f := range []core.Formatter{format.Anthropic{}, format.OpenAI{}, format.Responses{}, format.Gemini{}} {
		out, err := f.Format(context.Background(), w)
		if err != nil {
			t.Fatal(err)
		}
		all[f.FormatType()] = out.(format.Body)
	}
	return all
}

// A body is written in one pass: a copy on the way would be one more allocation of its size.
func TestBodiesAreWrittenOnce(t *testing.T) {
	for name, body := range bodies(t) {
		buf, err := body.Append(nil, "")
		if err != nil {
			t.Fatal(err)
		}
		size := int64(len(buf))
		if got := bytesPerRun(func() { buf, _ = body.Append(buf[:0], "") }); got > size/2 {
			t.Errorf("%s: Append into a buffer of its size allocates %d bytes for a body of %d", name, got, size)
		}
		if got := bytesPerRun(func() { _, _ = json.Marshal(body) }); got > 2*size {
			t.Errorf("%s: json.Marshal allocates %d bytes for a body of %d", name, got, size)
		}
	}
}

func bytesPerRun(f func()) int64 {
	return testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f()
		}
	}).AllocedBytesPerOp()
}

// The row "plain" writes the same texts as a list.
func BenchmarkBody(b *testing.B) {
	var texts []string
	for range 50 {
		texts = append(texts, strings.Repeat("a \"line\" of text\n", 60))
	}
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			_, _ = json.Marshal(texts)
		}
	})
	for name, body := range bodies(b) {
		b.Run(name+"/append", func(b *testing.B) {
			var buf []byte
			for b.Loop() {
				buf, _ = body.Append(buf[:0], "")
			}
		})
		b.Run(name+"/marshal", func(b *testing.B) {
			for b.Loop() {
				_, _ = json.Marshal(body)
			}
		})
	}
}
