package parse

import (
	"bytes"
	"fmt"
	"io"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/charset"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/markup"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/office"
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
	j := &job{m: m, limits: l.Complete(), charset: file.Charset}
	return j.documents(file, data, yield)
}

// documents reads a file that is in memory.
func (j *job) documents(file File, data []byte, yield func(Document) error) error {
	switch {
	case file.Format == FormatXLSX:
		if err := j.xlsx(data, yield); j.m.Err() == nil {
			return err
		}
		return j.m.Err()
	case file.Format.Streams(): // a list inside of a mail
		return Stream(j.m, file, bytes.NewReader(data), yield)
	}
	d, err := j.parse(file.Format, data)
	if j.m.Err() != nil {
		err = j.m.Err()
	}
	if err != nil {
		return err
	}
	d.Warnings = append(d.Warnings, j.warnings...)
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
	ofBytes, ofText := readerOf(f)
	switch {
	case ofBytes != nil:
		return ofBytes(j, data)
	case ofText == nil:
		return d, f.Check()
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
	return ofText(j, text)
}

// readerOf returns what reads a format: its bytes, or its text.
func readerOf(f Format) (ofBytes func(*job, []byte) (Document, error), ofText func(*job, string) (Document, error)) {
	switch f {
	case FormatPDF:
		return (*job).pdf, nil
	case FormatDOCX:
		return within(office.DOCX), nil
	case FormatPPTX:
		return within(office.PPTX), nil
	case FormatODT:
		return within(office.ODT), nil
	case FormatRTF:
		return within(office.RTF), nil
	case FormatEPUB:
		return (*job).epub, nil
	case FormatMail:
		return (*job).mail, nil
	case FormatNotebook:
		return (*job).notebook, nil
	case FormatHTML:
		return nil, (*job).html
	case FormatMarkdown:
		return nil, (*job).markdown
	case FormatCode:
		return nil, (*job).code
	case FormatText:
		return nil, (*job).text
	case FormatRST:
		return nil, within(markup.RST)
	case FormatAsciiDoc:
		return nil, within(markup.AsciiDoc)
	case FormatLaTeX:
		return nil, within(markup.LaTeX)
	case FormatMan:
		return nil, within(markup.Man)
	}
	return nil, nil
}

// within gives a reader of another package the work of a job.
func within[T any](read func(*document.Job, T) (Document, error)) func(*job, T) (Document, error) {
	return func(j *job, data T) (Document, error) { return read(j.work(), data) }
}
