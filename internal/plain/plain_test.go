package plain

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"as it is: ä, 世\t\n":         "as it is: ä, 世\t\n",
		"\x1b]0;pwned\a":             `\u001b]0;pwned\u0007`,
		"a\r\nb":                     "a\\r\nb",
		"\u009b2J \u007f":            `\u009b2J \u007f`,
		"\u202egnp.exe \u2066\u200f": `\u202egnp.exe \u2066\u200f`,
		"\u2028\u2029":               `\u2028\u2029`,
		"\x9b\xff":                   "\ufffd\ufffd",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := Line("a\nanchor-host: all good"); got != `a\nanchor-host: all good` {
		t.Errorf("got %q", got)
	}
}

func TestName(t *testing.T) {
	for in, want := range map[string]string{
		"steps[0].top_k": "steps[0].top_k", "größe": "größe", "": `""`, "my key": `"my key"`, `a"b`: `"a\"b"`,
		"a\nb: c": `"a\nb: c"`, "\x1b[2J": `"\x1b[2J"`, "\u202e": `"\u202e"`, "\xff": `"\xff"`,
		strings.Repeat("k", 101): strings.Repeat("k", 100) + "…", strings.Repeat("ä", 1000): strings.Repeat("ä", 50) + "…",
		strings.Repeat("\n", 1000): `"` + strings.Repeat(`\n`, 100) + `"…`,
	} {
		if got := Name(in); got != want {
			t.Errorf("%.30q: got %s, want %s", in, got, want)
		}
	}
}

// A line keeps its beginning and its end, whole characters of both.
func TestLongLine(t *testing.T) {
	got := Line("begin " + strings.Repeat("ä", 5000) + " (the remedy)")
	if len(got) > 2100 || !strings.HasPrefix(got, "begin ä") || !strings.HasSuffix(got, "ä (the remedy)") ||
		!strings.Contains(got, " bytes left out) ") || !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

// A character that comes in parts is written whole.
func TestWriter(t *testing.T) {
	const text = "ä世\x1b\u009b😀.\n"
	for step := 1; step < 6; step++ {
		var b bytes.Buffer
		w := &Writer{To: &b}
		for at := 0; at < len(text); at += step {
			part := text[at:min(at+step, len(text))]
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if want := `ä世\u001b\u009b😀.` + "\n"; b.String() != want {
			t.Errorf("by %d: %q, want %q", step, b.String(), want)
		}
	}
}

// FuzzPlain checks that nothing that acts is left, and that JSON keeps its meaning.
func FuzzPlain(f *testing.F) {
	f.Add("a\x1b\u009b\n\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		for name, got := range map[string]string{"Text": Text(s), "Line": Line(s), "Name": Name(s), "Path": Path(s)} {
			if !utf8.ValidString(got) {
				t.Errorf("%s(%q) = %q is no UTF-8", name, s, got)
			}
			for _, r := range got {
				if unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp) && r != '\t' && (r != '\n' || name != "Text") {
					t.Fatalf("%s(%q) = %q", name, s, got)
				}
			}
		}
		if n := len(Name(s)); n > 6*longestName+len(`""…`) {
			t.Errorf("Name(%q) has %d bytes", s, n)
		}
		doc, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		if err := json.Unmarshal(doc, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(Text(string(doc))), &after); err != nil || before != after {
			t.Errorf("%q becomes %q, %v", before, after, err)
		}
	})
}
