package jsontext

import (
	"encoding/json"
	"testing"
)

// NumberEnd and encoding/json agree on what is a number.
func FuzzNumberEnd(f *testing.F) {
	for _, text := range []string{"", "0", "-0", "-", "01", "1.", ".5", "1.5", "1e", "1e+", "1E-07", "+1", "0x1", "1_0", "NaN", "12]", "-1.25e3,"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		end, ok := NumberEnd(b, 0)
		if end < 0 || end > len(b) {
			t.Fatalf("%q: ends at %d", b, end)
		}
		if ok && !json.Valid(b[:end]) {
			t.Errorf("%q: %q was read as a number", b, b[:end])
		}
		if number := len(b) > 0 && b[0] != ' ' && json.Unmarshal(b, new(json.Number)) == nil; number && (b[0] == '-' || b[0] >= '0' && b[0] <= '9') && SkipSpace(b, end) != len(b) {
			t.Errorf("%q: the number ends at %d, %v", b, end, ok)
		}
	})
}

// A string ends at the first quote that no backslash precedes, or an even number of them.
func TestQuoted(t *testing.T) {
	for text, want := range map[string]string{`"`: "", `a"b"`: "a", `a\"b" "`: `a\"b`, `a\\"b"`: `a\\`, `\\\""`: `\\\"`, `"\`: ""} {
		raw, escaped, ok := Quoted([]byte(text))
		if hasBackslash := len(want) > 1; !ok || string(raw) != want || escaped != hasBackslash {
			t.Errorf("%s: got %s, %v, %v, want %s", text, raw, escaped, ok, want)
		}
	}
	for _, text := range []string{"", "a", `\"`, `a\\\"`} {
		if raw, _, ok := Quoted([]byte(text)); ok {
			t.Errorf("%s: got %s", text, raw)
		}
	}
}
