package abi

import (
	"strings"
	"unicode/utf8"
)

// Texts are copied in pieces. From a MiB on, copying in one go writes past the
// caches of the processor, which pays where nobody soon reads the copy. What crosses
// the border of a guest is read as soon as it is on the other side, and would have
// to come back from main memory: that takes several times as long as the copying.

const (
	// pieceSize is the most that is copied at a time.
	pieceSize = 128 << 10
	// textSize is the most where the copy is read as well: it is still in the
	// nearest cache then.
	textSize = 32 << 10
)

// copyText is copy.
func copyText(dst []byte, src string) {
	n := min(len(dst), len(src))
	for at := 0; at < n; at += pieceSize {
		copy(dst[at:n], src[at:min(at+pieceSize, n)])
	}
}

// cloneText is strings.Clone for text that is to be UTF-8; ok says whether it is.
func cloneText(s string) (clone string, ok bool) {
	var b strings.Builder
	b.Grow(len(s)) // zeroes nothing, unlike make
	for at, end := 0, 0; at < len(s); at = end {
		end = textEnd(s, at)
		b.WriteString(s[at:end])
		if !utf8.ValidString(b.String()[at:]) {
			return "", false
		}
	}
	return b.String(), true
}

// textEnd is where the piece ends that begins at at: before a character, in text
// that is UTF-8.
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
