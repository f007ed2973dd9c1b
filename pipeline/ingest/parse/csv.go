package parse

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// csvPart is how many bytes of rows one document has. A longer list becomes several.
const csvPart = 4 << 20

// csv makes rows of a list. Each row is a line with its values, and the names of the columns are
// the header of every part.
func (j *job) csv(src *source, tabs bool, yield func(Document) error) error {
	feed := &csvFeed{source: src}
	r := csv.NewReader(feed)
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	head, _ := src.r.Peek(4 << 10) // an error comes again when the rows are read
	first, _, _ := bytes.Cut(head, []byte("\n"))
	if r.Comma = ','; tabs {
		r.Comma = '\t'
	} else {
		for _, c := range ";\t" { // programs write both into files of this name
			n, most := bytes.Count(first, []byte(string(c))), bytes.Count(first, []byte(string(r.Comma)))
			if n > most || c == '\t' && n > 0 && n == most {
				r.Comma = c
			}
		}
	}
	feed.comma = []byte(string(r.Comma))
	t := csvTable{job: j, yield: yield}
	for {
		feed.begin()
		record, err := r.Read()
		if j.m.Err() != nil {
			return fmt.Errorf("line %d: %w", src.n, j.m.Err())
		}
		if errors.Is(err, io.EOF) {
			return t.end()
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", src.n, csvError(err))
		}
		from, _ := r.FieldPos(0)
		last := len(record) - 1
		to, _ := r.FieldPos(last)
		if err := t.row(record, retrieve.Lines{From: from, To: to + strings.Count(record[last], "\n")}); err != nil {
			return err
		}
	}
}

// csvError makes damage of an error of the format. Others come from the file.
func csvError(err error) error {
	if p, ok := errors.AsType[*csv.ParseError](err); ok && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrBinary) {
		return fmt.Errorf("%w: %w", ErrDamaged, p.Err)
	}
	return err
}

// csvFeed gives the lines of a file to a reader of CSV, and ends a row without end.
type csvFeed struct {
	*source
	comma []byte
	rest  []byte
	left  int // what the current row may still have
	held  int // memory of the current row
}

// begin begins a row.
func (f *csvFeed) begin() {
	f.m.Give(f.held)
	f.left, f.held = maxRecord, 0
}

func (f *csvFeed) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		if f.left < 0 {
			return 0, fmt.Errorf("%w: a row of more than %d bytes, perhaps a quote that is not closed", ErrTooLarge, maxRecord)
		}
		line, err := f.next()
		if err != nil {
			return 0, err
		}
		if i := bytes.IndexByte(line, '\r'); i >= 0 && i < len(line)-2 { // lines of old systems
			line = bytes.ReplaceAll(bytes.ReplaceAll(line, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
		}
		f.rest = line
		const value = 96 // memory of a value, while a longer list of them is made
		n := 4*len(line) + value*bytes.Count(line, f.comma)
		f.held += n
		if !f.m.Take(n) || !f.m.Work(n) {
			return 0, f.m.Err()
		}
	}
	n := copy(p, f.rest)
	f.rest, f.left = f.rest[n:], f.left-n
	return n, nil
}

// csvTable collects rows until they fill a document.
type csvTable struct {
	*job
	yield  func(Document) error
	header string
	b      strings.Builder
	lines  retrieve.Lines // of the header, or the line before the first row, to the last row
	rows   int            // the lines of b
	exact  bool
	parts  int
	name   string // begins the names of the parts; empty for a file of its own
	held   int    // memory of b and of what becomes of it
}

func (t *csvTable) row(record []string, at retrieve.Lines) error {
	if t.m.Work(16); t.m.Err() != nil {
		return t.m.Err()
	}
	if t.b.Len() > csvPart {
		if err := t.flush(strconv.Itoa(t.parts + 1)); err != nil {
			return err
		}
		if t.header != "" {
			t.b.WriteString(t.header)
			t.rows = 1
		}
	}
	if t.rows == 0 {
		t.lines.From, t.exact = at.From, true
	} else if t.rows == 1 && t.parts > 0 && t.header != "" {
		t.lines.From, t.exact = at.From-1, true // so that the lines of the rows are right
	}
	size := 1
	for _, cell := range record {
		size += len(cell) + len(" | ")
	}
	if !t.m.Take(3 * size) {
		return t.m.Err()
	}
	if t.held += 3 * size; t.rows > 0 {
		t.b.WriteByte('\n')
	}
	t.exact = t.exact && at.From == t.lines.From+t.rows && at.To == at.From
	t.lines.To = at.To
	t.rows++
	for i, cell := range record {
		if i > 0 {
			t.b.WriteString(" | ")
		}
		t.b.WriteString(oneLine(cell))
	}
	if t.rows == 1 && t.parts == 0 && t.b.Len() < csvPart/16 {
		t.header = t.b.String()
	}
	return nil
}

// end gives the last part, which is the file itself if there was none before.
func (t *csvTable) end() error {
	if t.parts == 0 {
		return t.flush("")
	}
	return t.flush(strconv.Itoa(t.parts + 1))
}

func (t *csvTable) flush(record string) error {
	d := Document{Record: record}
	if t.name != "" {
		if d.Record, d.Title = t.name, t.name; t.parts > 0 {
			d.Record = t.name + " " + record
		}
	}
	if text := t.b.String(); !blank(text) {
		b := Block{Kind: Rows, Text: text, Exact: t.exact, Lines: t.lines}
		if t.header != "" {
			b.Header = 1
		}
		d.Blocks = []Block{b}
	}
	t.b.Reset()
	t.rows = 0
	t.parts++
	held := t.m.Held()
	err := t.yield(d)
	t.m.Give(t.m.Held() - held + t.held)
	t.held = 0
	return err
}
