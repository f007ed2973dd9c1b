package parse

import (
	"errors"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/internal/pdf"
)

// pdf makes a block of each paragraph of each page.
func (j *job) pdf(data []byte) (Document, error) {
	f, err := pdf.Read(j.m, data)
	d := Document{Title: oneLine(f.Title)}
	switch {
	case errors.Is(err, pdf.ErrEncrypted):
		return d, ErrEncrypted
	case errors.Is(err, pdf.ErrDamaged):
		return d, fmt.Errorf("%w: %w", ErrDamaged, err)
	case err != nil:
		return d, err
	}
	size := 0
	for i, page := range f.Pages {
		if size += len(page); size > j.limits.Text {
			return d, fmt.Errorf("%w: more than %d bytes of text", ErrTooLarge, j.limits.Text)
		}
		for part := range strings.SplitSeq(page, "\n\n") {
			if part = strings.Trim(part, "\n"); !blank(part) && j.m.Work(len(part)) {
				j.add(&d, Block{Text: part, Page: i + 1})
			}
		}
	}
	if len(d.Blocks) == 0 {
		return d, ErrNoText
	}
	return d, nil
}
