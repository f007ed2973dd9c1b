// Package pdf reads the text of PDF files, and nothing else of them. It follows no table of
// objects, which is wrong in many files, but finds the objects themselves. A [meter.Meter] pays for
// all: the objects, what streams unfold to, and each character of text.
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
}

// The limits that do not depend on the caller.
const (
	maxDepth   = 64  // of objects inside each other, and of the tree of pages
	maxForms   = 8   // of forms inside each other
	maxMapping = 512 // bytes of the text of one code, in UTF-16
)
