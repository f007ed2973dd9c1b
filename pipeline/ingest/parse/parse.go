package parse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// Parse reads a file that is in memory and gives its documents to yield, in order. It stops at
// the first error of yield and returns it. The format may be empty: then the name and the
// content decide.
func Parse(ctx context.Context, name string, f Format, data []byte, l Limits, yield func(Document) error) error {
	if f == "" {
		f = FormatOf(name, data)
	}
	if f.Streams() {
		return Stream(ctx, name, f, bytes.NewReader(data), yield)
	}
	j := &job{limits: l.complete()}
	var cancel context.CancelFunc
	j.ctx, cancel = context.WithTimeoutCause(ctx, j.limits.Time, fmt.Errorf("%w: took more than %v", ErrTooLarge, j.limits.Time))
	defer cancel()
	d, err := j.parse(f, data)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = context.Cause(j.ctx)
	}
	if err != nil {
		return err
	}
	return yield(d)
}

// Stream is like [Parse] for a format that [Format.Streams]. It reads as it goes, needs some MiB of
// memory for a file of any size, and has no limit of time.
func Stream(ctx context.Context, name string, f Format, r io.Reader, yield func(Document) error) error {
	src, err := newSource(r)
	if err != nil {
		return err
	}
	j := &job{ctx: ctx}
	switch f {
	case FormatCSV:
		return j.csv(src, ending(name) == "tsv", yield)
	case FormatJSONL:
		return j.jsonl(src, yield)
	}
	return fmt.Errorf("format %.40q is not read as a stream (want csv or jsonl)", f)
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
	text, err := decodeText(data)
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
	return d, fmt.Errorf("format %.40q is not known (want text, markdown, html, pdf, docx, csv, jsonl or code)", f)
}
