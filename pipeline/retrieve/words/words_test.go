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
		{"accents", "Ärger ÉCOLE", false, []string{"arger", "ecole"}},
		{"combining mark", "Cafe\u0301", false, []string{"cafe"}},
		{"a lone mark is no word", "\u0301 x", false, []string{"x"}},
		{"ideographs", "東京2024年abc", false, []string{"東", "京", "2024", "年", "abc"}},
		{"invalid UTF-8", "a\xffb\xc3", false, []string{"a", "b"}},
		{"zero byte", "a\x00b", false, []string{"a", "b"}},
		{"names", "ParseDuration HTTPServer x", true, []string{"parseduration", "parse", "duration", "httpserver", "http", "server", "x"}},
		{"names with digits", "Float64Slice UTF8", true, []string{"float64slice", "float", "64", "slice", "utf8", "utf", "8"}},
		{"no names", "plain UPPER", true, []string{"plain", "upper"}},
		{"soft hyphen", "soft\u00adhyphen \u00ad", false, []string{"softhyphen"}},
		{"no width", "\ufeffze\u200bro\u200d", false, []string{"zero"}},
		{"sharp s", "Größe GRÖẞE grosse", false, []string{"grosse", "grosse", "grosse"}},
		{"Latin letters", "Œuvre Łódź Ægir ﬁn ＡＢＣ１", false, []string{"oeuvre", "lodz", "aegir", "fin", "abc1"}},
		{"Greek", "Σωκράτης ΣΩΚΡΆΤΗΣ", false, []string{"σωκρατησ", "σωκρατησ"}},
		{"Cyrillic", "Ёлка й и\u0306", false, []string{"елка", "и", "и"}},
		{"Arabic marks", "يُغادِرُ يغادر", false, []string{"يغادر", "يغادر"}},
		{"Arabic letters", "أحمد احمد عـــلى علي ۱۲٣", false, []string{"احمد", "احمد", "علي", "علي", "123"}},
		{"Hebrew points", "שָׁלוֹם", false, []string{"שלום"}},
		{"Devanagari keeps its vowels", "हिन्दी", false, []string{"हिन्दी"}},
		{"half width", "ﾊﾝｶｸ ｶﾞ ガ カ\u3099", false, []string{"ハ", "ン", "カ", "ク", "ガ", "ガ", "ガ"}},
		{"Thai", "กรุง ก", false, []string{"กร", "รุ", "ุง", "ก"}},
		{"Khmer with spaces of no width", "ភា\u200bសា", false, []string{"ភា", "ាស", "សា"}},
		{"Korean", "초과근무를 값을 a값b", false, []string{"초과", "과근", "근무", "무를", "값을", "값", "a", "값", "b"}},
		{"Korean in letters", "\u1100\u1161\u1102\u1161\u11ab", false, []string{"가난", "가"}},
		{"ignored before a pair", "\u200bกข", false, []string{"กข"}},
		{"names with signs", "C++ C# F#, c C+++ c#x i++ R&D", false, []string{"c++", "c#", "f#", "c", "c", "c", "x", "i++", "r", "d"}},
		{"dot net", ".NET .net ASP.NET example.net .network net", false, []string{".net", ".net", "asp", ".net", "example", "net", "network", "net"}},
		{"name with accent", "straßeÖffnenJetzt", true, []string{"strasseoffnenjetzt", "strasseoffnen", "jetzt"}},
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
	if strings.Join(got, "") != strings.Repeat("e", 1000) {
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
	f.Add("Größe ﾊﾞ กรุงเทพ 초과 \u1100\u1161 C++ .NET \u200b\u00ad ﷺ", true)
	f.Fuzz(func(t *testing.T, text string, split bool) {
		s := Scanner{Text: text, SplitIdentifiers: split}
		for s.Next() {
			if len(s.Word()) == 0 {
				t.Fatal("an empty word")
			}
			if utf8.ValidString(text) && !utf8.Valid(s.Word()) {
				t.Fatalf("%q is not UTF-8", s.Word())
			}
			if len(s.Word()) > maxBytes+64 {
				t.Fatalf("a word of %d bytes", len(s.Word()))
			}
			if s.Start() < 0 || s.End() > len(text) || s.Start() >= s.End() {
				t.Fatalf("place %d..%d of %d", s.Start(), s.End(), len(text))
			}
		}
	})
}

// BenchmarkScanner asks how fast texts are scanned, plain and others.
func BenchmarkScanner(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"English", "Retrieves the documents (by words) that match a question best; see ParseDuration. "},
		{"German", "Größe und Länge der Straße müssen geändert werden, für alle Häuser. "},
		{"Russian", "Документы находятся по словам вопроса, ещё быстрее. "},
		{"Korean", "초과근무를 승인하는 방법을 설명합니다. "},
		{"Japanese", "文書を単語で検索します。データベース "},
	} {
		b.Run(c.name, func(b *testing.B) {
			text := strings.Repeat(c.text, 100)
			b.SetBytes(int64(len(text)))
			s := Scanner{SplitIdentifiers: true}
			for b.Loop() {
				for s.Reset(text); s.Next(); {
				}
			}
		})
	}
}
