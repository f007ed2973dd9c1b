package pdf

import (
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

// pageLines are the lines of a page: those from first up to end.
type pageLines struct {
	first, end int
	unread     float64 // the share of glyphs for which the lines are left out
}

// finish makes the texts of the pages.
func (r *reader) finish(f *File) {
	if !r.m.Work(8*len(r.out) + 64*len(r.lines)) {
		return
	}
	for i, p := range r.pages {
		if p.unread > 0 {
			f.Unread = meter.Append(r.m, f.Unread, Unread{i + 1, p.unread})
		}
		f.Pages = meter.Append(r.m, f.Pages, r.compose(r.lines[p.first:p.end]))
	}
}

// compose joins the lines of a page, and words that were hyphenated at the end of a line.
func (r *reader) compose(lines []line) string {
	size := 0
	for _, l := range lines {
		size += l.to - l.from + 2
	}
	if !r.m.Take(size) {
		return ""
	}
	var b strings.Builder
	b.Grow(size)
	for i, l := range lines {
		t := strings.TrimSpace(string(r.out[l.from:l.to]))
		next := i+1 < len(lines) && !lines[i+1].gap
		switch n := len(t); {
		case next && n > 2 && t[n-1] == '-' && t[n-2] >= 'a' && t[n-2] <= 'z':
			b.WriteString(t[:n-1])
		case next:
			b.WriteString(t)
			b.WriteByte('\n')
		default:
			b.WriteString(t)
			b.WriteString("\n\n")
		}
	}
	return strings.TrimSpace(b.String())
}
