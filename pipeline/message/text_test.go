package message

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzUnquote compares the texts of JSON strings with those of package jsontext.
func FuzzUnquote(f *testing.F) {
	for _, raw := range []string{`""`, `"a"`, `"\n\t\r\b\f\"\\\/"`, `"\u00e9\ud83d\ude00\ud83d"`, `"\ud83d\u0041x"`, `"\ude00\ud83d\ude00"`} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if v := jsontext.Value(raw); len(raw) == 0 || raw[0] != '"' || !v.IsValid(jsontext.AllowInvalidUTF8(true)) || raw[len(raw)-1] != '"' || invalidAt(raw) >= 0 {
			return
		}
		want, _ := jsontext.AppendUnquote(nil, raw)
		if got := unquote(raw); got != string(want) {
			t.Errorf("%s is %q, want %q", raw, got, want)
		}
	})
}
