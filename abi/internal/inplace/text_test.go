package inplace

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"
)

func TestCopyText(t *testing.T) {
	for _, n := range []int{0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 2 * pieceSize, 3*pieceSize + 5} {
		src := make([]byte, n)
		for i := range src {
			src[i] = byte(i ^ i>>8 ^ i>>16)
		}
		for _, room := range []int{n, n + 3, n / 2} {
			got, want := make([]byte, room), make([]byte, room)
			CopyText(got, string(src))
			copy(want, src)
			if !bytes.Equal(got, want) {
				t.Errorf("%d bytes into %d: other bytes", n, room)
			}
		}
	}
}

// TestCloneText has characters of every length, and what is none, lie across the
// ends of pieces.
func TestCloneText(t *testing.T) {
	for _, char := range []string{"a", "é", "€", "😀", "\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\x80", "\x80\x80\x80\x80\x80"} {
		for _, end := range []int{textSize, 2 * textSize} {
			for from := end - 5; from <= end+1; from++ {
				for _, tail := range []string{"", "b", strings.Repeat("b", 10), strings.Repeat("b", textSize)} {
					checkClone(t, strings.Repeat("a", from)+char+tail)
				}
			}
		}
		checkClone(t, char)
		checkClone(t, strings.Repeat(char, textSize))
	}
	checkClone(t, "")
}

func checkClone(t *testing.T, text string) {
	t.Helper()
	src := []byte(text)
	got, ok := CloneText(unsafe.String(unsafe.SliceData(src), len(src)))
	clear(src)
	if want := utf8.ValidString(text); ok != want || ok && got != text {
		t.Errorf("%d bytes, ending in %q: ok %v, want %v, or other bytes", len(text), text[max(0, len(text)-8):], ok, want)
	}
}
