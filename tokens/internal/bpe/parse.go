package bpe

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
)

// maxRank bounds the ranks of a file. The largest vocabulary here has 2·10⁵ tokens.
const maxRank = 1 << 24

var (
	errBase64 = errors.New("not base64")
	errRank   = errors.New("rank is not a number above the one before it")
	errBytes  = errors.New("not every single byte is a token")
)

// parseVocab reads the text form of a tiktoken vocabulary: lines of base64, one
// space and a decimal rank, in ascending order of rank.
func parseVocab(file []byte) (*vocab, error) {
	b := newBuilder(bytes.Count(file, newline) + 1)
	for line := 1; len(file) > 0; line++ {
		rest, err := b.line(file)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		file = rest
	}
	if b.single != 256 {
		return nil, errBytes
	}
	b.buildLong()
	return b.vocab, nil
}

var newline = []byte("\n")

// builder fills the tables of a vocab line by line.
type builder struct {
	*vocab
	arena  []byte     // bytes of the long tokens
	longs  []longSlot // the long tokens, without their hash
	single int        // tokens of one byte
	next   uint32     // lowest rank the next line may have
}

func newBuilder(tokens int) *builder {
	v := &vocab{pairs: make([]uint32, 1<<16)}
	for i := range v.pairs {
		v.pairs[i] = none
	}
	// Four in five tokens are short. A table of 5/4 slots for each token would have room
	// even if all were. The filter has eight bits for each slot, so it stops nine in ten
	// of the strings that are not tokens.
	short := 1 << bits.Len(uint(tokens+tokens/4)|256)
	v.shortKeys, v.shortRanks = make([]uint64, short), make([]uint32, short)
	v.shortShift = uint8(64 - bits.TrailingZeros(uint(short)))
	v.filter = make([]uint64, short/8)
	v.filterShift = v.shortShift - 3
	return &builder{vocab: v, arena: make([]byte, 0, 4*tokens), longs: make([]longSlot, 0, tokens/3)}
}

// line reads one line and returns the input after it.
func (b *builder) line(in []byte) ([]byte, error) {
	start := len(b.arena)
	in, err := b.base64(in)
	if err != nil {
		return nil, err
	}
	rank, i := uint32(0), 1
	for ; i < len(in) && in[i]-'0' < 10 && rank < maxRank; i++ {
		rank = rank*10 + uint32(in[i]-'0')
	}
	if i == 1 || i < len(in) && in[i] != '\n' || rank >= maxRank || rank < b.next {
		return nil, errRank
	}
	b.next = rank + 1
	b.add(start, rank)
	return in[min(i+1, len(in)):], nil
}

// base64 decodes up to a space, appends to the arena and returns the input from the space on.
func (b *builder) base64(in []byte) ([]byte, error) {
	arena := b.arena
	for len(in) >= 4 && in[0] != ' ' {
		w, x, y, z := base64Value[in[0]], base64Value[in[1]], base64Value[in[2]], base64Value[in[3]]
		arena = append(arena, w<<2|x>>4, x<<4|y>>2, y<<6|z)
		if w|x|y|z >= 64 { // padding, or not base64
			if w|x >= 64 || z != base64Pad || y >= base64Bad {
				return nil, errBase64
			}
			arena = arena[:len(arena)-1-int(y>>6)]
		}
		in = in[4:]
	}
	if len(in) == 0 || in[0] != ' ' || len(arena) == len(b.arena) {
		return nil, errBase64
	}
	b.arena = arena
	return in, nil
}

const (
	base64Pad = 64
	base64Bad = 128
)

var base64Value = func() (t [256]byte) {
	for i := range t {
		t[i] = base64Bad
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = byte(i)
	}
	t['='] = base64Pad
	return t
}()

// add enters the token at the end of the arena. It removes a short token from the arena.
func (b *builder) add(start int, rank uint32) {
	t := b.arena[start:]
	b.size++
	b.maxLen = max(b.maxLen, len(t))
	switch len(t) {
	case 1:
		b.single++
	case 2:
		b.pairs[uint(t[0])<<8|uint(t[1])] = rank
	}
	if len(t) > shortLen || t[len(t)-1] == 0 {
		b.longs = append(b.longs, longSlot{rank: rank, offset: uint32(start), length: uint32(len(t))})
		return
	}
	var key uint64
	for i, c := range t {
		key |= uint64(c) << (8 * i)
	}
	b.arena = b.arena[:start]
	h := shortHash(key)
	b.filter[h>>b.filterShift>>6] |= 1 << (h >> b.filterShift & 63)
	i := h >> b.shortShift
	for b.shortKeys[i] != 0 {
		i = (i + 1) & uint64(len(b.shortKeys)-1)
	}
	b.shortKeys[i], b.shortRanks[i] = key, rank
}

func (b *builder) buildLong() {
	v := b.vocab
	v.arena = string(b.arena)
	v.long = make([]longSlot, 1<<bits.Len(uint(2*len(b.longs))))
	v.longMask = uint32(len(v.long) - 1)
	for _, slot := range b.longs {
		h := longHash(v.arena[slot.offset : slot.offset+slot.length])
		slot.tag = uint32(h >> 32)
		i := uint32(h) & v.longMask
		for v.long[i].length != 0 {
			i = (i + 1) & v.longMask
		}
		v.long[i] = slot
	}
}
