package parse

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// Parse reads a file that is in memory and gives its documents to yield, in order. It stops at
// the first error of yield and returns it. The format may be empty: then the name and the
// content decide.
func Parse(ctx context.Context, name string, f Format, data []byte, l Limits, yield func(Document) error) (err error) {
	j := &job{limits: l.complete()}
	var cancel context.CancelFunc
	j.ctx, cancel = context.WithTimeoutCause(ctx, j.limits.Time, fmt.Errorf("%w: took more than %v", ErrTooLarge, j.limits.Time))
	defer cancel()
	defer func() {
		// The parsers below do not panic as far as is known. A mistake in one must not end
		// the ingestion of the other files.
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: parser failed: %v\n%s", ErrDamaged, p, debug.Stack())
		}
	}()
	if f == "" {
		f = FormatOf(name, data)
	}
	err = j.parse(name, f, data, yield)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = context.Cause(j.ctx)
	}
	return err
}

func (j *job) parse(name string, f Format, data []byte, yield func(Document) error) error {
	switch f {
	case FormatPDF:
		return one(j.pdf(data))(yield)
	case FormatDOCX:
		return one(j.docx(data))(yield)
	}
	text, err := decodeText(data)
	if err != nil {
		return err
	}
	if f != FormatHTML && f != FormatJSONL && len(text) > j.limits.Text {
		return fmt.Errorf("%w: %d bytes of text, the limit is %d", ErrTooLarge, len(text), j.limits.Text)
	}
	switch f {
	case FormatHTML:
		return one(j.html(text))(yield)
	case FormatMarkdown:
		return one(j.markdown(text))(yield)
	case FormatCSV:
		return one(j.csv(text, ending(name) == "tsv"))(yield)
	case FormatJSONL:
		return j.jsonl(text, yield)
	case FormatCode:
		return one(j.code(text))(yield)
	case FormatText:
		return one(j.text(text))(yield)
	}
	return fmt.Errorf("format %.40q is not known (want text, markdown, html, pdf, docx, csv, jsonl or code)", f)
}

func one(d Document, err error) func(func(Document) error) error {
	return func(yield func(Document) error) error {
		if err != nil {
			return err
		}
		return yield(d)
	}
}
