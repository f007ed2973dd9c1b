package bpe

import (
	"errors"
	"math/bits"
)

var (
	errShort = errors.New("the tokens have other lengths")
	errBytes = errors.New("not every single byte is a token")
)

// parseVocab reads the lengths of the tokens by their ranks, and their bytes; see packed.
func parseVocab(lengths, text []byte) (*vocab, error) {
	b := newBuilder(len(lengths))
	for rank, n := range lengths {
		if int(n) > len(text) {
			return nil, errShort
		}
		if n == 0 {
			continue
		}
		start := len(b.arena)
		b.arena = append(b.arena, text[:n]...)
		b.add(start, uint32(rank))
		text = text[n:]
	}
	switch {
	case len(text) > 0:
		return nil, errShort
	case b.single != 256:
		return nil, errBytes
	}
	b.buildLong()
	return b.vocab, nil
}

// builder fills the tables of a vocab token by token.
type builder struct {
	*vocab
	arena  []byte     // bytes of the long tokens
	longs  []longSlot // the long tokens, without their hash
	single int        // tokens of one byte
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
