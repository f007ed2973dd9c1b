// Package pdf reads the text of PDF files with the values of forms and notes, and nothing else of them. It
// follows no table of objects, which is wrong in many files, but finds the objects themselves. Words are
// divided by where their glyphs stand, and text from right to left is put in the order in which it is read.
// A [meter.Meter] pays for all: the objects, what streams unfold to, and each character of text.
//
// "make bench-documents" compares it with pdftotext and with other libraries; RATIONALE.md has the figures.
package pdf

import "errors"

// Errors of [Read], for errors.Is.
var (
	ErrEncrypted = errors.New("encrypted")
	ErrDamaged   = errors.New("damaged")
)

// File is what [Read] finds.
type File struct {
	Title string
	// Pages are the texts of the pages, with blank lines between paragraphs.
	Pages []string
	// Unread are the pages whose glyphs mostly have no Unicode value. Their text is left out.
	Unread []Unread
}

// Unread is a page without its text.
type Unread struct {
	Page  int     // from 1
	Share float64 // of its glyphs that have no Unicode value
}

// The limits that do not depend on the caller.
const (
	maxDepth   = 64  // of objects inside each other, and of the tree of pages
	maxForms   = 8   // of forms inside each other
	maxMapping = 512 // bytes of the text of one code, in UTF-16

	// A page is unread if more than a share of its glyphs, and some at least, have no Unicode value.
	mostUnknown  = 0.3
	leastUnknown = 10
)
