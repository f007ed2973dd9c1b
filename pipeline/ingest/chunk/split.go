package chunk

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// span is a part of a text, by bytes.
type span struct{ from, to int }

// The places at which a text is cut, the best first.
const (
	atBlank = iota
	atLine
	atSentence
	atWord
	anywhere
)

// costs is the work of looking for a place, for each byte.
var costs = [...]int{atBlank: 1, atLine: 1, atSentence: 4, atWord: 1}

// split cuts a text, which begins at base, into parts of at most most tokens, each as large as possible.
// It cuts at the best places that suffice.
func (o *cutter) split(text string, base, place, most int) iter.Seq[span] {
	switch {
	case o.Count(text) <= most:
		return func(yield func(span) bool) { yield(span{base, base + len(text)}) }
	case place == anywhere:
		return hardCut(text, base, most)
	}
	return func(yield func(span) bool) {
		open, size, pos := 0, 0, 0
		flush := func() bool {
			s := span{base + open, base + pos}
			open, size = pos, 0
			return s.from == s.to || yield(s)
		}
		for pos < len(text) {
			end := pos + nextCut(text[pos:], place)
			if !o.m.Work(16 + costs[place]*(end-pos)) {
				return
			}
			n := o.Count(text[pos:end])
			if size+n > most && !flush() {
				return
			}
			if n <= most {
				size += n
				pos = end
				continue
			}
			for s := range o.split(text[pos:end], base+pos, place+1, most) {
				if !yield(s) {
					return
				}
			}
			pos = end
			open = end
		}
		flush()
	}
}

// splitAll cuts a text at each place of a kind, and the parts if they are too large.
func (o *cutter) splitAll(text string, place int) iter.Seq[span] {
	return func(yield func(span) bool) {
		for pos := 0; pos < len(text); {
			end := pos + nextCut(text[pos:], place)
			if !o.m.Work(16 + costs[place]*(end-pos)) {
				return
			}
			for s := range o.split(text[pos:end], pos, place, o.Size) {
				if !yield(s) {
					return
				}
			}
			pos = end
		}
	}
}

// nextCut returns the end of the first part of a text.
func nextCut(text string, place int) int {
	switch place {
	case atBlank:
		if i := strings.Index(text, "\n\n"); i >= 0 {
			for i < len(text) && text[i] == '\n' {
				i++
			}
			return i
		}
	case atLine:
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			return i + 1
		}
	case atSentence:
		// Sentences are looked for in a window, so that a text without any costs linear
		// time.
		window := text
		if len(window) > maxSentence {
			window = window[:runeStart(window, maxSentence)]
		}
		if s := sentences.FromString(window); s.Next() {
			return max(1, len(s.Value()))
		}
	case atWord:
		if i := strings.IndexAny(text, " \t\n"); i >= 0 {
			for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n') {
				i++
			}
			return i
		}
	}
	return len(text)
}

const maxSentence = 4 << 10

// hardCut cuts a text without any place to cut: a token has at least one byte.
func hardCut(text string, base, most int) iter.Seq[span] {
	return func(yield func(span) bool) {
		for pos := 0; pos < len(text); {
			end := min(len(text), pos+max(most, utf8.UTFMax))
			if end < len(text) {
				end = whole(text, pos, runeStart(text, end))
			}
			if !yield(span{base + pos, base + end}) {
				return
			}
			pos = end
		}
	}
}

// runeStart returns the start of the rune at pos.
func runeStart(text string, pos int) int {
	for i := range utf8.UTFMax {
		if pos-i > 0 && utf8.RuneStart(text[pos-i]) {
			return pos - i
		}
	}
	return pos
}

// maxJoined is how far back the start of a character of several runes is looked for, in bytes.
const maxJoined = 64

// whole moves the end of a part, which begins at from, so that it does not cut a character that several
// runes make, such as an emoji with joiners, a flag, or a letter with marks. One without end is cut.
func whole(text string, from, end int) int {
	for at := end; at > from && at > end-maxJoined; {
		before, n := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at:])
		if !joined(text[from:at], before, after) {
			return at
		}
		at -= n
	}
	return end
}

// joined reports whether two runes beside each other belong to one character.
func joined(text string, before, after rune) bool {
	const joiner = '\u200d'
	flag := func(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }
	switch {
	case before == joiner, after == joiner:
		return true
	case unicode.Is(unicode.M, after), after >= 0x1F3FB && after <= 0x1F3FF, after >= 0xE0020 && after <= 0xE007F:
		return true // marks, colours of skin, and the letters of flags of regions
	case flag(before) && flag(after):
		n := 0
		for i := len(text); i > 0; i -= 4 {
			if r, _ := utf8.DecodeLastRuneInString(text[:i]); !flag(r) {
				break
			}
			n++
		}
		return n%2 == 1
	case before >= 0x1100 && before < 0x1160, after >= 0x1160 && after < 0x1200:
		return after >= 0x1100 && after < 0x1200 // parts of a syllable
	}
	return false
}

// tail returns the start of the last tokens of a text, at the start of a word.
func (o *cutter) tail(text string, tokens int) int {
	from := len(text)
	for from > 0 {
		at := strings.LastIndexAny(strings.TrimRight(text[:from], " \t\n"), " \t\n") + 1
		if o.Count(text[at:]) > tokens {
			break
		}
		from = at
	}
	return from
}
