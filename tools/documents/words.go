package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// set is some documents of one kind.
type set struct {
	name, kind string
	files      []string
	target     float64 // for the share of words, 0 for none
	// menus are the lines of pages that half of the set has, once they are known.
	menus map[string]bool
}

// fewestPages is the size of a set in which lines that repeat are told from text.
const fewestPages = 40

// findMenus finds the lines that half of the pages of a set have: the menus of a site, which a reader may leave out.
func (s *set) findMenus(ctx context.Context) error {
	if s.menus = map[string]bool{}; s.kind != "html" || len(s.files) < fewestPages {
		return nil
	}
	pages := map[string]int{}
	for _, path := range s.files {
		r, err := references[s.kind].read(ctx, path)
		if err != nil {
			return err
		}
		lines := strings.Split(r.text, "\n")
		slices.Sort(lines)
		for _, line := range slices.Compact(lines) {
			pages[line]++
		}
	}
	for line, n := range pages {
		s.menus[line] = 2*n >= len(s.files)
	}
	return nil
}

// result is what an engine made of a set.
type result struct {
	documents, read int
	words, found    int
	shares          []float64 // of documents with words
	cpu             time.Duration
	memory          int64
}

func (r *result) share() float64 { return float64(r.found) / float64(max(r.words, 1)) }

const header = "| set | engine | documents | with text | share of words found | median | below 0.9 | processor | most memory |\n|---|---|--:|--:|--:|--:|--:|--:|--:|"

func (r *result) row(s set, e engine) string {
	slices.Sort(r.shares)
	median, below := 0.0, 0
	if n := len(r.shares); n > 0 {
		median = r.shares[n/2]
		below, _ = slices.BinarySearch(r.shares, 0.9)
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %.4f | %.3f | %d | %.1f s | %d MB |",
		s.name, e.name, r.documents, r.read, r.share(), median, below, r.cpu.Seconds(), r.memory>>20)
}

// measure reads a set with an engine and compares it with the reference. A document that the engine does not read has
// no words; one in which the reference finds none does not count.
func (s *set) measure(ctx context.Context, e engine, verbose bool, w io.Writer) (*result, error) {
	r := &result{}
	if s.menus == nil {
		if err := s.findMenus(ctx); err != nil {
			return r, err
		}
	}
	for _, path := range s.files {
		ref, err := references[s.kind].read(ctx, path)
		if err != nil {
			return r, err
		}
		got := ref
		if e.name != references[s.kind].name {
			if got, err = e.read(ctx, path); err != nil {
				return r, err
			}
		}
		r.documents++
		r.cpu, r.memory = r.cpu+got.cpu, max(r.memory, got.memory)
		want, have := count(ref.text), count(got.text)
		if len(have) > 0 {
			r.read++
		}
		if want, err = s.agreed(ctx, path, ref.text, want); err != nil {
			return r, err
		}
		words, found := compare(want, have)
		if r.words, r.found = r.words+words, r.found+found; words > 0 {
			r.shares = append(r.shares, float64(found)/float64(words))
		}
		if verbose {
			extra, _ := compare(have, want)
			fmt.Fprintf(w, "%s\t%s\t%.3f\t%d of %d\t%d\t%.2fs\t%s\n", path, e.name, float64(found)/float64(max(words, 1)), found, words, extra, got.cpu.Seconds(), strings.ReplaceAll(got.failed, "\n", " "))
		}
	}
	return r, nil
}

// agreed leaves out of what a reference finds in a PDF what says nothing about a reader: words that pdftotext does not
// find in both of its orders, as it tears and glues turned or overlapping text, and lines at the edge of pages that
// repeat, which a reader may leave out, as it may the menus of pages.
func (s *set) agreed(ctx context.Context, path, text string, want map[string]int) (map[string]int, error) {
	if s.kind != "pdf" {
		for line := range strings.SplitSeq(text, "\n") {
			if s.menus[line] {
				for w, n := range count(line) {
					want[w] = max(0, want[w]-n)
				}
			}
		}
		return want, nil
	}
	raw, err := (engine{name: "pdftotext -raw", command: func(p string) []string { return []string{"pdftotext", "-q", "-raw", p, "-"} }}).read(ctx, path)
	if err != nil {
		return nil, err
	}
	other, edges := count(raw.text), count(strings.Join(edges(text), "\n"))
	for w, n := range want {
		want[w] = max(0, min(n, other[w])-edges[w])
	}
	return want, nil
}

var digits = regexp.MustCompile(`\d+`)

// edges returns the first and last lines of pages that stand on three pages or more, numbers aside.
func edges(text string) []string {
	var lines []string
	pages := map[string]int{}
	for page := range strings.SplitSeq(text, "\f") {
		l := strings.FieldsFunc(page, func(c rune) bool { return c == '\n' })
		if len(l) > 8 {
			l = append(l[:4:4], l[len(l)-4:]...)
		}
		for _, line := range l {
			lines = append(lines, line)
			pages[digits.ReplaceAllString(line, "#")]++
		}
	}
	return slices.DeleteFunc(lines, func(line string) bool { return pages[digits.ReplaceAllString(line, "#")] < 3 })
}

// hyphenated is a word that goes on in the next line.
var hyphenated = regexp.MustCompile(`(\p{Ll})[-\x{00ad}]\n\s*(\p{Ll})`)

// count counts the words of a text: letters, marks and digits that follow each other, and each sign of a script
// without spaces.
func count(text string) map[string]int {
	text = strings.ToLower(norm.NFKC.String(hyphenated.ReplaceAllString(text, "$1$2")))
	text = strings.Map(func(c rune) rune {
		if unicode.Is(unicode.Cf, c) || c == 'ـ' {
			return -1
		}
		return c
	}, text)
	n := map[string]int{}
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return !unicode.In(c, unicode.L, unicode.M, unicode.N) && !unknown(c) }) {
		start := 0
		if strings.ContainsFunc(word, unknown) {
			continue
		}
		for i, c := range word {
			if unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
				if start < i {
					n[word[start:i]]++
				}
				n[string(c)]++
				start = i + len(string(c))
			}
		}
		if start < len(word) {
			n[word[start:]]++
		}
	}
	return n
}

// unknown reports whether a character stands for a letter that a reader does not know: a code of the file, or a sign that
// Ghostscript writes for bitmaps.
func unknown(c rune) bool {
	return c < ' ' && !unicode.IsSpace(c) || c == unicode.ReplacementChar || c >= 0x2190 && c <= 0x27BF || unicode.Is(unicode.Co, c)
}

// compare returns how many words are wanted, and how many of them are there.
func compare(want, have map[string]int) (words, found int) {
	for w, n := range want {
		words, found = words+n, found+min(n, have[w])
	}
	return words, found
}
