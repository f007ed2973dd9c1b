package pdf

import (
	"bytes"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// useless reports whether a title of the metadata says nothing: the name of a file, or what a program wrote there.
func useless(title string) bool {
	t := strings.ToLower(title)
	switch {
	case t == "", strings.HasPrefix(t, "untitled"), strings.HasPrefix(t, "microsoft word - "), strings.HasPrefix(t, "microsoft powerpoint - "),
		t == "powerpoint presentation", t == "powerpoint-präsentation", t == "title", t == "document", t == "document1", t == "slide 1", t == "(anonymous)":
		return true
	}
	switch path.Ext(t) {
	case ".doc", ".docx", ".dvi", ".tex", ".ps", ".eps", ".indd", ".qxd", ".fm", ".pdf", ".rtf", ".odt", ".ppt", ".pptx", ".xls", ".xlsx", ".html", ".htm", ".pmd", ".p65", ".pm6", ".cdr", ".txt", ".wpd":
		return !strings.Contains(t, " ") || len(t) < 60
	}
	return false
}

// title returns what stands in the largest letters on the first page, "" if all are alike or it is no title.
func (r *reader) title() string {
	p := r.pages[0]
	lines := r.lines[p.first:p.end]
	sizes := map[int]int{} // bytes by size
	total := 0
	for _, l := range r.lines[:min(len(r.lines), 400)] {
		sizes[int(l.size*10)] += l.to - l.from
		total += l.to - l.from
	}
	usual := 0
	for sum := 0; usual < 10_000 && sum <= total/2; usual++ {
		sum += sizes[usual]
	}
	largest := float64(usual) / 10 * 1.15
	at := -1
	for i, l := range lines[:min(len(lines), 200)] {
		if !l.turned && l.size > largest*1.02 && letters3(r.out[l.from:l.to]) {
			largest, at = l.size, i
		}
	}
	if at < 0 {
		return ""
	}
	from, to := at, at+1
	for to < len(lines) && to < from+4 && !lines[to].turned && lines[to].size > 0.97*largest {
		to++
	}
	var words [][]byte
	for _, l := range lines[from:to] {
		words = append(words, bytes.Fields(r.out[l.from:l.to])...)
	}
	if title := string(bytes.Join(words, []byte(" "))); len(title) <= 200 {
		return title
	}
	return ""
}

// letters3 reports whether a line has three letters at least.
func letters3(t []byte) bool {
	n := 0
	for len(t) > 0 && n < 3 {
		c, size := utf8.DecodeRune(t)
		if unicode.IsLetter(c) {
			n++
		}
		t = t[size:]
	}
	return n == 3
}
