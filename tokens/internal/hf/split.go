package hf

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/tokens/internal/bpe"
	"github.com/go-json-experiment/json/jsontext"
)

// stage divides a text further. first says that the text is at the start of the whole text.
// Each stage works on the pieces of the one before it.
type stage func(r *run, text string, first bool, emit func(piece string, first bool))

// splitting is what a file does to divide a text.
type splitting struct {
	stages []stage
	// bytes: the model works on bytes instead of characters.
	bytes bool
	lines lineRule
}

// lineRule says where a text can be divided so that the stages work on both parts as on the whole.
type lineRule int

const (
	afterLine  lineRule = iota // after a line feed, if the model has no token across that place
	endsPiece                  // after a line feed, where a piece ends in any case
	beforeLine                 // before a line feed, where a piece ends in any case
	noLine                     // nowhere that is known
)

// readSplit adds the pre-tokenizers of a value.
func (r *reader) readSplit(value jsontext.Value, depth int, s *splitting) error {
	if isNull(value) {
		return nil
	}
	p, err := r.enter(value, depth)
	if err != nil {
		return err
	}
	if p.Type == "Sequence" {
		for _, v := range p.PreTokenizers {
			if err := r.readSplit(v, depth+1, s); err != nil {
				return err
			}
		}
		return nil
	}
	if s.bytes {
		return fmt.Errorf("%s after ByteLevel: %w", p.Type, errUnsupported)
	}
	if err := p.addTo(s); err != nil {
		return fmt.Errorf("%s: %w", p.Type, err)
	}
	return nil
}

// addTo adds a pre-tokenizer.
func (p *part) addTo(s *splitting) error {
	switch p.Type {
	case "ByteLevel":
		p.byteLevel(s)
		return nil
	case "Metaspace":
		return p.metaspace(s)
	case "Split":
		return p.splitStage(s)
	case "Digits":
		behavior := "Contiguous"
		if p.Individual {
			behavior = "Isolated"
		}
		return s.add(character(unicode.IsNumber), behavior, false)
	case "Punctuation":
		if p.Behavior == "" {
			p.Behavior = "Isolated"
		}
		return s.add(character(isPunctuation), p.Behavior, false)
	case "BertPreTokenizer":
		if err := s.add(character(unicode.IsSpace), "Removed", false); err != nil {
			return err
		}
		return s.add(character(isPunctuation), "Isolated", false)
	case "WhitespaceSplit":
		return s.add(character(unicode.IsSpace), "Removed", false)
	case "Whitespace":
		m, err := newExpression(`\w+|[^\w\s]+`)
		if err != nil {
			return err
		}
		return s.add(m, "Removed", true)
	case "CharDelimiterSplit":
		if utf8.RuneCountInString(p.Delimiter) != 1 {
			return errors.New("delimiter: want one character")
		}
		return s.add(literal(p.Delimiter), "Removed", false)
	}
	return errUnsupported
}

// byteLevel makes the model work on bytes, and splits as GPT-2 does unless use_regex is false.
func (p *part) byteLevel(s *splitting) {
	s.bytes = true
	if p.AddPrefix == nil || *p.AddPrefix {
		s.lines = noLine
		s.stages = append(s.stages, func(_ *run, text string, first bool, emit func(string, bool)) {
			if !strings.HasPrefix(text, " ") {
				text = " " + text
			}
			emit(text, first)
		})
	}
	if p.UseRegex == nil || *p.UseRegex {
		s.addKnown(known{bpe.PatternGPT2()}, beforeLine)
	}
}

// metaspace writes spaces as another character and splits before each.
func (p *part) metaspace(s *splitting) error {
	if p.Replacement == "" {
		p.Replacement = "▁"
	}
	scheme := p.PrependScheme
	switch {
	case utf8.RuneCountInString(p.Replacement) != 1:
		return errors.New("replacement: want one character")
	case p.AddPrefix != nil && !*p.AddPrefix:
		scheme = "never"
	case scheme == "":
		scheme = "always"
	case scheme != "always" && scheme != "first" && scheme != "never":
		return fmt.Errorf("prepend_scheme %.20q: %w", scheme, errUnsupported)
	}
	if scheme != "never" {
		s.lines = noLine
	}
	whole := p.Split != nil && !*p.Split
	mark := p.Replacement
	s.stages = append(s.stages, func(r *run, text string, first bool, emit func(string, bool)) {
		text = strings.ReplaceAll(text, " ", mark)
		if !strings.HasPrefix(text, mark) && (scheme == "always" || scheme == "first" && first) {
			text = mark + text
		}
		for !whole && !r.Poll() {
			skip := 0
			if strings.HasPrefix(text, mark) {
				skip = len(mark)
			}
			i := strings.Index(text[skip:], mark)
			if i < 0 {
				break
			}
			emit(text[:skip+i], first)
			text, first = text[skip+i:], false
		}
		emit(text, first)
	})
	return nil
}

// splitStage divides at the matches of a pattern.
func (p *part) splitStage(s *splitting) error {
	m, err := p.matcher()
	if err != nil {
		return err
	}
	if k, ok := m.(known); ok && p.Behavior == "Isolated" {
		s.addKnown(k, endsPiece)
		return nil
	}
	return s.add(m, p.Behavior, p.Invert)
}

// addKnown adds an expression that matches everywhere.
func (s *splitting) addKnown(k known, at lineRule) {
	if s.lines != noLine && len(s.stages) == 0 {
		s.lines = at
	} else {
		s.lines = noLine
	}
	s.stages = append(s.stages, func(r *run, text string, first bool, emit func(string, bool)) {
		for i := 0; i < len(text) && !r.Stopped(); {
			end := r.Next(k.Pattern, text, i)
			emit(text[i:end], first)
			i, first = end, false
		}
	})
}

// add adds a stage that divides at matches. behavior says what becomes of them.
func (s *splitting) add(m matcher, behavior string, invert bool) error {
	join, ok := behaviors[behavior]
	if !ok {
		return fmt.Errorf("behavior %.20q: %w", behavior, errUnsupported)
	}
	if l, ok := m.(literal); !ok || strings.TrimSpace(string(l)) != "" || !l.linewise() {
		s.lines = noLine
	}
	removed := behavior == "Removed"
	s.stages = append(s.stages, func(r *run, text string, first bool, emit func(string, bool)) {
		start, end, last := 0, 0, false
		flush := func() {
			if end > start && (!removed || !last) {
				emit(text[start:end], first && start == 0)
			}
			start = end
		}
		segment := func(to int, match bool) {
			if to == end {
				return
			}
			if end > 0 && !join(last, match) {
				flush()
			}
			end, last = to, match
		}
		for from := 0; from < len(text) && !r.Poll(); {
			a, b := m.find(text, from)
			if a < 0 {
				break
			}
			segment(a, invert)
			segment(b, !invert)
			from = b
		}
		segment(len(text), invert)
		flush()
	})
	return nil
}

// behaviors says for each behavior whether a segment joins the one before it. The arguments are
// whether each is a match.
var behaviors = map[string]func(last, match bool) bool{
	"Isolated":           func(_, _ bool) bool { return false },
	"Removed":            func(_, _ bool) bool { return false },
	"MergedWithPrevious": func(last, match bool) bool { return match && !last },
	"MergedWithNext":     func(last, match bool) bool { return last && !match },
	"Contiguous":         func(last, match bool) bool { return last == match },
}

// isPunctuation reports whether a character is punctuation in Unicode or in ASCII.
func isPunctuation(r rune) bool {
	return unicode.IsPunct(r) || r > ' ' && r < 0x7f && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}
