// Package pdf reads the text of PDF files, and nothing else of them. It follows no table of
// objects, which is wrong in many files, but finds the objects themselves; it bounds what
// streams unfold to, and visits each object as often as the limits allow.
package pdf

import "errors"

// Errors of [Read], for errors.Is.
var (
	ErrEncrypted = errors.New("encrypted")
	ErrDamaged   = errors.New("damaged")
	ErrTooLarge  = errors.New("too large")
)

// File is what [Read] finds.
type File struct {
	Title string
	// Pages are the texts of the pages, with blank lines between paragraphs.
	Pages []string
}

// The limits that do not depend on the caller.
const (
	maxDepth   = 64      // of objects inside each other, and of the tree of pages
	maxForms   = 8       // of forms inside each other
	maxObjects = 4 << 20 // in a file
	maxPages   = 1 << 16
)
