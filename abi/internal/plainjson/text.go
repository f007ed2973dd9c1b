package plainjson

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
)

// unescape returns a text without its escapes, and false if it has others than those of one letter.
func unescape(raw []byte) (string, bool) {
	var out strings.Builder
	out.Grow(len(raw))
	for {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			out.Write(raw)
			return out.String(), true
		}
		out.Write(raw[:n])
		c := jsontext.Unescape(raw[n+1])
		if c == 0 {
			return "", false
		}
		out.WriteByte(c)
		raw = raw[n+2:]
	}
}

// hasControl reports whether a text has a control character, which JSON does not allow.
func hasControl(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] { // eight characters at a time
		x := binary.LittleEndian.Uint64(b)
		if (x-0x2020202020202020)&^x&0x8080808080808080 != 0 {
			return true
		}
	}
	for _, c := range b {
		if c < ' ' {
			return true
		}
	}
	return false
}
