package inplace

import (
	"strings"
	"unicode/utf8"
)

// Texts are copied in pieces. A copy of a MiB or more in one piece bypasses the caches of
// the processor. That is faster only if the copy is not read soon. A text that enters or
// leaves a guest is read at once, and fetching it from main memory would take several times
// as long as the copy.

const (
	// pieceSize is the largest piece, in bytes.
	pieceSize = 128 << 10
	// textSize is the largest piece if it is also checked. A piece of this size stays in the
	// innermost cache until it is copied.
	textSize = 32 << 10
)

// CopyText copies like the built-in copy, but in pieces.
func CopyText(dst []byte, src string) {
	n := min(len(dst), len(src))
	for at := 0; at < n; at += pieceSize {
		copy(dst[at:n], src[at:min(at+pieceSize, n)])
	}
}

// CloneText clones s in pieces. ok reports whether it is UTF-8.
func CloneText(s string) (clone string, ok bool) {
	var b strings.Builder
	b.Grow(len(s)) // unlike make, it does not zero the memory
	for at, end := 0, 0; at < len(s); at = end {
		end = textEnd(s, at)
		b.WriteString(s[at:end])
		if !utf8.ValidString(b.String()[at:]) {
			return "", false
		}
	}
	return b.String(), true
}

// textEnd returns where the piece that begins at index at ends. In UTF-8 text the end is between
// two characters.
func textEnd(s string, at int) int {
	end := at + textSize
	if end >= len(s) {
		return len(s)
	}
	for range utf8.UTFMax - 1 {
		if utf8.RuneStart(s[end]) {
			break
		}
		end--
	}
	return end
}
