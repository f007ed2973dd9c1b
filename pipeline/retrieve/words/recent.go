package words

import (
	"encoding/binary"
	"math/bits"
)

// Recent has the numbers of words that were read of late. Most words of a text come again
// soon, and these 384 KiB stay in the processor's cache, which a map of all words does not.
type Recent [1 << recentBits]Numbered

const (
	recentBits = 14
	// recentBytes is the length of the longest word that is kept.
	recentBytes = 16
)

// Numbered is a word with its number.
type Numbered struct {
	word   [2]uint64 // its bytes, then zeros: no word has a zero
	Number uint32
	Known  bool
}

// Find returns the place of a word, or nil if it is too long. If its number is not known yet, the
// caller has to set it. Find reads the memory of the word up to its capacity, so nobody may write there meanwhile.
func (r *Recent) Find(word []byte) *Numbered {
	if len(word) > recentBytes {
		return nil
	}
	n := uint(len(word))
	if cap(word) < recentBytes {
		word = append(make([]byte, 0, recentBytes), word...)
	}
	word = word[:recentBytes] // what lies behind the word is masked
	key := [2]uint64{binary.LittleEndian.Uint64(word) & (1<<(8*n) - 1), binary.LittleEndian.Uint64(word[8:]) & (1<<(8*max(n, 8)-64) - 1)}
	hash := (key[0] ^ bits.RotateLeft64(key[1], 29)) * 0x9e3779b97f4a7c15
	t := &r[hash>>(64-recentBits)]
	if t.word != key {
		*t = Numbered{word: key}
	}
	return t
}
