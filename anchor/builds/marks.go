package builds

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// MaxMarks is how many items of a build a search by item knows: those of the window first, then those
// that were left out, and those that a step dropped.
const MaxMarks = 128

// markLength is the length of a mark. Two items have the same one by chance once in 2^36 pairs.
const markLength = 6

// markOf stands for the ID of an item, so that a summary has room for many.
func markOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:5])[:markLength]
}

// hasMark reports whether a mark is among those of a summary.
func hasMark(marks, mark string) bool {
	for len(marks) >= markLength {
		i := strings.Index(marks, mark)
		if i < 0 {
			return false
		}
		if i%markLength == 0 {
			return true
		}
		marks = marks[i-i%markLength+markLength:]
	}
	return false
}

// marks are the marks of the items of the build, one after another.
func (b *Build) marks() string {
	var out []byte
	add := func(id string) bool {
		if len(out) < MaxMarks*markLength {
			out = append(out, markOf(id)...)
		}
		return len(out) < MaxMarks*markLength
	}
	if b.Result != nil {
		for i := range b.Result.Window.Items {
			_ = add(b.Result.Window.Items[i].ID)
		}
		for i := range b.Result.Overflow {
			_ = add(b.Result.Overflow[i].ID)
		}
	}
	for _, t := range b.diagnostics().Items.All() {
		if (b.Result == nil || t.Outcome == explain.DroppedByStep) && !add(t.ID) {
			break
		}
	}
	return string(out)
}

// hasWords reports whether a folded text has all words, in any order.
func hasWords(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// wordsOf are the words that a search looks for.
func wordsOf(text string) []string { return strings.Fields(folded(text)) }

// folded is a text as searches compare it.
func folded(text string) string { return strings.ToLower(text) }
