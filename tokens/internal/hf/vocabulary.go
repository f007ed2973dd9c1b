package hf

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/anchor-host/anchor-host/tokens/internal/bpe"
	"github.com/go-json-experiment/json/jsontext"
)

// vocabulary is the model of a file before its tables are built.
type vocabulary struct {
	kind         string
	ids          map[string]uint32 // tokens by their text in the file
	numbers      []uint64          // BPE and WordPiece: by these ids, the ids in the file
	scored       []scored          // Unigram: the tokens in order
	merges       []bpe.Pair
	pairs        [][2]string // merges, until all tokens are known
	unknown      string
	unknownID    int
	byteFallback bool
	fuseUnknown  bool
	ignoreMerges bool
	subword      string // WordPiece: begins tokens that are not at the start of a word
	longestWord  int    // WordPiece: longer words are unknown, in characters
	listing      bool   // tokens are listed, not only counted
}

// scored is a token of a Unigram model.
type scored struct {
	text  string
	score float64
}

// readModel reads the model of a file, which is the next value.
func readModel(dec *jsontext.Decoder) (*vocabulary, error) {
	v := &vocabulary{unknownID: -1, ids: map[string]uint32{}, longestWord: 100}
	if err := members(dec, func(name string) error { return v.member(dec, name) }); err != nil {
		return nil, err
	}
	if v.kind == "" && v.pairs != nil {
		v.kind = "BPE"
	}
	if v.kind != "BPE" && v.kind != "Unigram" && v.kind != "WordPiece" {
		return nil, fmt.Errorf("type %.20q: %w (BPE, Unigram or WordPiece)", v.kind, errUnsupported)
	}
	if v.kind != "WordPiece" && v.subword != "" {
		return nil, fmt.Errorf("continuing_subword_prefix: %w", errUnsupported)
	}
	if len(v.ids) == 0 {
		return nil, errors.New("vocab: no tokens")
	}
	return v, nil
}

// member reads one member of the model.
func (v *vocabulary) member(dec *jsontext.Decoder, name string) (err error) {
	switch name {
	case "vocab":
		if dec.PeekKind() == '[' {
			return elements(dec, maxTokens, func() error { return v.scoredToken(dec) })
		}
		return v.tokens(dec)
	case "merges":
		v.pairs = [][2]string{}
		return elements(dec, maxMerges, func() error { return v.merge(dec) })
	}
	value, err := dec.ReadValue()
	if err != nil || isNull(value) {
		return err
	}
	switch name {
	case "type":
		return decode(value, &v.kind)
	case "unk_token":
		return decode(value, &v.unknown)
	case "unk_id":
		return decode(value, &v.unknownID)
	case "byte_fallback":
		return decode(value, &v.byteFallback)
	case "fuse_unk":
		return decode(value, &v.fuseUnknown)
	case "ignore_merges":
		return decode(value, &v.ignoreMerges)
	case "dropout":
		if string(value) != "0" && string(value) != "0.0" {
			return fmt.Errorf("random merges: %w", errUnsupported)
		}
	case "continuing_subword_prefix":
		return decode(value, &v.subword)
	case "max_input_chars_per_word":
		return decode(value, &v.longestWord)
	case "end_of_word_suffix":
		if string(value) != `""` {
			return errUnsupported
		}
	}
	return nil
}

// tokens reads the tokens of a BPE or WordPiece model, an object with an id for each. A count needs
// no ids, but two tokens of one id, or two ids of one token, are a mistake of the file.
func (v *vocabulary) tokens(dec *jsontext.Decoder) error {
	taken := make(map[uint64]struct{})
	return members(dec, func(name string) error {
		if len(v.ids) == maxTokens {
			return fmt.Errorf("more than %d tokens: %w", maxTokens, errTooMany)
		}
		if _, twice := v.ids[name]; twice {
			return errors.New("the token is given twice")
		}
		v.ids[name] = uint32(len(v.ids))
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		var id uint64
		if err := decode(value, &id); err != nil {
			return err
		}
		if _, twice := taken[id]; twice {
			return fmt.Errorf("another token has the id %d, too", id)
		}
		taken[id] = struct{}{}
		v.numbers = append(v.numbers, id)
		return nil
	})
}

// scoredToken reads a token of a Unigram model: [text, score].
func (v *vocabulary) scoredToken(dec *jsontext.Decoder) error {
	var s scored
	place := 0
	err := elements(dec, 2, func() (err error) {
		if place++; place == 1 {
			s.text, err = text(dec)
			return err
		}
		t, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if t.Kind() != '0' {
			return fmt.Errorf("want a number, not %s", kindName(t.Kind()))
		}
		if s.score, err = t.Float(); err != nil {
			return errors.New("the number is out of range")
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case place != 2 || math.IsInf(s.score, 0):
		return errors.New("want a text and a finite score")
	}
	v.ids[s.text] = uint32(len(v.scored))
	v.scored = append(v.scored, s)
	return nil
}

// merge reads a merge: "left right", or ["left", "right"].
func (v *vocabulary) merge(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		line, err := text(dec)
		if err != nil || strings.HasPrefix(line, "#version") {
			return err
		}
		left, right, ok := strings.Cut(line, " ")
		if !ok || strings.Contains(right, " ") {
			return fmt.Errorf("%.40q: want two tokens", line)
		}
		v.pairs = append(v.pairs, [2]string{left, right})
		return nil
	}
	var pair [2]string
	place := 0
	err := elements(dec, 2, func() (err error) {
		pair[place], err = text(dec)
		place++
		return err
	})
	if err == nil && place != 2 {
		err = errors.New("want two tokens")
	}
	v.pairs = append(v.pairs, pair)
	return err
}

// byteToken writes the token of a byte for byte_fallback.
func byteToken(b int) string { return fmt.Sprintf("<0x%02X>", b) }
