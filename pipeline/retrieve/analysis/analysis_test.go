package analysis

import (
	"strings"
	"testing"

	"github.com/kljensen/snowball/english"
)

func TestAnalyzer(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opts       Options
		want       string
	}{
		{"plain", "The Cats' 3 hats", Options{}, "the cats 3 hats"},
		{"stems", "Parsing parsed parses sky's", Options{Stem: true}, "pars pars pars sky"},
		{"no stem of codes and other scripts", "mp3s Häuser it", Options{Stem: true}, "mp3s hauser it"},
		{"Lucene's stop words", "how to be with it", Options{Stop: LuceneStopWord}, "how"},
		{"English stop words", "how do I sort", Options{Stop: EnglishStopWord}, "sort"},
		{"a list", "Foo bar", Options{Stop: StopList([]string{"FOO"})}, "bar"},
		{"names", "ParseFlags", Options{Stem: true, SplitIdentifiers: true}, "parseflag pars flag"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(New(c.opts).Terms(c.text), " "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestQuestion(t *testing.T) {
	a := New(Options{Stop: LuceneStopWord, Weak: EnglishStopWord, Stem: true})
	for text, want := range map[string]string{"How does it sort the same lists?": "sort list", "what is the same": "what same", "": ""} {
		if got := strings.Join(a.Question(text), " "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := strings.Join(New(Options{}).Question("how now"), " "); got != "how now" {
		t.Errorf("without weak words: %q", got)
	}
}

// TestUnstemmed asks the stemmer about words with every ending that the
// analyzer keeps from it.
func TestUnstemmed(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyz'"
	for _, beginning := range []string{"", "b", "y", "gener", "commun", "hopp", "relation", "happi", "argu", "sayi", "don'"} {
		for _, a := range letters {
			for _, b := range letters {
				for last := range len(unstemmed) {
					word := beginning + string(a) + string(b) + string(rune(last))
					if unstemmed[last] && word[0] != '\'' && english.Stem(word, true) != word {
						t.Fatalf("the stem of %s is %s", word, english.Stem(word, true))
					}
				}
			}
		}
	}
}
