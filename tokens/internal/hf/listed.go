package hf

import (
	"fmt"
	"math"
)

// listed gives the numbers of the tokens of a BPE model.
type listed struct {
	numbers map[string]uint32 // by the text that a token stands for
	bytes   [256]uint32       // with byte_fallback, noNumber for none
}

const noNumber = math.MaxUint32

// list makes the numbers of a BPE model.
func (v *vocabulary) list(bytes bool) *listed {
	l := &listed{numbers: make(map[string]uint32, len(v.ids))}
	for b := range l.bytes {
		l.bytes[b] = noNumber
		if id, ok := v.ids[byteToken(b)]; ok && v.byteFallback && !bytes {
			l.bytes[b] = uint32(v.numbers[id])
		}
	}
	for token, id := range v.ids {
		if own, ok := v.own(token, bytes); ok && (token != v.unknown || v.unknown == "") {
			l.numbers[own] = uint32(v.numbers[id])
		}
	}
	return l
}

// add adds the number of a token to r. A text without a token is a byte of a character, or
// unknown.
func (l *listed) add(r *run, token string) {
	n, ok := l.numbers[token]
	if !ok && len(token) == 1 {
		n = l.bytes[token[0]]
		ok = n != noNumber
	}
	if ok {
		r.ids = append(r.ids, n)
	}
}

// checkNumbers returns an error if the tokens cannot be listed.
func (v *vocabulary) checkNumbers() error {
	if v.kind == "Unigram" {
		return fmt.Errorf("list the tokens of Unigram: %w", errUnsupported)
	}
	for _, n := range v.numbers {
		if n > math.MaxInt32 {
			return fmt.Errorf("vocab: id %d: %w (at most %d)", n, errTooMany, math.MaxInt32)
		}
	}
	return nil
}
