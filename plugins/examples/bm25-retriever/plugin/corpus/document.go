package corpus

import "time"

// Document is one document to index.
type Document struct {
	// ID is the record's id, or made of the path: docs/a.md#2,
	// net/http.Client.Do. Chunks after the first have a number.
	ID string
	// Title is the heading, record title or symbol; may be empty.
	Title string
	// Text is the text after the title.
	Text string
	// Path is the file, relative to the root of the corpus.
	Path string
	// Package, Symbol and Kind are for Go: the import path below the root, the
	// exported name (empty for a package comment), and package, func, method,
	// type, const or var.
	Package, Symbol, Kind string
	// Modified is the modification time of the file, zero unless Options.FileTimes is
	// set.
	Modified time.Time
}
