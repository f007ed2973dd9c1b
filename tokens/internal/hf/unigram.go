package hf

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

const (
	// maxScored is the largest length in bytes of a token of a Unigram model. A count takes
	// this many steps for each byte of a text at most.
	maxScored = 512
	// maxScoredTotal bounds the lengths of all tokens together.
	maxScoredTotal = 8 << 20
	// unknownPenalty is what an unknown character scores below the worst token.
	unknownPenalty = 10
)

// unigram counts with the division of a piece into tokens that has the highest sum of scores.
// Of equal sums the one wins whose last token starts first.
type unigram struct {
	next    table
	score   []float64 // of the token that ends at a node
	ends    []ending
	ids     map[string]uint32
	unknown float64   // score of an unknown character
	longest int       // bytes of the longest token
	bytes   [256]bool // with byte_fallback: bytes that have a token
}

// ending says whether a token ends at a node.
type ending uint8

const (
	noEnd ending = iota
	tokenEnd
	unknownEnd // the text of the unknown token itself
)

// unigram builds the model.
func (v *vocabulary) unigram() (model, error) {
	if v.unknownID < 0 || v.unknownID >= len(v.scored) {
		return nil, fmt.Errorf("unk_id: %w without one", errUnsupported)
	}
	m := &unigram{
		ids: v.ids, unknown: math.Inf(1), score: []float64{0}, ends: []ending{noEnd}, longest: utf8.UTFMax,
	}
	total := 0
	for i, s := range v.scored {
		if total += len(s.text); len(s.text) > maxScored || total > maxScoredTotal {
			return nil, fmt.Errorf("vocab: token of %d bytes, %d together: %w (at most %d, %d together)",
				len(s.text), total, errTooMany, maxScored, maxScoredTotal)
		}
		m.unknown = min(m.unknown, s.score-unknownPenalty)
		if s.text != "" {
			m.add(s, i == v.unknownID)
		}
	}
	for b := range m.bytes {
		_, ok := v.ids[byteToken(b)]
		m.bytes[b] = ok && v.byteFallback
	}
	if len(m.ends) == 1 {
		return nil, errors.New("vocab: no tokens")
	}
	return m, nil
}

// add enters a token. A later token of the same text replaces it.
func (m *unigram) add(s scored, unknown bool) {
	node := uint32(0)
	for i := range len(s.text) {
		node = m.next.child(node, s.text[i], uint32(len(m.ends)))
		if int(node) == len(m.ends) {
			m.ends, m.score = append(m.ends, noEnd), append(m.score, 0)
		}
	}
	m.ends[node], m.score[node] = tokenEnd, s.score
	if unknown {
		m.ends[node] = unknownEnd
	}
	m.longest = max(m.longest, len(s.text))
}

func (m *unigram) count(r *run, piece string) int {
	if piece == "" {
		return 0
	}
	// No token is longer than longest, so only so many places are needed at a time.
	size := m.longest + 1
	if len(r.places) < size {
		r.places = make([]place, size)
	}
	places := r.places[:size]
	clear(places)
	places[0] = place{reached: true, unknown: -1}
	for i, polled := 0, 0; i < len(piece); {
		if i-polled >= pollNodes {
			if polled = i; r.Poll() {
				return 0
			}
		}
		from := places[i%size]
		_, width := utf8.DecodeRuneInString(piece[i:])
		if !m.tokensFrom(places, piece, i, width, from) {
			to := &places[(i+width)%size]
			if score := m.unknown + from.score; !to.reached || score > to.score {
				*to = m.withUnknown(from, piece, i, i+width, score)
			}
		}
		for k := range width {
			places[(i+k)%size] = place{}
		}
		i += width
	}
	return m.upTo(&places[len(piece)%size], piece, len(piece))
}

// tokensFrom enters all tokens that start at i, and reports whether one of them is the
// character at i.
func (m *unigram) tokensFrom(places []place, piece string, i, width int, from place) (single bool) {
	tokens := -1
	for node, j := uint32(0), i; j < len(piece); {
		child, ok := m.next.find(node, piece[j])
		if !ok {
			break
		}
		node = child
		j++
		if m.ends[node] == noEnd {
			continue
		}
		single = single || j-i == width
		to, score := &places[j%len(places)], m.score[node]+from.score
		if to.reached && score <= to.score {
			continue
		}
		if m.ends[node] == unknownEnd {
			*to = m.withUnknown(from, piece, i, j, score)
			continue
		}
		if tokens < 0 {
			tokens = m.upTo(&from, piece, i)
		}
		*to = place{reached: true, score: score, tokens: tokens + 1, unknown: -1}
	}
	return single
}

// withUnknown returns p followed by unknown characters from i to j.
func (m *unigram) withUnknown(p place, piece string, i, j int, score float64) place {
	p.score = score
	if p.unknown < 0 {
		p.unknown, p.whole = i, false
	}
	for k := i; k < j; k++ {
		p.whole = p.whole || !m.bytes[piece[k]]
	}
	return p
}

// upTo returns the tokens up to a place that ends at end. Neighbouring unknown characters are one
// token, or with byte_fallback one for each byte.
func (m *unigram) upTo(p *place, piece string, end int) int {
	if p.unknown < 0 {
		return p.tokens
	}
	length := end - p.unknown
	if length <= m.longest {
		if _, ok := m.ids[piece[p.unknown:end]]; ok {
			return p.tokens + 1
		}
	}
	if p.whole {
		return p.tokens + 1
	}
	return p.tokens + length
}
