package builtdoc

import (
	"strings"
	"testing"
)

// repeated is a build of two items, of which the step "good" takes one away.
const repeated = `{"window": {"items": [{"id": "a", "content": "one", "source": "tool", "score": 0.5, "priority": 5, "token_count": 2, "created_at": "2026-01-01T00:00:00Z"}],
  "max_tokens": 9, "used_tokens": 2, "query": "q"}, "format_type": "generic", "overflow_items": [], "build_time_ms": 1, "diagnostics": {
  "steps": [{"name": "best", "items_after": 2, "time_ms": 1, "start_ms": 1, "fuel": 7}, {"name": "good", "items_after": 1, "time_ms": 1, "start_ms": 2}],
  "items": [
   {"id": "a", "source": "tool", "priority": 5, "score": 0.5, "tokens": 2, "excerpt": "one", "fate": "in_window", "events": [
    {"stage": "step", "step": "best", "plugin": "p", "module": "sha256:1", "did": ["added"], "place": {"from": 0, "to": 1}, "score": {"from": 0, "to": 0.5}},
    {"stage": "fill", "did": ["admitted"], "place": {"from": 1, "to": 1}, "budget": {"kind": "window", "limit": 9, "available": 9, "needed": 2}}]},
   {"id": "b", "source": "tool", "priority": 5, "score": 0.1, "tokens": 2, "excerpt": "two", "fate": "dropped", "events": [
    {"stage": "step", "step": "best", "did": ["added"], "place": {"from": 0, "to": 2}, "score": {"from": 0, "to": 0.1}},
    {"stage": "step", "step": "good", "did": ["dropped"], "place": {"from": 2, "to": 0}}]}]}}`

// The first part of a build that does something else is named, with its first item. Times, fuel and
// versions do not count.
func TestFirstDeparture(t *testing.T) {
	for name, tt := range map[string]struct {
		change []string
		want   string // stage, step and item
		what   string
	}{
		"nothing":         {nil, "", ""},
		"times":           {[]string{`"time_ms": 1`, `"time_ms": 8`, `"start_ms": 1`, `"start_ms": 4`, `"build_time_ms": 1`, `"build_time_ms": 8`}, "", ""},
		"fuel":            {[]string{`"fuel": 7`, `"fuel": 8`}, "", ""},
		"version":         {[]string{"sha256:1", "sha256:2"}, "", ""},
		"query":           {[]string{`"query": "q"`, `"query": "r"`}, "query//", "another text"},
		"score":           {[]string{`"to": 0.1}`, `"to": 0.2}`}, "step/best/b", "score 0.200"},
		"two steps":       {[]string{`"to": 0.1}`, `"to": 0.2}`, `"place": {"from": 2, "to": 0}`, `"place": {"from": 3, "to": 0}`}, "step/best/b", "score"},
		"another step":    {[]string{`"name": "good"`, `"name": "well"`, `"step": "good"`, `"step": "well"`}, "step/good/", "it did not run"},
		"a failed step":   {[]string{`, {"name": "good", "items_after": 1, "time_ms": 1, "start_ms": 2}]`, `], "step_failures": [{"step": "good", "reason": "trap", "message": "m"}]`}, "step/good/", "now: it failed (trap); recorded: it ran"},
		"an item is gone": {[]string{`"id": "b", "source": "tool"`, `"id": "c", "source": "tool"`}, "step/best/c", "item b was added"},
		"less room left":  {[]string{`"available": 9`, `"available": 8`}, "fill//a", "8 that were left"},
		"a text":          {[]string{`"content": "one"`, `"content": "two"`}, "step/best/a", "another text"},
		"the room":        {[]string{`"max_tokens": 9`, `"max_tokens": 10`}, "fill//", "room for 10 tokens"},
		"the format":      {[]string{"generic", "openai"}, "format//", "now: openai; recorded: generic"},
		"a failed build":  {[]string{`{"window"`, `{"error": {}, "window"`}, "build//", "now: the build failed"},
		"without traces": {[]string{`"items": [
   {`, `"cache": null, "lost": [{`, `"content": "one"`, `"content": "two"`}, "fill//a", "another text"},
	} {
		before, err := Decode("a", []byte(repeated))
		if err != nil {
			t.Fatal(err)
		}
		doc := strings.NewReplacer(tt.change...).Replace(repeated)
		if tt.change != nil && doc == repeated {
			t.Fatalf("%s: no change", name)
		}
		after, err := Decode("b", []byte(doc))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := FirstDeparture(before, after)
		switch {
		case got == nil && tt.want == "":
		case got == nil || got.Stage+"/"+got.Step+"/"+got.Item != tt.want || !strings.Contains(got.What, tt.what):
			t.Errorf("%s: %+v, want %s with %q", name, got, tt.want, tt.what)
		}
		if back := FirstDeparture(after, before); (back == nil) != (got == nil) {
			t.Errorf("%s: the other way round: %+v", name, back)
		}
	}
}

// The score of a fact changes with time and use, as that of the build does which is repeated. Its place counts.
func TestDepartureOfAFact(t *testing.T) {
	fact := strings.NewReplacer(`"stage": "step", "step": "best", "plugin": "p", "module": "sha256:1"`, `"stage": "memory"`, `"source": "tool"`, `"source": "memory"`).Replace(repeated)
	before, err := Decode("a", []byte(fact))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		change []string
		want   string
	}{
		{[]string{`0.5`, `0.4`}, ""},
		{[]string{`"from": 0, "to": 1`, `"from": 0, "to": 2`}, "memory//a"},
	} {
		doc := strings.NewReplacer(tt.change...).Replace(fact)
		after, err := Decode("b", []byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		if doc == fact || !strings.Contains(doc, `"stage": "memory"`) || !strings.Contains(doc, `"source": "memory"`) {
			t.Fatalf("no such build: %s", doc)
		}
		got := ""
		if d := FirstDeparture(before, after); d != nil {
			got = d.Stage + "/" + d.Step + "/" + d.Item
		}
		if got != tt.want {
			t.Errorf("%q: departure %q, want %q", tt.change, got, tt.want)
		}
	}
}
