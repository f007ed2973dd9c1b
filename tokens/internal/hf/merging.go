package hf

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/tokens/internal/bpe"
)

// readMerges finds the tokens of the merges.
func (v *vocabulary) readMerges() error {
	v.merges = make([]bpe.Pair, len(v.pairs))
	for i, pair := range v.pairs {
		var p bpe.Pair
		for _, part := range []struct {
			text string
			to   *uint32
		}{{pair[0], &p.Left}, {pair[1], &p.Right}, {pair[0] + pair[1], &p.Into}} {
			id, ok := v.ids[part.text]
			if !ok {
				return fmt.Errorf("merges: entry %d: %.40q is not a token", i, part.text)
			}
			*part.to = id
		}
		v.merges[i] = p
	}
	v.pairs = nil
	return nil
}

// own returns the text that a token stands for.
func (v *vocabulary) own(token string, bytes bool) (string, bool) {
	if !bytes {
		return token, true
	}
	out := make([]byte, 0, len(token))
	for _, r := range token {
		b, ok := runeBytes[r]
		if !ok {
			return "", false
		}
		out = append(out, b)
	}
	return string(out), true
}

// byteAlphabet finds the tokens of the bytes, which a file writes as characters.
func (v *vocabulary) byteAlphabet(a *bpe.Alphabet) error {
	a.ByteTokens = new([256]uint32)
	for r, b := range runeBytes {
		id, ok := v.ids[string(r)]
		if !ok {
			return fmt.Errorf("vocab: the byte 0x%02X is not a token: %w", b, errUnsupported)
		}
		a.ByteTokens[b] = id
	}
	return nil
}

// characters finds the tokens of characters and, with byte_fallback, of bytes.
func (v *vocabulary) characters(a *bpe.Alphabet) {
	a.Runes = map[rune]uint32{}
	for token, id := range v.ids {
		if r, width := utf8.DecodeRuneInString(token); width > 0 && width == len(token) {
			a.Runes[r] = id
		}
	}
	if !v.byteFallback {
		return
	}
	a.ByteTokens = new([256]uint32)
	for b := range a.ByteTokens {
		a.ByteTokens[b] = bpe.NoToken
		if id, ok := v.ids[byteToken(b)]; ok {
			a.ByteTokens[b] = id
		}
	}
}

// runeBytes are the bytes that characters stand for after ByteLevel: visible characters of
// Latin-1 for themselves, and the characters from U+0100 on for the other bytes in order.
var runeBytes = func() map[rune]byte {
	m := make(map[rune]byte, 256)
	next := rune(256)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= '¡' && b <= '¬' || b >= '®' {
			m[b] = byte(b)
		} else {
			m[next] = byte(b)
			next++
		}
	}
	return m
}()

// merging is a BPE model.
type merging struct {
	merges *bpe.Merges
	whole  map[string]struct{} // with ignore_merges: pieces that are one token
	listed *listed             // nil unless tokens are listed
	// lost reports whether a character has no token at all. nil: every character has one.
	lost func(r rune) bool
}

// setDropped finds out whether characters can be without a token. The model leaves them out.
func (m *merging) setDropped(a *bpe.Alphabet) {
	if a.Unknown != bpe.NoToken {
		return
	}
	m.lost = func(r rune) bool {
		if _, ok := a.Runes[r]; ok {
			return false
		}
		return a.ByteTokens == nil || slices.ContainsFunc([]byte(string(r)), func(b byte) bool { return a.ByteTokens[b] == bpe.NoToken })
	}
}

func (m *merging) count(r *run, piece string) int {
	if m.whole != nil {
		if _, ok := m.whole[piece]; ok {
			return 1
		}
	}
	return r.Tokens(m.kept(piece))
}

// kept returns the characters of a piece that have a token.
func (m *merging) kept(piece string) string {
	if m.lost == nil || !strings.ContainsFunc(piece, m.lost) {
		return piece
	}
	return strings.Map(func(c rune) rune {
		if m.lost(c) {
			return -1
		}
		return c
	}, piece)
}

func (m *merging) list(r *run, piece string) {
	recent, known := r.recall(piece)
	if known {
		return
	}
	before := len(r.ids)
	m.listNew(r, piece)
	if !r.Stopped() {
		recent.remember(piece, r.ids[before:])
	}
}

func (m *merging) listNew(r *run, piece string) {
	if m.whole != nil {
		if _, ok := m.whole[piece]; ok {
			m.listed.add(r, piece)
			return
		}
	}
	piece = m.kept(piece)
	from := 0
	r.ends = r.Ends(piece, r.ends[:0])
	for _, end := range r.ends {
		m.listed.add(r, piece[from:end])
		from = end
	}
}
