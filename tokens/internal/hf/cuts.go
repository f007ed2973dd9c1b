package hf

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/tokens/internal/bpe"
)

// mark stands for a space in many models.
const mark = "▁"

// Classes of characters: those of ASCII that are tokens, each alone; the mark; all others.
const (
	classMark = utf8.RuneSelf + iota
	classOther
	classes
)

// cuts are places between two characters that no token has side by side. No merge joins what is
// before such a place to what is after it, so both sides can be merged alone, which is faster.
type cuts struct {
	class [256]uint8 // of a character by its first byte, but for the mark
	joins [classes][classes]bool
}

// cutWords lets a BPE model without pre-tokenizers work on the pieces between cuts.
func (t *Tokenizer) cutWords(m *merging, v *vocabulary) {
	if len(t.splitting.stages) > 0 || t.splitting.bytes || m.whole != nil || m.lost != nil {
		return
	}
	if v.mergesStandIns() {
		return
	}
	c := new(cuts)
	for b := range c.class {
		if c.class[b] = classOther; b < utf8.RuneSelf {
			if _, ok := v.ids[string(rune(b))]; ok {
				c.class[b] = uint8(b)
			}
		}
	}
	c.joins[classOther][classOther] = true // neighbours without a token may be one unknown token
	for token := range v.ids {
		for last, at := -1, 0; at < len(token); {
			class, width := c.next(token[at:])
			if last >= 0 {
				c.joins[last][class] = true
			}
			last, at = class, at+width
		}
	}
	t.splitting.stages = append(t.splitting.stages, c.split)
}

// mergesStandIns reports whether a merge has a token that stands for another text than its own: the
// unknown token, or that of a byte.
func (v *vocabulary) mergesStandIns() bool {
	standIns := map[uint32]bool{}
	if id, ok := v.ids[v.unknown]; ok && v.unknown != "" {
		standIns[id] = true
	}
	for b := range 256 {
		if id, ok := v.ids[byteToken(b)]; ok && v.byteFallback {
			standIns[id] = true
		}
	}
	return slices.ContainsFunc(v.merges, func(p bpe.Pair) bool { return standIns[p.Left] || standIns[p.Right] })
}

// next returns the class of the first character of s, and its width in bytes.
func (c *cuts) next(s string) (class, width int) {
	switch {
	case s[0] < utf8.RuneSelf:
		return int(c.class[s[0]]), 1
	case strings.HasPrefix(s, mark):
		return classMark, len(mark)
	}
	_, width = utf8.DecodeRuneInString(s)
	return classOther, width
}

// split divides a text at the cuts.
func (c *cuts) split(r *run, text string, first bool, emit func(string, bool)) {
	if text == "" {
		return
	}
	from := 0
	last, at := c.next(text)
	for at < len(text) {
		class, width := c.next(text[at:])
		if !c.joins[last][class] {
			if r.Poll() {
				return
			}
			emit(text[from:at], first)
			from, first = at, false
		}
		last, at = class, at+width
	}
	emit(text[from:], first)
}
