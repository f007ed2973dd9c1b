package bpe

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// The character classes that the split patterns distinguish. A letter has isLetter and the
// case bits of the o200k pattern: isUpper if it may be in the upper-case run of that pattern
// (Lu Lt Lm Lo M), isLower if it may be in the lower-case run (Ll Lm Lo M).
const (
	isLetter  = 1 << iota // \p{L}
	isNumber              // \p{N}
	isSpace               // \s
	isNewline             // \r or \n
	isUpper
	isLower
	isMark // \p{M}
)

const isCased = isUpper | isLower

// blockBits is the size of a class block in bits of the code point. The last byte of a
// UTF-8 sequence has 6 bits, so the bytes before it select the block.
const (
	blockBits = 6
	blockSize = 1 << blockBits
	numBlocks = (unicode.MaxRune + 1) >> blockBits
)

// classTable holds the class of every code point. Equal blocks are stored once, which
// reduces the table from 1.1 MB to about 60 KiB.
type classTable struct {
	ascii  [utf8.RuneSelf]uint8
	block  [numBlocks]uint16 // code point >> blockBits → index into blocks
	blocks [][blockSize]uint8
}

// classes builds the table from the unicode package on first use. tiktoken-go matches its
// split patterns with an engine that uses the same package, so both have the same version of
// Unicode.
var classes = sync.OnceValue(func() *classTable {
	all := make([]uint8, unicode.MaxRune+1)
	for _, c := range []struct {
		table *unicode.RangeTable
		class uint8
	}{
		{unicode.Lu, isLetter | isUpper},
		{unicode.Lt, isLetter | isUpper},
		{unicode.Ll, isLetter | isLower},
		{unicode.Lm, isLetter | isUpper | isLower},
		{unicode.Lo, isLetter | isUpper | isLower},
		{unicode.M, isMark | isUpper | isLower},
		{unicode.N, isNumber},
		{unicode.White_Space, isSpace},
	} {
		fill(all, c.table, c.class)
	}
	all['\n'] |= isNewline
	all['\r'] |= isNewline
	return newClassTable(all)
})

// fill sets the class of every code point of a range table. Going through the table once is
// far cheaper than a lookup for each code point.
func fill(all []uint8, table *unicode.RangeTable, class uint8) {
	for _, r := range table.R16 {
		for c := uint32(r.Lo); c <= uint32(r.Hi); c += uint32(r.Stride) {
			all[c] = class
		}
	}
	for _, r := range table.R32 {
		for c := r.Lo; c <= r.Hi; c += r.Stride {
			all[c] = class
		}
	}
}

func newClassTable(all []uint8) *classTable {
	t := new(classTable)
	copy(t.ascii[:], all)
	seen := make(map[[blockSize]uint8]uint16)
	for b := range t.block {
		k := [blockSize]uint8(all[b<<blockBits:])
		i, ok := seen[k]
		if !ok {
			i = uint16(len(t.blocks))
			seen[k] = i
			t.blocks = append(t.blocks, k)
		}
		t.block[b] = i
	}
	return t
}

// at returns the class and the width in bytes of the character at s[i]. A byte outside of
// valid UTF-8 is a character with width 1 and the class of U+FFFD, as in a range loop over s.
func (t *classTable) at(s string, i int) (class uint8, width int) {
	b := s[i]
	if b < utf8.RuneSelf {
		return t.ascii[b], 1
	}
	// Decoding here avoids a function call for every valid sequence. The block number is
	// the code point without its last six bits. It shows overlong forms, surrogates and
	// numbers beyond Unicode.
	switch {
	case b >= 0xC2 && b < 0xE0 && i+1 < len(s) && isContinuation(s[i+1]):
		return t.blocks[t.block[b&0x1F]][s[i+1]&0x3F], 2
	case b >= 0xE0 && b < 0xF0 && i+2 < len(s) && isContinuation(s[i+1]) && isContinuation(s[i+2]):
		n := uint(b&0x0F)<<6 | uint(s[i+1]&0x3F)
		if n >= 0x800>>blockBits && n>>5 != 0xD800>>11 {
			return t.blocks[t.block[n]][s[i+2]&0x3F], 3
		}
	case b >= 0xF0 && i+3 < len(s) && isContinuation(s[i+1]) && isContinuation(s[i+2]) && isContinuation(s[i+3]):
		n := uint(b&0x0F)<<12 | uint(s[i+1]&0x3F)<<6 | uint(s[i+2]&0x3F)
		if n >= 0x10000>>blockBits && n < numBlocks {
			return t.blocks[t.block[n]][s[i+3]&0x3F], 4
		}
	}
	return t.blocks[t.block[utf8.RuneError>>blockBits]][utf8.RuneError&(blockSize-1)], 1
}

func isContinuation(b byte) bool { return b&0xC0 == 0x80 }
