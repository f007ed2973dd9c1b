package guesttext

import (
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "a\r\nb\n\nc": "a; b; c", "right\u202Eleft": "right\uFFFDleft", "\xff": "\uFFFD", "naïve": "naïve",
		"line\u2028paragraph\u2029end": "line\uFFFDparagraph\uFFFDend",
		strings.Repeat("é", 600):       strings.Repeat("é", 512) + "…",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q (want %q)", in, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, tc := range []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aé", 2, "a…"}, {"é", 1, "…"}, {"\xbf\xbf", 1, "…"},
	} {
		if got := Clip(tc.in, tc.n); got != tc.want {
			t.Errorf("Clip(%q, %d) = %q (want %q)", tc.in, tc.n, got, tc.want)
		}
	}
}
