package office

import (
	"encoding/xml"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
)

// maxSheets bounds the sheets of a workbook.
const maxSheets = 1000

// Sheet gets the rows of a sheet, with their numbers from 1. The values are valid during the call.
type Sheet func(values []string, number int) error

// XLSX reads the sheets of a workbook row by row, so that a sheet may have any number of rows. Open is
// called for each sheet. Dates are written as 2026-11-29. Each row and column of merged cells has their value.
func XLSX(j *document.Job, data []byte, open func(name string) Sheet) error {
	c, err := Open(j, data)
	if err != nil {
		return err
	}
	const main = "xl/workbook.xml"
	book := &workbook{rel: c.relations(main)}
	if err := c.read(main, book); err != nil {
		return err
	}
	s := &sheetReader{Job: j, strings: &sharedStrings{Job: j, ends: []int{0}}, from: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)}
	if book.since1904 {
		s.from = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	part := func(kind, usual string) string {
		if name := book.rel.byType[kind]; c.Has(name) {
			return name
		}
		return usual
	}
	formats := &numberFormats{custom: map[string]bool{}}
	c.optional(part("styles", "xl/styles.xml"), formats)
	s.dates = formats.dates
	if name := part("sharedStrings", "xl/sharedStrings.xml"); c.Has(name) {
		if err := c.read(name, s.strings); err != nil {
			return err
		}
	}
	for _, sheet := range book.sheets {
		if !c.Has(sheet.part) {
			continue
		}
		if s.merged, err = s.merges(c, sheet.part); err != nil {
			return err
		}
		s.number, s.row, s.open = 0, open(sheet.name), nil
		if err := c.read(sheet.part, s); err != nil && !errors.Is(err, errStop) {
			return err
		}
		if err := s.row(nil, 0); err != nil {
			return err
		}
	}
	return nil
}

type workbook struct {
	rel       *relations
	sheets    []struct{ name, part string }
	since1904 bool
}

func (b *workbook) start(t *xml.StartElement) {
	switch t.Name.Local {
	case "workbookPr":
		v := attr(t, "date1904")
		b.since1904 = v == "1" || v == "true"
	case "sheet":
		if len(b.sheets) < maxSheets {
			b.sheets = append(b.sheets, struct{ name, part string }{strings.Clone(attr(t, "name")), b.rel.byID[attr(t, "id")]})
		}
	}
}
func (b *workbook) end(string)  {}
func (b *workbook) text(string) {}

// numberFormats says which formats of cells are dates.
type numberFormats struct {
	custom map[string]bool // formats of dates, by id
	dates  []bool          // of cells, by the number of their style
	cells  bool
}

func (f *numberFormats) start(t *xml.StartElement) {
	switch t.Name.Local {
	case "numFmt":
		if len(f.custom) < maxNames && isDate(attr(t, "formatCode")) {
			f.custom[strings.Clone(attr(t, "numFmtId"))] = true
		}
	case "cellXfs":
		f.cells = true
	case "xf":
		if f.cells && len(f.dates) < maxNames {
			id := attr(t, "numFmtId")
			n, _ := strconv.Atoi(id) // 0 is no date
			f.dates = append(f.dates, n >= 14 && n <= 17 || n == 22 || f.custom[id])
		}
	}
}

func (f *numberFormats) end(name string) {
	if name == "cellXfs" {
		f.cells = false
	}
}
func (f *numberFormats) text(string) {}

// isDate reports whether a format writes a day: it has a y or a d that is not quoted.
func isDate(code string) bool {
	quoted, bracket := false, false
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\\':
			i++
		case c == '[':
			bracket = true
		case c == ']':
			bracket = false
		case !bracket && strings.IndexByte("ydYD", c) >= 0:
			return true
		}
	}
	return false
}

// sharedStrings are the texts of a workbook, one after another.
type sharedStrings struct {
	*document.Job
	all    []byte
	ends   []int
	inText bool
	skip   bool // inside of a phonetic text
}

func (s *sharedStrings) start(t *xml.StartElement) {
	switch t.Name.Local {
	case "t":
		s.inText = true
	case "rPh":
		s.skip = true
	}
}

func (s *sharedStrings) end(name string) {
	switch name {
	case "t":
		s.inText = false
	case "rPh":
		s.skip = false
	case "si":
		s.ends = meter.Append(s.Meter, s.ends, len(s.all))
	}
}

func (s *sharedStrings) text(text string) {
	if s.inText && !s.skip {
		if room, ok := meter.Room(s.Meter, s.all, len(text)); ok {
			s.all = append(room, text...)
		}
	}
}

func (s *sharedStrings) at(i int) string {
	if i < 0 || i+1 >= len(s.ends) {
		return ""
	}
	return string(s.all[s.ends[i]:s.ends[i+1]])
}

// sheetReader reads the rows of a sheet.
type sheetReader struct {
	*document.Job
	strings *sharedStrings
	dates   []bool
	from    time.Time
	row     Sheet
	number  int
	values  []string
	merged  []merge // those whose first row is to come
	open    []merge // those that have the row that is read
	held    int
	kind    string // of the open cell
	date    bool
	value   strings.Builder
	inValue bool
	failed  error
}

// maxGap is how many empty cells between two others are kept.
const maxGap = 64

// maxRow is the number of the last row that a sheet can have.
const maxRow = 1 << 20

func (s *sheetReader) start(t *xml.StartElement) {
	switch t.Name.Local {
	case "row":
		s.number++
		if n, err := strconv.Atoi(attr(t, "r")); err == nil && n > 0 && n <= maxRow {
			s.number = n
		}
		clear(s.values)
		s.values = s.values[:0]
	case "c":
		s.startCell(t)
	case "v", "t":
		s.inValue = true
	}
}

func (s *sheetReader) startCell(t *xml.StartElement) {
	s.kind, s.date = "", false
	for _, a := range t.Attr {
		switch a.Name.Local {
		case "t":
			s.kind = strings.Clone(a.Value)
		case "s":
			n, err := strconv.Atoi(a.Value)
			s.date = err == nil && n >= 0 && n < len(s.dates) && s.dates[n]
		case "r":
			for at := min(column(a.Value), len(s.values)+maxGap); len(s.values) < at; {
				s.values = append(s.values, "")
			}
		}
	}
	s.value.Reset()
}

// column returns the number of the column of a name such as AB12, from 0.
func column(name string) int {
	n := 0
	for i := 0; i < min(len(name), 3) && name[i] >= 'A' && name[i] <= 'Z'; i++ {
		n = n*26 + int(name[i]-'A') + 1
	}
	return n - 1
}

func (s *sheetReader) end(name string) {
	switch name {
	case "v", "t":
		s.inValue = false
	case "c":
		v := s.cell()
		if n := 64 + len(v); s.Meter.Take(n) {
			s.held += n
			s.values = append(s.values, v)
		}
	case "row":
		if len(s.merged)+len(s.open) > 0 {
			s.fill()
		}
		for n := len(s.values); n > 0 && s.values[n-1] == ""; n-- {
			s.values = s.values[:n-1]
		}
		if len(s.values) > 0 {
			s.failed = s.row(s.values, s.number)
		}
		s.Meter.Give(s.held)
		s.held = 0
	case "sheetData":
		s.failed = errStop // what follows is not read
	}
}

func (s *sheetReader) err() error {
	err := s.failed
	s.failed = nil
	return err
}

func (s *sheetReader) text(text string) {
	if s.inValue && s.Meter.Take(len(text)) {
		s.held += len(text)
		s.value.WriteString(text)
	}
}

// cell returns the value of the open cell.
func (s *sheetReader) cell() string {
	v := s.value.String()
	switch s.kind {
	case "s":
		i, err := strconv.Atoi(v)
		if err != nil {
			return ""
		}
		return clean(s.strings.at(i))
	case "b":
		return map[string]string{"0": "false", "1": "true"}[v]
	case "", "n":
		f, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return v
		}
		if s.date && f >= 1 && f < 3e6 {
			return s.day(f)
		}
		if len(v) > 15 { // 0.30000000000000004 is shown as 0.3
			return strconv.FormatFloat(f, 'g', 15, 64)
		}
		return v
	}
	return clean(v)
}

// day writes the number of a day.
func (s *sheetReader) day(f float64) string {
	whole := math.Floor(f)
	t := s.from.AddDate(0, 0, int(whole)).Add(time.Duration(math.Round((f-whole)*86400)) * time.Second)
	if f == whole {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.DateTime)
}
