package builtdoc

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain/svg"
)

// built returns a document of a build with these items, and with the steps of one that was explained.
func built(t *testing.T, name string, items ...string) *Doc {
	t.Helper()
	var list strings.Builder
	for i, it := range items {
		id, tokens, _ := strings.Cut(it, "=")
		if i > 0 {
			list.WriteString(", ")
		}
		fmt.Fprintf(&list, `{"id": %q, "content": "text of %s", "source": "retrieval", "score": 0.5, "priority": 5, "token_count": %s, "created_at": "2026-01-01T00:00:00Z"}`, id, id, tokens)
	}
	d, err := Decode(name, []byte(`{"window": {"items": [`+list.String()+`], "max_tokens": 100, "used_tokens": 60},
  "diagnostics": {"steps": [{"name": "search", "items_after": 2, "time_ms": 3, "start_ms": 1.5, "wait_ms": 1, "guest_ms": 1.5, "fuel": 7}],
    "step_failures": [{"step": "rerank", "reason": "timeout", "message": "too <slow>", "time_ms": 2}],
    "times_ms": {"steps": 5, "fill": 1}, "cache": {"common_prefix_tokens": 30}}, "build_time_ms": 8}`))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func drawn(t *testing.T, d ...svg.Drawing) string {
	t.Helper()
	var b bytes.Buffer
	if err := svg.Write(&b, svg.Options{}, d...); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDrawings(t *testing.T) {
	got := drawn(t, built(t, "a", "one=20", "two=40").Drawings()...)
	for _, want := range []string{"one, retrieval, 20 tokens", "two, retrieval, 40 tokens", "the first 30 tokens of the prompt", "search: 3.00 ms from 1.50 ms on; 1.50 ms in plugins, 1.00 ms waited, 0.50 ms of the host; 7 fuel", "timeout: too &lt;slow&gt;", "system prompts and the rest: 2.00 ms from 0.00 ms on", "free 40"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
}

// An item that moved has a line only, one that came, went or changed is marked.
func TestDrawDiff(t *testing.T) {
	got := drawn(t, DrawDiff(built(t, "a", "one=20", "two=20", "gone=10"), built(t, "b", "two=20", "one=25", "new=10")))
	for _, want := range []string{"gone, retrieval, 10 tokens: went", "new, retrieval, 10 tokens: came", "one, retrieval, 25 tokens: moved, recounted", "<title>two, retrieval, 20 tokens</title>"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	if n := strings.Count(got, `class="moved"`); n != 2 {
		t.Errorf("%d lines", n)
	}
}

// What a process built is drawn like the document that it wrote.
func TestOfResult(t *testing.T) {
	d := built(t, "a", "one=20")
	r := &pipeline.Result{Window: &d.Window, BuildTimeMS: d.TimeMS, Diagnostics: &pipeline.Diagnostics{Steps: d.Steps, StepFailures: d.Failures, TimesMS: d.Times, Cache: d.Cache}}
	if got, want := drawn(t, Of("a", r).Drawings()...), drawn(t, d.Drawings()...); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !OfFailure("f", r.Diagnostics).Failed {
		t.Error("it did not fail")
	}
}

// Hostile results are refused, or drawn and compared.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"window": {"items": [], "max_tokens": 1, "used_tokens": 0}, "diagnostics": {}}`))
	f.Add([]byte(`{"error": {}, "diagnostics": {"items": [{"id": "a", "fate": "undecided", "events": [{"stage": "fill"}]}]}}`))
	f.Add([]byte(`{"window": {"items": [{"id": "a", "content": "", "source": "user", "token_count": 9223372036854775807}], "max_tokens": -1}, "diagnostics": {"times_ms": {"fill": -1e308}}, "build_time_ms": 1e308}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Decode("x", data)
		if err != nil {
			return
		}
		drawn(t, append(d.Drawings(), DrawDiff(d, d))...)
	})
}
