package pipeline

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/format"
)

// Results of builds in all formats are written as encoding/json writes them. Texts outside of items
// have no escapes for HTML.
func TestResultsAreWrittenAsBefore(t *testing.T) {
	for _, f := range format.All() {
		r := builtWith(t, f)
		want := jsonOf(t, r)
		if got, err := r.AppendJSON([]byte("before ")); err != nil || string(got) != "before "+want {
			t.Errorf("%s:\n%s (%v)\nwant\n%s", f.FormatType(), got, err, want)
		}
	}
}

// builtWith is a build of 50 items, half of which are in the window, with what explains it.
func builtWith(t testing.TB, f Formatter) *Result {
	t.Helper()
	items := benchItems(50)
	for i := range items {
		items[i].Content = strings.Repeat("A <deadline> ends a build\nwhen its \"time\" is up. ", 10)
		items[i].Metadata = map[string]any{"path": "docs/<1>.md", "line": int64(i), "nested": map[string]any{"b": []any{true, nil}, "a": 0.5}}
	}
	p, err := New(Config{
		MaxTokens: 25 * 7, Tokenizer: WordTokenizer(), Formatter: f, Explain: true, SystemPrompts: []SystemPrompt{{Content: "Answer & cite."}},
		Steps: []StepConfig{{Name: "search", Step: RetrieverStep(fixedRetriever(items), 50)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Build(t.Context(), Query{Text: "what is <new>?"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func BenchmarkResultJSON(b *testing.B) {
	r := builtWith(b, format.Generic{})
	var buf []byte
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var err error
			if buf, err = r.AppendJSON(buf[:0]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			jsonOf(b, r)
		}
	})
}
