package parse

import (
	"bytes"
	"fmt"
	"io"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/charset"
)

// File says what is known of a file before it is read.
type File struct {
	// Name tells the format by its ending.
	Name string
	// Format is that of the file. Empty means that the name and the content decide.
	Format Format
	// Charset is the one that a server declares, empty for none.
	Charset string
}

// Parse reads a file that is in memory and gives its documents to yield, in order. It stops at
// the first error of yield and returns it. The meter pays for all; it is that of [Limits.Meter] or,
// for a format that [Format.Streams], of [StreamMeter].
func Parse(m *meter.Meter, file File, data []byte, l Limits, yield func(Document) error) error {
	if file.Format == "" {
		file.Format = FormatOf(file.Name, data)
	}
	if file.Format.Streams() {
		return Stream(m, file, bytes.NewReader(data), yield)
	}
	j := &job{m: m, limits: l.Complete(), charset: file.Charset}
	d, err := j.parse(file.Format, data)
	d.Warnings = append(d.Warnings, j.warnings...)
	if m.Err() != nil {
		err = m.Err()
	}
	if err != nil {
		return err
	}
	return yield(d)
}

// Stream is like [Parse] for a format that [Format.Streams]. It reads as it goes, and needs some MiB
// of memory for a file of any size.
func Stream(m *meter.Meter, file File, r io.Reader, yield func(Document) error) error {
	src, err := newSource(m, r, file.Charset)
	if err != nil {
		return err
	}
	j := &job{m: m}
	take := func(d Document) error {
		d.Warnings = append(d.Warnings, src.warnings()...)
		return yield(d)
	}
	switch file.Format {
	case FormatCSV:
		return j.csv(src, ending(file.Name) == "tsv", take)
	case FormatJSONL:
		return j.jsonl(src, take)
	}
	return fmt.Errorf("format %.40q is not read as a stream (want csv or jsonl)", file.Format)
}

func (j *job) parse(f Format, data []byte) (d Document, err error) {
	defer func() {
		// The parsers do not panic as far as is known. A mistake in one must not end the
		// ingestion of the other files.
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: parser failed: %v", ErrDamaged, p)
		}
	}()
	switch f {
	case FormatPDF:
		return j.pdf(data)
	case FormatDOCX:
		return j.docx(data)
	}
	declared := []string{j.charset}
	if f == FormatHTML {
		declared = append(declared, charset.Declared(data))
	}
	text, err := j.decodeText(data, declared...)
	if err != nil {
		return d, err
	}
	if f != FormatHTML && len(text) > j.limits.Text {
		return d, fmt.Errorf("%w: %d bytes of text, the limit is %d", ErrTooLarge, len(text), j.limits.Text)
	}
	switch f {
	case FormatHTML:
		return j.html(text)
	case FormatMarkdown:
		return j.markdown(text)
	case FormatCode:
		return j.code(text)
	case FormatText:
		return j.text(text)
	}
	return d, fmt.Errorf("format %.40q is not supported (want text, markdown, html, pdf, docx, csv, jsonl or code)", f)
}
