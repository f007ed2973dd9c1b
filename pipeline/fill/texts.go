package fill

import (
	"context"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// divider is a tokenizer that knows where a text can be divided so that the tokens of
// its parts add up. The position must depend only on the characters next to it.
type divider interface {
	NextSplit(text string, from int) int
}

// leastPart is the smallest length in bytes of the parts in which texts are counted.
const leastPart = 256

// textMeter counts lists of texts, each of which resembles the list before it.
type textMeter struct {
	tokenizer core.Tokenizer
	divide    func(text string, from int) int // nil counts whole texts
	seen      []partedText                    // the last list
	parts     []string                        // scratch memory: the parts to count
	places    []int                           // scratch memory: the index of the text of each part
}

// partedText is a counted text with the ends of its parts.
type partedText struct {
	text  string
	marks []textMark
}

// textMark is a position in a text and the number of tokens before it.
type textMark struct{ at, tokens int }

// count returns the tokens of all texts.
func (m *textMeter) count(ctx context.Context, texts []string) (int, error) {
	for len(m.seen) < len(texts) {
		m.seen = append(m.seen, partedText{})
	}
	m.parts, m.places = m.parts[:0], m.places[:0]
	for i, text := range texts {
		m.divideText(i, text)
	}
	counts, err := core.CountTexts(ctx, m.tokenizer, m.parts)
	if err != nil {
		m.seen = m.seen[:0] // marks without token counts are useless
		return 0, err
	}
	for j, n := range counts {
		s := &m.seen[m.places[j]]
		before := 0
		if len(s.marks) > 0 {
			before = s.marks[len(s.marks)-1].tokens
		}
		at := len(m.parts[j])
		if len(s.marks) > 0 {
			at += s.marks[len(s.marks)-1].at
		}
		s.marks = append(s.marks, textMark{at, values.Add(before, n)})
	}
	sum := 0
	for i := range texts {
		if marks := m.seen[i].marks; len(marks) > 0 {
			sum = values.Add(sum, marks[len(marks)-1].tokens)
		}
	}
	return sum, nil
}

// divideText keeps the marks that text i shares with the previous text at this place, and
// lists the parts of the rest.
func (m *textMeter) divideText(i int, text string) {
	s := &m.seen[i]
	s.keep(text)
	from := 0
	if n := len(s.marks); n > 0 {
		from = s.marks[n-1].at
	}
	for from < len(text) {
		next := len(text)
		if m.divide != nil && next-from > leastPart {
			next = m.divide(text, from+leastPart)
		}
		m.parts, m.places = append(m.parts, text[from:next]), append(m.places, i)
		from = next
	}
}

// keep drops the marks that are not valid for text, and makes text the current one.
func (s *partedText) keep(text string) {
	kept, same := 0, 0
	for kept < len(s.marks) {
		at := s.marks[kept].at
		// A mark also depends on the character after it.
		end := min(at+utf8.UTFMax, len(s.text))
		if end > len(text) || at == len(s.text) && len(text) != at || s.text[same:end] != text[same:end] {
			break
		}
		same = end
		kept++
	}
	s.text, s.marks = text, s.marks[:kept]
}
