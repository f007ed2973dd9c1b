package providers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

func digest(t *testing.T, d Digest, previous string, texts ...string) string {
	t.Helper()
	var turns []pipeline.Turn
	for _, text := range texts {
		turns = append(turns, pipeline.Turn{Role: pipeline.RoleUser, Content: text})
	}
	out, err := d.Compact(t.Context(), turns, previous)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDigest(t *testing.T) {
	d := Digest{MaxLine: 10, MaxText: 25}
	for _, c := range []struct {
		previous string
		texts    []string
		want     string
	}{
		{"", []string{"a  b\nc"}, "user: a b…"},
		{"", []string{"éééé"}, "user: éééé"},
		{"", []string{"ééééé"}, "user: ééé…"},
		{"user: a", []string{"b"}, "user: a\nuser: b"},
		{"user: a\nuser: b\nuser: c", []string{"d"}, "(1 earlier lines left out)\nuser: b\nuser: c\nuser: d"},
		{"(41 earlier lines left out)\nuser: b\nuser: c", []string{"d", "e"}, "(42 earlier lines left out)\nuser: c\nuser: d\nuser: e"},
		{"(4 earlier lines left out) or so", nil, "(4 earlier lines left out) or so"},
		{strings.Repeat("x", 100), nil, strings.Repeat("x", 100)},
		{strings.Repeat("x", 100), []string{"a"}, "(1 earlier lines left out)\nuser: a"},
	} {
		if got := digest(t, d, c.previous, c.texts...); got != c.want {
			t.Errorf("%q and %q: %q, want %q", c.previous, c.texts, got, c.want)
		}
	}
}

func TestDigestStaysWithinItsBounds(t *testing.T) {
	text := ""
	for range 50 {
		text = digest(t, Digest{}, text, slices.Repeat([]string{strings.Repeat("word ", 100)}, 20)...)
	}
	lines := strings.Split(text, "\n")
	if n := utf8.RuneCountInString(text); n > DefaultDigestText+100 || n < DefaultDigestText/2 {
		t.Errorf("%d characters", n)
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) > DefaultDigestLine {
			t.Errorf("line %q", line)
		}
	}
	if !strings.HasPrefix(lines[0], "(976 ") || len(lines) != 25 {
		t.Errorf("%d lines, the first %q", len(lines), lines[0])
	}
}

func TestDigestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Digest{}).Compact(ctx, nil, ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTurnsShowToolCalls(t *testing.T) {
	for raw, want := range map[string]string{
		"null": "say",
		`[{"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}]`: "say\ncalls f({\"a\":1})",
		`[{"function":{"name":"g"}},{"function":{"name":"h"}}]`:        "say\ncalls g()\ncalls h()",
	} {
		m := fromJSON(pipeline.RoleAssistant, `"content":"say","name":"n","tool_calls":`+raw)
		got := asTurn(&m, 7)
		if got.Content != want || got.TokenCount != 7 || got.Metadata["name"] != "n" {
			t.Errorf("%s: %+v, want %q", raw, got, want)
		}
	}
	m := message.NewResult("i", "f", "done")
	if got := asTurn(&m, 0); got.Content != "done" || got.Metadata["name"] != "f" || got.Metadata["tool_call_id"] != "i" {
		t.Errorf("%+v", got)
	}
}
