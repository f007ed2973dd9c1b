package bpe

import "math/bits"

// none is the rank of a byte string that is not a token.
const none = ^uint32(0)

// shortLen is the largest length in bytes of a token that is stored as one word.
const shortLen = 8

// vocab maps byte strings to ranks, with a few tables that have no pointers. It is immutable
// after parsing.
//
//   - pairs: the rank of every two-byte string, by its bytes.
//   - short: tokens of up to eight bytes. The bytes are the key, padded with
//     zeros, so that the text of the token need not be compared. A token that
//     ends in a zero byte would look like a shorter one, and is kept with the
//     long ones.
//   - filter: one bit per hash of a short token. It excludes most strings that are
//     not tokens, and is small enough to stay in the processor's cache.
//   - long: every other token. The key is a hash; the arena has the bytes to compare.
type vocab struct {
	pairs       []uint32
	shortKeys   []uint64
	shortRanks  []uint32
	shortShift  uint8 // 64 - log2(len(shortKeys)); the hash's upper bits are the index
	filter      []uint64
	filterShift uint8
	long        []longSlot
	longMask    uint32
	arena       string
	maxLen      int // bytes of the longest token
	size        int // number of tokens
}

type longSlot struct {
	tag    uint32 // upper half of the hash
	rank   uint32
	offset uint32 // of the token in the arena
	length uint32 // 0 marks a free slot
}

// rank returns the rank of the token s[i:j], or none. i < j is required.
func (v *vocab) rank(s string, i, j int) uint32 {
	n := j - i
	if n > shortLen || s[j-1] == 0 {
		return v.longRank(s[i:j])
	}
	key := shortKey(s, i, n)
	return v.shortRank(key, shortHash(key))
}

// joined returns the same as rank. It tests the filter first, because most joins of two
// parts are not tokens.
func (v *vocab) joined(s string, i, j int) uint32 {
	n := j - i
	if n > shortLen || s[j-1] == 0 {
		return v.longRank(s[i:j])
	}
	key := shortKey(s, i, n)
	h := shortHash(key)
	if v.filter[h>>v.filterShift>>6]>>(h>>v.filterShift&63)&1 == 0 {
		return none
	}
	return v.shortRank(key, h)
}

func (v *vocab) shortRank(key, h uint64) uint32 {
	keys := v.shortKeys
	for i := h >> v.shortShift; ; i++ {
		i &= uint64(len(keys) - 1)
		switch keys[i] {
		case key:
			return v.shortRanks[i]
		case 0:
			return none
		}
	}
}

func (v *vocab) longRank(t string) uint32 {
	if len(t) > v.maxLen {
		return none
	}
	h := longHash(t)
	for i := uint32(h) & v.longMask; ; i = (i + 1) & v.longMask {
		e := &v.long[i]
		if e.length == 0 {
			return none
		}
		if e.tag == uint32(h>>32) && v.arena[e.offset:e.offset+e.length] == t {
			return e.rank
		}
	}
}

// shortKey returns the n bytes of s at i as a word, the first byte in the lowest bits.
func shortKey(s string, i, n int) uint64 {
	if i+8 <= len(s) {
		return load64(s, i) & (^uint64(0) >> (64 - 8*uint(n)))
	}
	if i+n >= 8 {
		return load64(s, i+n-8) >> (64 - 8*uint(n))
	}
	var key uint64
	for k := n - 1; k >= 0; k-- {
		key = key<<8 | uint64(s[i+k])
	}
	return key
}

func load64(s string, i int) uint64 {
	_ = s[i+7]
	return uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
		uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
}

// shortHash hashes a word. Use its upper bits, which are the better ones.
func shortHash(key uint64) uint64 {
	return (key ^ key>>32) * 0x9E3779B97F4A7C15
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9E3779B97F4A7C15, b^0xD6E8FEB86659FD93)
	return hi ^ lo
}

// longHash hashes a token of the long table: one of more than eight bytes, or one that ends
// in a zero byte.
func longHash(s string) uint64 {
	n := len(s)
	if n < 8 {
		return mix(shortKey(s, 0, n), uint64(n))
	}
	h := uint64(n)
	for i := 0; i+8 < n; i += 8 {
		h = mix(h, load64(s, i))
	}
	return mix(h, load64(s, n-8))
}
