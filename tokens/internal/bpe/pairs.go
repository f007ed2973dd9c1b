package bpe

import (
	"math/bits"
	"unicode/utf8"
)

// NoToken stands for a token that a vocabulary does not have.
const NoToken = none

// Alphabet says into which tokens a text is cut before its pairs are merged.
type Alphabet struct {
	// Bytes makes every byte a token of its own: ByteTokens has a token for each. Otherwise
	// every character is one: Runes has the tokens of characters.
	Bytes bool
	// Runes are the tokens of characters. Not used with Bytes.
	Runes map[rune]uint32
	// ByteTokens are the tokens of bytes. Without Bytes they stand for the characters that Runes
	// lacks, unless a byte of the character is [NoToken]. nil: all are.
	ByteTokens *[256]uint32
	// Unknown is the token of a character that has no other. [NoToken]: texts have no such
	// character.
	Unknown uint32
	// FuseUnknown makes one token of neighbouring unknown characters.
	FuseUnknown bool
}

// Pair is two neighbouring tokens, and the token that they merge to.
type Pair struct{ Left, Right, Into uint32 }

// Merges joins pairs of tokens that are listed, as opposed to all pairs whose text is a token.
// It is immutable and safe for concurrent use.
type Merges struct {
	alphabet Alphabet
	ascii    [utf8.RuneSelf]uint32
	keys     []uint64 // both tokens of a pair, plus one; zero marks a free slot
	ranks    []uint32
	shift    uint8
	into     []uint32 // the merged token of each rank
	maxLen   int
}

// NewMerges returns the merges of a vocabulary. The first pair of the list merges first. If a
// pair is listed twice, its last place counts. maxLen is the largest length of a token in
// bytes. All tokens must be below 1 << 31.
func NewMerges(a Alphabet, list []Pair, maxLen int) *Merges {
	size := 1 << bits.Len(uint(2*len(list))|63)
	m := &Merges{
		alphabet: a, maxLen: maxLen, into: make([]uint32, len(list)),
		keys: make([]uint64, size), ranks: make([]uint32, size), shift: uint8(64 - bits.TrailingZeros(uint(size))),
	}
	for rank, p := range list {
		m.into[rank] = p.Into
		i, key := m.slot(p.Left, p.Right)
		m.keys[i], m.ranks[i] = key, uint32(rank)
	}
	for r := range m.ascii {
		m.ascii[r] = NoToken
		if t, ok := a.Runes[rune(r)]; ok {
			m.ascii[r] = t
		}
	}
	return m
}

// slot returns the slot of a pair, or the free one where it belongs.
func (m *Merges) slot(left, right uint32) (uint64, uint64) {
	key := uint64(left)<<32 | uint64(right)
	key++
	for i := (key ^ key>>29) * 0x9E3779B97F4A7C15 >> m.shift; ; i++ {
		i &= uint64(len(m.keys) - 1)
		if m.keys[i] == key || m.keys[i] == 0 {
			return i, key
		}
	}
}

// rank returns the rank of a pair, or none.
func (m *Merges) rank(left, right uint32) uint32 {
	if i, key := m.slot(left, right); m.keys[i] == key {
		return m.ranks[i]
	}
	return none
}

// symbols cuts p into the tokens before any merge. It writes their starts and tokens, and
// returns their number.
func (m *Merges) symbols(p string, pos []int32, out []uint32) int {
	a := &m.alphabet
	if a.Bytes {
		for i := range len(p) {
			pos[i], out[i] = int32(i), a.ByteTokens[p[i]]
		}
		return len(p)
	}
	n, unknown := 0, false
	for i := 0; i < len(p); {
		t, width := m.character(p[i:])
		switch {
		case t != NoToken:
			pos[n], out[n], unknown = int32(i), t, false
			n++
		case a.hasBytes(p[i : i+width]):
			for k := i; k < i+width; k++ {
				pos[n], out[n] = int32(k), a.ByteTokens[p[k]]
				n++
			}
		case !unknown || !a.FuseUnknown:
			pos[n], out[n], unknown = int32(i), a.Unknown, true
			n++
		}
		i += width
	}
	return n
}

// hasBytes reports whether every byte of a character has a token.
func (a *Alphabet) hasBytes(character string) bool {
	for i := range len(character) {
		if a.ByteTokens == nil || a.ByteTokens[character[i]] == NoToken {
			return false
		}
	}
	return true
}

// character returns the token of the first character of p, or NoToken, and its width in bytes.
func (m *Merges) character(p string) (token uint32, width int) {
	if p[0] < utf8.RuneSelf {
		return m.ascii[p[0]], 1
	}
	r, width := utf8.DecodeRuneInString(p)
	if t, ok := m.alphabet.Runes[r]; ok {
		return t, width
	}
	return NoToken, width
}
