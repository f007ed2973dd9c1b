package words

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func ExampleScanner() {
	s := Scanner{Text: "Alice's HTTPServer"}
	for s.Next() {
		fmt.Println(string(s.Word()))
	}
	// Output:
	// alice
	// httpserver
}

func all(s Scanner) (found []string) {
	for s.Next() {
		found = append(found, string(s.Word()))
	}
	return found
}

func TestScanner(t *testing.T) {
	for _, c := range []struct {
		name, text string
		split      bool
		want       []string
	}{
		{"nothing", "", false, nil},
		{"no words", " \t…—!? ''' ", false, nil},
		{"case and punctuation", "Hello, World-wide 3.14", false, []string{"hello", "world", "wide", "3", "14"}},
		{"apostrophes", "don't dogs' James's 's", false, []string{"don't", "dogs", "james", "s"}},
		{"curly apostrophe", "Alice’s don’t", false, []string{"alice", "don't"}},
		{"accents", "Ärger ÉCOLE", false, []string{"ärger", "école"}},
		{"combining mark", "Cafe\u0301", false, []string{"cafe\u0301"}},
		{"a lone mark is no word", "\u0301 x", false, []string{"x"}},
		{"ideographs", "東京2024年abc", false, []string{"東", "京", "2024", "年", "abc"}},
		{"invalid UTF-8", "a\xffb\xc3", false, []string{"a", "b"}},
		{"zero byte", "a\x00b", false, []string{"a", "b"}},
		{"names", "ParseDuration HTTPServer x", true, []string{"parseduration", "parse", "duration", "httpserver", "http", "server", "x"}},
		{"names with digits", "Float64Slice UTF8", true, []string{"float64slice", "float", "64", "slice", "utf8", "utf", "8"}},
		{"no names", "plain UPPER", true, []string{"plain", "upper"}},
		{"name with accent", "straßeÖffnenJetzt", true, []string{"straßeöffnenjetzt", "straßeöffnen", "jetzt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := all(Scanner{Text: c.text, SplitIdentifiers: c.split}); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestScannerPlaces(t *testing.T) {
	const text = "  Two  wörds."
	s := Scanner{Text: text}
	var found []string
	for s.Next() {
		found = append(found, text[s.Start():s.End()])
	}
	if want := []string{"Two", "wörds"}; !slices.Equal(found, want) {
		t.Errorf("got %q, want %q", found, want)
	}
}

func TestScannerCutsEndlessWords(t *testing.T) {
	got := all(Scanner{Text: strings.Repeat("é", 1000)})
	if strings.Join(got, "") != strings.Repeat("é", 1000) {
		t.Error("letters were lost or broken")
	}
	for _, w := range got {
		if len(w) > maxBytes+utf8.UTFMax {
			t.Errorf("a word of %d bytes", len(w))
		}
	}
}

func TestScannerReset(t *testing.T) {
	s := Scanner{Text: "FooBar", SplitIdentifiers: true}
	s.Next()
	s.Reset("x")
	if !s.Next() || string(s.Word()) != "x" || s.Next() {
		t.Error("Reset kept something of the text before")
	}
}

func FuzzScanner(f *testing.F) {
	f.Add("Alice’s HTTPServer 東京 \xff", true)
	f.Fuzz(func(t *testing.T, text string, split bool) {
		s := Scanner{Text: text, SplitIdentifiers: split}
		for s.Next() {
			if len(s.Word()) == 0 {
				t.Fatal("an empty word")
			}
			if utf8.ValidString(text) && !utf8.Valid(s.Word()) {
				t.Fatalf("%q is not UTF-8", s.Word())
			}
			if s.Start() < 0 || s.End() > len(text) || s.Start() >= s.End() {
				t.Fatalf("place %d..%d of %d", s.Start(), s.End(), len(text))
			}
		}
	})
}
