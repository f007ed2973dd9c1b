package parse

import (
	"errors"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/internal/pdf"
)

// ErrUnreadable means that a document has text, but not which letters it is made of.
var ErrUnreadable = errors.New("its text cannot be read (recognise it by OCR, for example with ocrmypdf --force-ocr, and ingest the result)")

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
	unread := unreadPages(f.Unread)
	switch {
	case len(d.Blocks) == 0 && unread != "":
		return d, fmt.Errorf("%w: %s", ErrUnreadable, unread)
	case len(d.Blocks) == 0:
		return d, ErrNoText
	case unread != "":
		d.Warnings = append(d.Warnings, unread+"; their text is left out (OCR reads it, for example ocrmypdf --force-ocr)")
	}
	return d, nil
}

// maxRanges bounds the pages that a warning names.
const maxRanges = 10

// unreadPages says of which pages the text cannot be read, "" for none.
func unreadPages(list []pdf.Unread) string {
	var ranges []string
	share := 0.0
	for i := 0; i < len(list); {
		first := i
		for i++; i < len(list) && list[i].Page == list[i-1].Page+1; i++ {
		}
		switch from, to := list[first].Page, list[i-1].Page; {
		case len(ranges) == maxRanges:
			ranges = append(ranges, "and others")
		case len(ranges) > maxRanges:
		case from == to:
			ranges = append(ranges, fmt.Sprint(from))
		default:
			ranges = append(ranges, fmt.Sprintf("%d to %d", from, to))
		}
		for _, u := range list[first:i] {
			share += u.Share / float64(len(list))
		}
	}
	word := "pages"
	switch len(list) {
	case 0:
		return ""
	case 1:
		word = "page"
	}
	return fmt.Sprintf("%s %s: %.0f %% of the glyphs have no Unicode value", word, strings.Join(ranges, ", "), 100*share)
}
