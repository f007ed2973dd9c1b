package hf

import (
	"fmt"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/tokens/internal/bpe"
)

// build makes the tables. With bytes, the model works on bytes, and each token is written with
// one character for each of its bytes.
func (v *vocabulary) build(bytes bool) (model, error) {
	if v.kind == "Unigram" {
		if bytes {
			return nil, fmt.Errorf("unigram after ByteLevel: %w", errUnsupported)
		}
		return v.unigram()
	}
	if v.kind == "WordPiece" {
		if bytes {
			return nil, fmt.Errorf("wordpiece after ByteLevel: %w", errUnsupported)
		}
		return v.wordPiece()
	}
	if err := v.readMerges(); err != nil {
		return nil, err
	}
	a := bpe.Alphabet{Bytes: bytes, Unknown: bpe.NoToken, FuseUnknown: v.fuseUnknown}
	m := new(merging)
	if v.unknown != "" {
		id, ok := v.ids[v.unknown]
		if !ok {
			return nil, fmt.Errorf("unk_token %.40q is not a token", v.unknown)
		}
		a.Unknown = id
	}
	if bytes {
		if err := v.byteAlphabet(&a); err != nil {
			return nil, err
		}
	} else {
		v.characters(&a)
		m.setDropped(&a)
	}
	longest := v.measure(m, bytes)
	m.merges = bpe.NewMerges(a, v.merges, longest)
	if v.listing {
		m.listed = v.list(bytes)
	}
	return m, nil
}

// measure returns the length in bytes of the longest token. With ignore_merges it lists the texts
// that are one token.
func (v *vocabulary) measure(m *merging, bytes bool) (longest int) {
	if v.ignoreMerges {
		m.whole = make(map[string]struct{}, len(v.ids))
	}
	for token := range v.ids {
		length := len(token)
		if bytes {
			length = utf8.RuneCountInString(token)
		}
		longest = max(longest, length)
		if v.ignoreMerges {
			if own, ok := v.own(token, bytes); ok {
				m.whole[own] = struct{}{}
			}
		}
	}
	return longest
}
