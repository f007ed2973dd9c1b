package builtin

import (
	"encoding/binary"
	"errors"
	"math"
)

// The form of a table, with numbers in little-endian order:
//
//	magic, digest (8 bytes), dimension, tokens, slots: the head
//	slots × uint16: the token plus one, where the hash of its text says or behind it; 0 is empty
//	(tokens+1) × uint32: where the text of each token begins
//	texts; the head of a word is written as a space
//	tokens × float32: the value of a step
//	tokens × dimension × int8: the vectors in steps
//
// Tokens are in the order of their rank: of two merges, the one whose result has the lower number is
// made first.
const (
	magic    = "ahvec1\n\x00"
	headSize = len(magic) + 8 + 3*4
)

// table reads a table where it lies.
type table struct {
	digest            string
	dimension, tokens int
	mask              uint32
	slots, offsets    string
	texts, steps      string
	vectors           string
}

var errTable = errors.New("builtin: the table is damaged")

// open finds the parts of a table. It reads the head alone; after it, no number of the parts can lead out of
// them.
func open(data string) (*table, error) {
	if len(data) < headSize || data[:len(magic)] != magic {
		return nil, errTable
	}
	t := &table{digest: data[len(magic):][:8]}
	at := len(magic) + 8
	number := func() int {
		n := uint32At(data, at)
		at += 4
		return int(n)
	}
	t.dimension, t.tokens = number(), number()
	slots := number()
	if t.dimension < 1 || t.dimension > 1<<10 || t.tokens < 1 || t.tokens >= math.MaxUint16 || slots < 1 || slots > 1<<20 || slots&(slots-1) != 0 || slots <= t.tokens {
		return nil, errTable
	}
	t.mask = uint32(slots - 1)
	ok := true
	part := func(n int) string {
		if ok = ok && n <= len(data)-at; !ok {
			return ""
		}
		at += n
		return data[at-n : at]
	}
	t.slots = part(2 * slots)
	if t.offsets = part(4 * (t.tokens + 1)); !ok {
		return nil, errTable
	}
	t.texts = part(int(uint32At(t.offsets, 4*t.tokens)))
	t.steps = part(4 * t.tokens)
	if t.vectors = part(t.tokens * t.dimension); !ok || at != len(data) {
		return nil, errTable
	}
	return t, nil
}

func uint32At(s string, at int) uint32 {
	return uint32(s[at]) | uint32(s[at+1])<<8 | uint32(s[at+2])<<16 | uint32(s[at+3])<<24
}

// text returns the text of a token, empty if the table is damaged.
func (t *table) text(token int) string {
	from, to := uint32At(t.offsets, 4*token), uint32At(t.offsets, 4*token+4)
	if from > to || int64(to) > int64(len(t.texts)) {
		return ""
	}
	return t.texts[from:to]
}

// hash is FNV-1a.
func hash(text []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range text {
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}

// find returns the token of a text, -1 if there is none.
func (t *table) find(text []byte) int {
	at := hash(text) & t.mask
	for range t.mask + 1 {
		token := int(t.slots[2*at]) | int(t.slots[2*at+1])<<8
		if token == 0 || token > t.tokens {
			return -1
		}
		if t.text(token-1) == string(text) {
			return token - 1
		}
		at = (at + 1) & t.mask
	}
	return -1
}

// add adds the vector of a token to v.
func (t *table) add(v []float32, token int) {
	step := math.Float32frombits(uint32At(t.steps, 4*token))
	row := t.vectors[token*t.dimension:][:len(v)]
	for i := range v {
		v[i] += step * float32(int8(row[i]))
	}
}

// maxPieces bounds the characters of a word that are joined; the rest of a longer word has no vector.
const maxPieces = 64

// piece is a part of a word. pair is the token that it makes with the next piece, the number of all tokens if there is none.
type piece struct{ from, to, pair int }

// each calls f with each token of a word. It joins neighbours as SentencePiece does.
func (t *table) each(word []byte, f func(token int)) {
	var room [maxPieces]piece
	text, pieces := append([]byte{' '}, word...), room[:0]
	for at := 0; at < len(text) && len(pieces) < maxPieces; {
		size := 1
		for at+size < len(text) && text[at+size]&0xC0 == 0x80 {
			size++
		}
		pieces = append(pieces, piece{at, at + size, t.tokens})
		at += size
	}
	join := func(i int) {
		if i < 0 || i+1 >= len(pieces) {
			return
		}
		if pieces[i].pair = t.find(text[pieces[i].from:pieces[i+1].to]); pieces[i].pair < 0 {
			pieces[i].pair = t.tokens
		}
	}
	for i := range pieces {
		join(i)
	}
	for {
		best, place := t.tokens, -1
		for i := range pieces {
			if pieces[i].pair < best {
				best, place = pieces[i].pair, i
			}
		}
		if place < 0 {
			break
		}
		pieces[place].to, pieces[place].pair = pieces[place+1].to, t.tokens
		pieces = append(pieces[:place+1], pieces[place+2:]...)
		join(place - 1)
		join(place)
	}
	for _, p := range pieces {
		if token := t.find(text[p.from:p.to]); token >= 0 {
			f(token)
		}
	}
}

// Vectors have, for each token of a vocabulary in the order of the ranks, what [Make] needs.
type Vectors struct {
	Dimension int
	Texts     []string
	Vectors   []float32 // Dimension for each
}

// Make returns a table. It is for tools/retrieve/table.
func Make(v Vectors, digest [8]byte) ([]byte, error) {
	n, le := len(v.Texts), binary.LittleEndian
	if n == 0 || n >= math.MaxUint16 || len(v.Vectors) != n*v.Dimension {
		return nil, errors.New("builtin: want 1 to 65534 tokens, with a vector for each")
	}
	slots := 1
	for slots < 2*n {
		slots *= 2
	}
	out := append([]byte(magic), digest[:]...)
	for _, number := range []int{v.Dimension, n, slots} {
		out = le.AppendUint32(out, uint32(number))
	}
	places := make([]uint16, slots)
	for i, text := range v.Texts {
		at := hash([]byte(text)) & uint32(slots-1)
		for places[at] != 0 {
			at = (at + 1) & uint32(slots-1)
		}
		places[at] = uint16(i + 1)
	}
	for _, p := range places {
		out = le.AppendUint16(out, p)
	}
	end := uint32(0)
	for _, text := range v.Texts {
		out, end = le.AppendUint32(out, end), end+uint32(len(text))
	}
	out = le.AppendUint32(out, end)
	for _, text := range v.Texts {
		out = append(out, text...)
	}
	var steps, rows []byte
	for i := range n {
		row, most := v.Vectors[i*v.Dimension:][:v.Dimension], float32(0)
		for _, x := range row {
			most = max(most, x, -x)
		}
		step := most / math.MaxInt8
		steps = le.AppendUint32(steps, math.Float32bits(step))
		for _, x := range row {
			q := int8(0)
			if step > 0 {
				q = int8(math.RoundToEven(float64(x / step)))
			}
			rows = append(rows, byte(q))
		}
	}
	return append(append(out, steps...), rows...), nil
}
