package segment

import (
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Found is what [View.Found] returns.
type Found struct {
	Document retrieve.Document
	Chunk    retrieve.Chunk
	Index    int
	Number   int64
}

// Filter decides which chunks a search keeps. It is for one search at a time.
type Filter struct {
	doc, chunk []retrieve.Condition
	part       *Part
	known      []int8 // by document of the part: 1 kept, -1 not, 0 unknown
}

// NewFilter makes a filter of valid conditions, nil without any.
func NewFilter(conditions []retrieve.Condition) *Filter {
	if len(conditions) == 0 {
		return nil
	}
	f := &Filter{}
	for _, c := range conditions {
		switch c.Field {
		case "heading", "page", "line":
			f.chunk = append(f.chunk, c)
		default:
			f.doc = append(f.doc, c)
		}
	}
	return f
}

// enter begins a part.
func (f *Filter) enter(p *Part) {
	if f.part == p {
		clear(f.known)
		return
	}
	f.part, f.known = p, make([]int8, p.Documents())
}

func (f *Filter) keep(p *Part, chunk uint32) (bool, error) {
	doc := p.docOf(chunk)
	if f.known[doc] == 0 {
		d, err := readDocument(p.docs.at(doc))
		if err != nil {
			return false, err
		}
		f.known[doc] = 1
		for i := range f.doc {
			if !f.doc[i].Matches(documentField(&d, f.doc[i].Field)) {
				f.known[doc] = -1
				break
			}
		}
	}
	if f.known[doc] < 0 || len(f.chunk) == 0 {
		return f.known[doc] > 0, nil
	}
	c, err := readChunk(p.chunks.at(int(chunk)))
	if err != nil {
		return false, err
	}
	for i := range f.chunk {
		if !f.chunk[i].Matches(chunkField(&c, f.chunk[i].Field)) {
			return false, nil
		}
	}
	return true, nil
}

func documentField(d *retrieve.Document, field string) string {
	switch field {
	case "id":
		return d.ID
	case "path":
		return d.Path
	case "title":
		return d.Title
	case "hash":
		return d.Hash
	case "time":
		if d.Time.IsZero() {
			return ""
		}
		return d.Time.Format(time.RFC3339)
	}
	return d.Meta[field]
}

func chunkField(c *retrieve.Chunk, field string) string {
	n := c.Page
	switch field {
	case "heading":
		return strings.Join(c.Headings, " > ")
	case "line":
		n = c.Lines.From
	}
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
