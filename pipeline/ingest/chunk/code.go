package chunk

import (
	"iter"
	"strings"
)

// declarations cuts code between its declarations, and all else like Recursive.
func (o *cutter) declarations(list iter.Seq[piece]) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for p := range list {
			units := o.parts(&p, units(p.text), "")
			if p.whole {
				units = o.cut(&p, atBlank)
			}
			for unit := range units {
				if unit.tokens = o.Count(unit.text); !p.whole && unit.tokens > o.Size {
					large := unit // only these need memory of their own
					if !o.declaration(&large, yield) {
						return
					}
				} else if !yield(unit) {
					return
				}
			}
		}
	}
}

// declaration cuts one that is too large. Its parts have its first line as heading.
func (o *cutter) declaration(unit *piece, yield func(piece) bool) bool {
	signature := signature(unit.text)
	first := true
	for part := range o.cut(unit, atBlank) {
		if !first && signature != "" {
			part.headings = append(part.headings[:len(part.headings):len(part.headings)], signature)
			part.opens = nil
		}
		first = false
		part.alone = true // so that small neighbours do not hide the heading
		if !yield(part) {
			return false
		}
	}
	return true
}

// units returns the declarations of a source: each begins after a blank line with a line of the
// lowest indentation that does not close a bracket.
func units(text string) iter.Seq[span] {
	return func(yield func(span) bool) {
		from, pos, blank := 0, 0, false
		for pos < len(text) {
			end := pos + nextCut(text[pos:], atLine)
			line := text[pos:end]
			first := line[0]
			switch {
			case strings.TrimSpace(line) == "":
				blank = true
			case blank && first != ' ' && first != '\t' && first != '}' && first != ')' && first != ']':
				if !yield(span{from, pos}) {
					return
				}
				from, blank = pos, false
			default:
				blank = false
			}
			pos = end
		}
		yield(span{from, len(text)})
	}
}

// signature returns the first line of a declaration that is not a comment.
func signature(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "//"), strings.HasPrefix(line, "#"), strings.HasPrefix(line, "/*"), strings.HasPrefix(line, "*"),
			strings.HasPrefix(line, "--"), strings.HasPrefix(line, "@"), strings.HasPrefix(line, ";"):
			continue
		}
		line = strings.TrimSpace(strings.TrimRight(line, "{ \t"))
		return strings.ToValidUTF8(line[:min(len(line), maxHeading)], "")
	}
	return ""
}
