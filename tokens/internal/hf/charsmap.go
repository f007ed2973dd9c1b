package hf

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// charsmap replaces characters as SentencePiece does. units is a trie in the form of the library
// Darts-clone, whose values are positions in texts; each text ends with a zero byte.
type charsmap struct {
	units []uint32
	texts string
}

// maxGrapheme is the length in bytes from which a character with its marks is not looked up as a
// whole.
const maxGrapheme = 6

// precompiled returns the normalizer of a table in base64: the length of the trie in bytes, the
// trie, the texts.
func precompiled(encoded string) (apply func(*run, string) string, linewise bool, err error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, false, errors.New("precompiled_charsmap: not base64")
	}
	if len(data) == 0 {
		return func(_ *run, s string) string { return s }, true, nil
	}
	if len(data) < 4 {
		return nil, false, errors.New("precompiled_charsmap: too short")
	}
	size := binary.LittleEndian.Uint32(data)
	if data = data[4:]; uint64(size) > uint64(len(data)) || size%4 != 0 || size == 0 {
		return nil, false, errors.New("precompiled_charsmap: wrong length of its trie")
	}
	m := &charsmap{units: make([]uint32, size/4), texts: string(data[size:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return m.apply, false, nil
}

// apply replaces the characters of s. It stops when r has to stop, or when the text has grown by
// more than the room of r.
func (m *charsmap) apply(r *run, s string) string {
	var out strings.Builder
	out.Grow(len(s))
	all := graphemes.FromString(s)
	for polled := 0; all.Next() && out.Len()-len(s) <= r.room; {
		if all.End()-polled >= pollNodes {
			if polled = all.End(); r.Poll() {
				return ""
			}
		}
		whole := all.Value()
		if len(whole) < maxGrapheme {
			if text, ok := m.find(whole); ok {
				out.WriteString(text)
				continue
			}
		}
		for _, c := range whole {
			if out.Len()-len(s) > r.room {
				break
			}
			if text, ok := m.find(string(c)); ok {
				out.WriteString(text)
			} else {
				out.WriteRune(c)
			}
		}
	}
	return out.String()
}

// find returns the text that replaces the shortest known beginning of key. The library replaces
// the whole key by it.
func (m *charsmap) find(key string) (string, bool) {
	at := offset(m.units[0])
	for i := range len(key) {
		c := uint32(key[i])
		if at ^= c; c == 0 || uint64(at) >= uint64(len(m.units)) {
			break
		}
		unit := m.units[at]
		if unit&(1<<31|0xFF) != c {
			break
		}
		if at ^= offset(unit); uint64(at) >= uint64(len(m.units)) {
			break
		}
		if unit>>8&1 == 1 {
			start := m.units[at] & (1<<31 - 1)
			if uint64(start) > uint64(len(m.texts)) {
				break
			}
			text, _, _ := strings.Cut(m.texts[start:], "\x00")
			return text, len(text) <= maxAddedLen
		}
	}
	return "", false
}

// offset returns the distance from a unit to its children.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
