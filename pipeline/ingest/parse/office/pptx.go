package office

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
)

// maxSlides bounds the slides of a presentation.
const maxSlides = 10_000

// PPTX reads the slides of a presentation in their order, each with its title as a heading, its tables
// and the notes of the speaker. The number of a slide is the page of its blocks.
func PPTX(j *document.Job, data []byte) (document.Document, error) {
	var d document.Document
	c, err := Open(j, data)
	if err != nil {
		return d, err
	}
	c.optional("docProps/core.xml", &properties{d: &d})
	const main = "ppt/presentation.xml"
	list := &slideList{rel: c.relations(main)}
	if err := c.read(main, list); err != nil {
		return d, err
	}
	s := &slide{flow: flow{Job: j, d: &d}}
	for i, name := range list.slides {
		if !c.Has(name) {
			continue
		}
		s.page = i + 1
		if err := c.read(name, s); err != nil {
			return d, err
		}
		s.paragraph()
		if notes := c.relations(name).byType["notesSlide"]; c.Has(notes) {
			s.speaker = true
			if err := c.read(notes, s); err != nil {
				return d, err
			}
			s.speaker = false
		}
	}
	if len(list.slides) == 0 {
		return d, fmt.Errorf("%w: no slides", document.ErrDamaged)
	}
	return d, s.finish()
}

// slideList reads the order of the slides.
type slideList struct {
	rel    *relations
	slides []string
}

func (l *slideList) start(t *xml.StartElement) {
	if t.Name.Local != "sldId" || len(l.slides) >= maxSlides {
		return
	}
	for _, a := range t.Attr {
		if a.Name.Local == "id" && a.Name.Space != "" {
			l.slides = append(l.slides, l.rel.byID[a.Value])
		}
	}
}
func (l *slideList) end(string)  {}
func (l *slideList) text(string) {}

// slide reads a slide, or the notes to it.
type slide struct {
	flow
	speaker bool
	kind    string // of the placeholder
	inText  bool
}

func (s *slide) start(t *xml.StartElement) {
	if s.leave() {
		return
	}
	switch t.Name.Local {
	case "Fallback":
		s.skip = 1
	case "sp":
		s.kind, s.inList = "", false
	case "ph":
		s.kind = attr(t, "type")
	case "cNvPr":
		if text := attr(t, "descr"); text != "" && !s.speaker {
			s.block(document.Block{Text: "[" + oneLine(text) + "]"})
		}
	case "t":
		s.inText = true
	case "br":
		s.write("\n")
	case "tbl":
		s.beginTable()
	case "tr":
		s.beginRow()
	case "tc":
		rows := 0
		if n, err := strconv.Atoi(attr(t, "rowSpan")); err == nil && n > 1 {
			rows = -1
		}
		s.beginCell(1, rows, attr(t, "vMerge") == "1")
	}
}

func (s *slide) end(name string) {
	if s.left() {
		return
	}
	switch name {
	case "t":
		s.inText = false
	case "p":
		s.endParagraph()
	case "sp":
		s.kind = ""
	case "tc":
		s.endCell()
	case "tr":
		s.endRow()
	case "tbl":
		s.endTable()
	}
}

func (s *slide) endParagraph() {
	switch {
	case s.kind == "sldNum" || s.kind == "dt" || s.kind == "ftr" || s.kind == "hdr": // on each slide
		s.b.Reset()
	case strings.HasSuffix(strings.ToLower(s.kind), "title") && s.kind != "subTitle" && !s.speaker:
		s.level = 1
	case s.table() == nil:
		s.list = true
	}
	if s.speaker && s.b.Len() > 0 && !s.inList {
		s.label = "Notes:"
	}
	s.paragraph()
}

func (s *slide) text(t string) {
	if s.inText && s.skip == 0 {
		s.write(t)
	}
}
