package hf

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"
)

// normalizer changes a text before it is split.
type normalizer struct {
	name string
	// change returns the changed text. It stops early when r has to stop.
	change func(r *run, text string) string
}

// maxGrowth is how many bytes normalizers may add to a text: this many for each of its bytes, and
// spareGrowth in addition. A normal form adds at most eleven. Without a bound, a few normalizers
// after each other could make a huge text out of a small one.
const maxGrowth, spareGrowth = 32, 1 << 10

// normalizing is what a file does to texts before it splits them.
type normalizing struct {
	list []normalizer
	// linewise is true if each line is changed independently of the others.
	linewise bool
}

// apply returns the changed text, and takes what it grows from the room of r. If there is too
// little room, it sets the error of r.
func (n *normalizing) apply(r *run, text string) string {
	for _, f := range n.list {
		if r.err != nil || r.Poll() {
			return ""
		}
		changed := f.change(r, text)
		if more := len(changed) - len(text); more > 0 {
			r.room -= more
		}
		if r.room < 0 {
			r.err = fmt.Errorf("normalizer %s: text grows too much: %w (by at most %d bytes for each byte)", f.name, errTooMany, maxGrowth)
			return ""
		}
		text = changed
	}
	return text
}

// readNormalizer adds the normalizers of a value to n.
func (r *reader) readNormalizer(value jsontext.Value, depth int, n *normalizing) error {
	if isNull(value) {
		return nil
	}
	p, err := r.enter(value, depth)
	if err != nil {
		return err
	}
	if p.Type == "Sequence" {
		for _, v := range p.Normalizers {
			if err := r.readNormalizer(v, depth+1, n); err != nil {
				return err
			}
		}
		return nil
	}
	f, linewise, err := p.normalizer()
	if err != nil {
		return fmt.Errorf("%s: %w", p.Type, err)
	}
	n.list = append(n.list, normalizer{p.Type, f})
	n.linewise = n.linewise && linewise
	return nil
}

// normalizer returns the change that a part makes, and whether it changes each line independently.
func (p *part) normalizer() (change func(*run, string) string, linewise bool, err error) {
	switch p.Type {
	case "NFC":
		return simple(norm.NFC.String), true, nil
	case "NFD":
		return simple(norm.NFD.String), true, nil
	case "NFKC":
		return simple(norm.NFKC.String), true, nil
	case "NFKD":
		return simple(norm.NFKD.String), true, nil
	case "Lowercase":
		return simple(lower), true, nil
	case "StripAccents":
		return simple(func(s string) string { return strings.Map(dropMark, s) }), true, nil
	case "Strip":
		return simple(p.strip), false, nil
	case "Prepend":
		return simple(p.prepend), false, nil
	case "Replace":
		m, err := p.matcher()
		if err != nil {
			return nil, false, err
		}
		return func(r *run, s string) string { return replace(r, m, s, p.Content) }, m.linewise(), nil
	case "BertNormalizer":
		return simple(p.bert), true, nil
	case "Precompiled":
		return precompiled(p.Charsmap)
	}
	return nil, false, errUnsupported
}

// simple is a change that adds little to a text.
func simple(f func(string) string) func(*run, string) string {
	return func(_ *run, s string) string { return f(s) }
}

func (p *part) prepend(s string) string {
	if s == "" {
		return s
	}
	return p.Prepend + s
}

func (p *part) strip(s string) string {
	if p.StripLeft {
		s = strings.TrimLeftFunc(s, unicode.IsSpace)
	}
	if p.StripRight {
		s = strings.TrimRightFunc(s, unicode.IsSpace)
	}
	return s
}

// lower maps each character to lower case. One character has a lower case of two characters.
func lower(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(s, "İ", "i\u0307")), "\u0130", "i\u0307")
}

func dropMark(r rune) rune {
	if unicode.Is(unicode.M, r) {
		return -1
	}
	return r
}

// replace returns s with content instead of each match. It stops when r has to stop, or when the
// text has grown by more than the room of r.
func replace(r *run, m matcher, s, content string) string {
	var out strings.Builder
	from, polled := 0, 0
	for from < len(s) {
		start, end := m.find(s, from)
		if start < 0 || out.Len()-from > r.room {
			break
		}
		if end-polled >= pollNodes {
			if polled = end; r.Poll() {
				return ""
			}
		}
		out.WriteString(s[from:start])
		out.WriteString(content)
		from = end
	}
	if from == 0 {
		return s
	}
	out.WriteString(s[from:])
	return out.String()
}
