package segment

import (
	"bytes"
	"hash/maphash"
)

// vocabulary numbers words in the order in which they are added. A word takes its bytes and 10 to
// 15 more; as a text in a map of Go it takes 60. The zero value has no words.
type vocabulary struct {
	words arena
	seed  maphash.Seed
	// slots has, where the hash of a word says or behind it, the number of the word plus one.
	slots []uint32
}

// size is how many words there are.
func (v *vocabulary) size() int { return max(len(v.words.off), 1) - 1 }

// add returns the number of a word, and whether the word is new.
func (v *vocabulary) add(word []byte) (number uint32, fresh bool) {
	if 3*len(v.slots) <= 4*v.size() {
		v.grow()
	}
	slot := v.slot(word)
	if fresh = *slot == 0; fresh {
		v.words.add(word)
		*slot = uint32(v.size())
	}
	return *slot - 1, fresh
}

// slot returns the slot of a word, or the empty one that it would have.
func (v *vocabulary) slot(word []byte) *uint32 {
	last := uint64(len(v.slots) - 1)
	for at := maphash.Bytes(v.seed, word) & last; ; at = (at + 1) & last {
		slot := &v.slots[at]
		if *slot == 0 || bytes.Equal(v.words.at(int(*slot-1)), word) {
			return slot
		}
	}
}

// grow doubles the slots.
func (v *vocabulary) grow() {
	if v.slots == nil {
		v.seed = maphash.MakeSeed()
	}
	v.slots = make([]uint32, max(1<<10, 2*len(v.slots)))
	for i := range v.size() {
		*v.slot(v.words.at(i)) = uint32(i + 1)
	}
}
