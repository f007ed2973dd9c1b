package bpe

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
)

// none is the rank of a byte string that is not a token.
const none = ^uint32(0)

// shortLen is the length in bytes up to which a token is stored as one word.
const shortLen = 8

// maxRank bounds the ranks of a file; the largest vocabulary here has 2·10⁵.
const maxRank = 1 << 24

// vocab answers one question, "which rank has this byte string?", from three
// open-addressed or direct tables without a pointer in them. It is immutable
// once parsed.
//
//   - pairs: the rank of every two-byte string, by its bytes.
//   - short: tokens of up to eight bytes. The bytes are the key, padded with
//     zeros, so a hit needs no second look at the text of the token. A token
//     that ends in a zero byte would be mistaken for a shorter one and is kept
//     with the long ones.
//   - filter: one bit per hash of a short token.
//   - long: every other token; the key is a hash, verified in the arena.
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
	// Four in five tokens are short, and a table of 5/4 slots a token has room
	// for all of them if they were. The filter has eight bits to a slot, so nine
	// in ten of the strings that are no token stop there.
	short := 1 << bits.Len(uint(tokens+tokens/4)|256)
	v.shortKeys, v.shortRanks = make([]uint64, short), make([]uint32, short)
	v.shortShift = uint8(64 - bits.TrailingZeros(uint(short)))
	v.filter = make([]uint64, short/8)
	v.filterShift = v.shortShift - 3
	return &builder{vocab: v, arena: make([]byte, 0, 4*tokens), longs: make([]longSlot, 0, tokens/3)}
}

// line reads one line and returns what follows it.
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

// base64 decodes up to a space onto the arena and returns the rest from there.
func (b *builder) base64(in []byte) ([]byte, error) {
	start := len(b.arena)
	for len(in) >= 4 && in[0] != ' ' {
		w, x, y, z := base64Value[in[0]], base64Value[in[1]], base64Value[in[2]], base64Value[in[3]]
		switch {
		case w|x|y|z < 64:
			b.arena = append(b.arena, w<<2|x>>4, x<<4|y>>2, y<<6|z)
		case w|x|y < 64 && z == base64Pad:
			b.arena = append(b.arena, w<<2|x>>4, x<<4|y>>2)
		case w|x < 64 && y == base64Pad && z == base64Pad:
			b.arena = append(b.arena, w<<2|x>>4)
		default:
			return nil, errBase64
		}
		in = in[4:]
	}
	if len(in) == 0 || in[0] != ' ' || len(b.arena) == start {
		return nil, errBase64
	}
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

// add enters the token that ends the arena. A short one leaves the arena again.
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

// rank returns the rank of the token s[i:j], or none. i < j is required.
func (v *vocab) rank(s string, i, j int) uint32 {
	n := j - i
	if n > shortLen || s[j-1] == 0 {
		return v.longRank(s[i:j])
	}
	key := shortKey(s, i, n)
	return v.shortRank(key, shortHash(key))
}

// joined is rank for a string that is likely no token, as most joins of two
// parts are: the filter is small enough to stay near the processor.
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

// shortKey returns the n bytes of s at i as a word, the first byte lowest.
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

func shortHash(key uint64) uint64 {
	return (key ^ key>>32) * 0x9E3779B97F4A7C15
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9E3779B97F4A7C15, b^0xD6E8FEB86659FD93)
	return hi ^ lo
}

// longHash is for the tokens of the long table: more than eight bytes, or ending in
// a zero byte.
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
