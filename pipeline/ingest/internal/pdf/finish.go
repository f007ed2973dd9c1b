package pdf

import (
	"bytes"

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
	if useless(f.Title) && len(r.pages) > 0 {
		if t := r.title(); t != "" {
			f.Title = t
		}
	}
	r.heads()
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
	if !r.m.Take(2 * size) {
		return ""
	}
	out := make([]byte, 0, size)
	gap := false
	for _, l := range lines {
		if gap = gap || l.gap; l.dropped {
			continue
		}
		t := bytes.TrimSpace(r.out[l.from:l.to])
		switch n := len(out); {
		case n == 0:
		case gap:
			out = append(out, "\n\n"...)
		case n > 2 && len(t) > 0 && t[0] >= 'a' && out[n-1] == '-' && out[n-2] >= 'a' && out[n-2] <= 'z':
			out = out[:n-1]
		default:
			out = append(out, '\n')
		}
		out, gap = append(out, t...), false
	}
	text := string(out)
	r.m.Give(2*size - len(text))
	return text
}
