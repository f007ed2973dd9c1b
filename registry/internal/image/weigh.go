package image

import (
	"bytes"
	"fmt"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/registry/internal/kind"
)

const (
	// heavy and light are about what an object or a list, and any other value, take in memory
	// when a document of a registry is decoded, in bytes.
	heavy, light = 192, 32
	// allowance is what a document may take beyond four times its bytes.
	allowance = 1 << 20
)

// Weigh refuses JSON whose values would take much more memory than its bytes, such as millions of
// empty objects. It counts before anything is decoded. Whether the JSON is valid is not checked.
// Errors wrap ErrTooLarge.
func Weigh(text []byte) error {
	weight, most := 0, allowance+4*len(text)
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			weight += heavy
		case ',', ':':
			weight += light
		case '"':
			i += quoted(text[i+1:])
		}
	}
	if weight > most {
		return errkind.As(kind.ErrTooLarge, fmt.Errorf("has too many values for its %d bytes", len(text)))
	}
	return nil
}

// quoted returns the length of what follows a quote, the closing one included.
func quoted(text []byte) int {
	for n := 0; ; {
		at := bytes.IndexAny(text[n:], `"\\`)
		switch {
		case at < 0:
			return len(text)
		case text[n+at] == '"':
			return n + at + 1
		}
		n = min(n+at+2, len(text))
	}
}
