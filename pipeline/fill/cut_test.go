package fill

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/tokens"
)

func TestCutPlaces(t *testing.T) {
	const text = "One two. Three four? Five"
	for _, tc := range []struct {
		at   Cutting
		text string
		n    int
		want string
	}{
		{CutSentence, text, 24, "One two. Three four?"}, {CutSentence, text, 20, "One two. Three four?"}, {CutSentence, text, 19, "One two."},
		{CutSentence, text, 7, ""}, {CutSentence, text, len(text), text},
		{CutSentence, "Version 1.25 is out. More", 24, "Version 1.25 is out."}, {CutSentence, "See e.g. this. More", 18, "See e.g. this."},
		{CutSentence, "He said \"no.\" Then", 16, "He said \"no.\""}, {CutSentence, "- first\n- second", 12, "- first"},
		{CutSentence, "本日は晴天。明日は雨。終", 33, "本日は晴天。明日は雨。"}, {CutSentence, "本日は晴天。明日", 21, "本日は晴天。"},
		{CutSentence, "Wait... what", 9, "Wait..."}, {CutSentence, "No end here", 8, ""},
		{CutCharacter, "hello world", 8, "hello wo"}, {CutCharacter, "hello world", 6, "hello"},
		{CutCharacter, "cafe\u0301s", 4, "caf"}, {CutCharacter, "a👩\u200d👧b", 5, "a"}, {CutCharacter, "a👩\u200d👧b", 8, "a"},
		{CutCharacter, "x🇩🇪🇫🇷", 5, "x"}, {CutCharacter, "x🇩🇪🇫🇷", 9, "x🇩🇪"}, {CutCharacter, "x🇩🇪🇫🇷", 13, "x🇩🇪"}, {CutCharacter, "x👍🏽y", 5, "x"},
		{CutCharacter, "नमस्ते जी", 12, "नम"}, {CutCharacter, "\u1100\u1161\u11a8x", 6, ""}, {CutCharacter, "a\r\nb", 2, "a"},
		{CutCharacter, "x\n🇩🇪🇫🇷", 10, "x\n🇩🇪"}, {CutCharacter, "a" + strings.Repeat("\u0301", 200), 21, ""},
		{CutCharacter, "a" + strings.Repeat("\u0301", 200), 301, "a" + strings.Repeat("\u0301", 150)},
	} {
		c := Truncation{At: tc.at}
		if got := c.end(tc.text, tc.n); got != tc.want {
			t.Errorf("%s: %q[:%d] ends as %q, want %q", tc.at, tc.text, tc.n, got, tc.want)
		}
	}
}

// A cut text is a beginning of the whole, within its limit and not shorter than min_tokens,
// and ends at an allowed place.
func TestCutTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	cut := 0
	for _, name := range []string{"cl100k_base", "words"} {
		tokenizer, err := tokenizerOf(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 3000 {
			text, limit := randomContent(r), r.IntN(60)
			c := Truncation{At: Cuttings[1+r.IntN(2)], MinTokens: 1 + r.IntN(10)}
			got, n, err := c.text(t.Context(), tokenizer, text, limit)
			if err != nil {
				t.Fatal(err)
			}
			if got == "" {
				continue
			}
			cut++
			counts, err := tokenizer.Count(t.Context(), got)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(text, got) || got == text || counts[0] != n || n > limit || n < c.MinTokens || strings.TrimSpace(got) == "" {
				t.Fatalf("%s: %q cut at a %s to %d is %q of %d", name, text, c.At, limit, got, n)
			}
			if rest := text[len(got):]; utf8.ValidString(text) && !utf8.RuneStart(rest[0]) {
				t.Fatalf("%q is cut inside a character: %q", text, got)
			}
		}
	}
	if cut < 500 {
		t.Errorf("only %d texts were cut", cut)
	}
}

func FuzzCut(f *testing.F) {
	f.Add("One. Two! 三。\u0301🇩🇪👩\u200d👧", 7)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 0 || n > len(text) || n < len(text) && !utf8.RuneStart(text[n]) {
			return
		}
		for _, at := range []Cutting{CutSentence, CutCharacter} {
			c := Truncation{At: at}
			if got := c.end(text, n); len(got) > n || !strings.HasPrefix(text, got) {
				t.Fatalf("%s: %q[:%d] ends as %q", at, text, n, got)
			}
		}
	})
}

// pieces are the parts of contents: ten scripts, code, and texts whose tokens merge badly.
var pieces = []string{
	"The quick brown fox jumps over the lazy dog. ", "contexts ", "deadline", "func main() {\n\tprintln(1)\n}\n", "漢字かな交じり文。", "Привет, мир! ", "ελληνικά ",
	"שלום ", "مرحبا ", "हिन्दी ", "ไทย", "한국어 ", "🎉👩‍👩‍👧", "12345 ", "x=1;", "{\"a\": [1, 2]}", "\n", "\n\n", "  ", "\t", "---", "\n---\n", "/", "//", "===", "…", "’s", ".", " \n ", "a", "\u3000", "\u00a0",
}

func randomContent(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func tokenizerOf(name string) (core.Tokenizer, error) {
	if name == tokens.WordsName {
		return tokens.Words{}, nil
	}
	return tokens.Get(name)
}
