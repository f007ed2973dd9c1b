package chunk

import (
	"strings"
)

// declarations cuts code between its declarations, and all else like Recursive.
func (o *Options) declarations(list []piece) []piece {
	var cut []piece
	for i := range list {
		p := &list[i]
		if p.whole {
			cut = append(cut, o.cut(p, atBlank)...)
			continue
		}
		for _, unit := range p.parts(units(p.text), "") {
			unit.tokens = o.Count(unit.text)
			if unit.tokens <= o.Size {
				cut = append(cut, unit)
				continue
			}
			signature := signature(unit.text)
			for k, part := range o.cut(&unit, atBlank) {
				if k > 0 && signature != "" {
					part.headings = append(part.headings[:len(part.headings):len(part.headings)], signature)
					part.opens = nil
				}
				part.alone = true // so that small neighbours do not hide the heading
				cut = append(cut, part)
			}
		}
	}
	return cut
}

// units returns the declarations of a source: each begins after a blank line with a line of the
// lowest indentation that does not close a bracket.
func units(text string) []span {
	var spans []span
	from, pos, blank := 0, 0, false
	for pos < len(text) {
		end := pos + nextCut(text[pos:], atLine)
		line := text[pos:end]
		first := line[0]
		switch {
		case strings.TrimSpace(line) == "":
			blank = true
		case blank && first != ' ' && first != '\t' && first != '}' && first != ')' && first != ']':
			spans = append(spans, span{from, pos})
			from, blank = pos, false
		default:
			blank = false
		}
		pos = end
	}
	return append(spans, span{from, len(text)})
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
