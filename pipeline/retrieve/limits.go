package retrieve

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// The limits of an index.
const (
	// MaxName is the largest length in bytes of a tenant, a collection and a model.
	MaxName = 256
	// MaxID is the largest length in bytes of a document's ID, and of its path.
	MaxID = 4096
	// MaxBatch is the greatest number of documents, or of IDs, in one call.
	MaxBatch = 10_000
	// MaxBatchBytes is the greatest number of bytes of text in one call, and so in one
	// document.
	MaxBatchBytes = 64 << 20
	// MaxChunks is the greatest number of chunks in one call.
	MaxChunks = 1 << 20
	// MaxBatchVectorBytes is the greatest size of the vectors in one call, 4 bytes for each
	// number.
	MaxBatchVectorBytes = 256 << 20
)

func checkName(what, s string) error { return checkText(what, s, MaxName, true) }

func checkText(what, s string, most int, required bool) error {
	switch {
	case s == "" && required:
		return fmt.Errorf("%w: no %s", ErrInvalid, what)
	case len(s) > most:
		return fmt.Errorf("%w: %s of %d bytes (at most %d)", ErrInvalid, what, len(s), most)
	case !utf8.ValidString(s):
		return fmt.Errorf("%w: %s %.100q is not UTF-8", ErrInvalid, what, s)
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return fmt.Errorf("%w: %s %.100q has control characters", ErrInvalid, what, s)
		}
	}
	return nil
}
