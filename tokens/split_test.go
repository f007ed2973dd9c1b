package tokens

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// atoms are texts at which splits may go wrong.
var atoms = []string{
	"\n", "\n\n", "\r\n", " ", "  ", "\t", "/", "//", "-", "---", ".", "...", "a", "Ab", "word", " word", "1", "123", "'s", "'",
	"é", "漢", "\u3000", "\u2028", "\u00a0", "\u0085", "\u0301", "🎉", "\xff", "\xe2\x82", "=", "#", "\x00", "\ufeff", "Ⅷ",
}

func randomText(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(atoms[r.IntN(len(atoms))])
	}
	return b.String()
}

// splitter is the interface of both kinds of tokenizers.
type splitter interface {
	NextSplit(text string, from int) int
}

// checkSplits compares the tokens of a text with those of its parts.
func checkSplits(t *testing.T, s splitter, count func(string) int, text string) {
	t.Helper()
	sum, from := 0, 0
	for from < len(text) {
		next := s.NextSplit(text, from)
		if next <= from || next > len(text) {
			t.Fatalf("%q: split behind %d is %d", text, from, next)
		}
		sum += count(text[from:next])
		from = next
	}
	if whole := count(text); sum != whole {
		t.Fatalf("%q: parts have %d tokens, the whole %d", text, sum, whole)
	}
}

func countOne(t testing.TB, e *Encoding) func(string) int {
	c, err := e.load()
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) int {
		n, err := c.Count(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

func TestPartsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range Names() {
		e, rounds := mustGet(t, name), 20000
		if strings.HasSuffix(name, "50k_base") {
			rounds = 2000
		}
		count := countOne(t, e)
		for range rounds {
			checkSplits(t, e, count, randomText(r, 1+r.IntN(30)))
		}
	}
	for range 20000 {
		checkSplits(t, Words{}, countWords, randomText(r, 1+r.IntN(30)))
	}
}

func TestPartsOfRealTextAddUp(t *testing.T) {
	files, err := filepath.Glob("internal/bpe/testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range Names() {
			e := mustGet(t, name)
			checkSplits(t, e, countOne(t, e), string(text[:min(len(text), 8<<10)]))
		}
	}
}

func TestVocabularyDigests(t *testing.T) {
	for _, name := range Names() {
		file, err := assets.Assets.ReadFile(name + ".tiktoken")
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(file)
		if got := hex.EncodeToString(sum[:]); got != mustGet(t, name).Vocabulary() {
			t.Errorf("%s: the vocabulary has digest %s", name, got)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("a\n\nb\n /c\r\n\u2028x")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2048 {
			return
		}
		for _, name := range []string{"cl100k_base", "o200k_base"} {
			e := mustGet(t, name)
			checkSplits(t, e, countOne(t, e), text)
		}
		checkSplits(t, Words{}, countWords, text)
	})
}
