package segment

import (
	"encoding/binary"
	"math/bits"
)

// recentTerms has the terms of tokens that were read of late. Most tokens of a text come again
// soon, and these 384 KiB stay in the processor's cache, which the map of all tokens does not.
type recentTerms [1 << recentBits]recentTerm

const (
	recentBits = 14
	// recentBytes is the length of the longest token that is kept.
	recentBytes = 16
)

type recentTerm struct {
	token [2]uint64 // its bytes, then zeros: no token has a zero
	term  uint32
	known bool
}

// find returns the place of a token, or nil if it is too long. If its term is not known yet, the
// caller has to set it.
func (r *recentTerms) find(token []byte) *recentTerm {
	if len(token) > recentBytes {
		return nil
	}
	n := len(token)
	if cap(token) < recentBytes {
		token = append(make([]byte, 0, recentBytes), token...)
	}
	token = token[:recentBytes] // what lies behind the token is masked
	key := [2]uint64{binary.LittleEndian.Uint64(token), 0}
	if n < 8 {
		key[0] &= 1<<(8*n) - 1
	} else {
		key[1] = binary.LittleEndian.Uint64(token[8:]) & (1<<(8*(n-8)) - 1)
	}
	hash := (key[0] ^ bits.RotateLeft64(key[1], 29)) * 0x9e3779b97f4a7c15
	t := &r[hash>>(64-recentBits)]
	if t.token != key {
		*t = recentTerm{token: key}
	}
	return t
}
