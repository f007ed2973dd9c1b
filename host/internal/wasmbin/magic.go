package wasmbin

import (
	"bytes"
	"fmt"

	"github.com/anchor-host/anchor-host/host/internal/lookalike"
)

const magic = "\x00asm"

// checkMagic returns an error unless the first bytes are those of a core module.
func checkMagic(bin []byte) error {
	no := func(detail, remedy string) error {
		return &FormatError{Kind: ErrNotWasm, Offset: -1, Detail: detail, Remedy: remedy}
	}
	if len(bin) == 0 {
		return no("the file is empty", "")
	}
	if len(bin) < 8 && bytes.HasPrefix([]byte(magic+"\x01\x00\x00\x00"), bin) {
		return &FormatError{Kind: ErrTruncated, Offset: len(bin), Detail: "the file ends within the header of 8 bytes"}
	}
	if bytes.HasPrefix(bin, []byte(magic)) && len(bin) >= 8 {
		return checkVersion([4]byte(bin[4:8]))
	}
	if what, remedy := lookalike.Of(bin); what != "" {
		return no(what, remedy)
	}
	return no(fmt.Sprintf("it begins with % x instead of 00 61 73 6d", bin[:min(4, len(bin))]), "")
}

func checkVersion(v [4]byte) error {
	switch {
	case v == [4]byte{1, 0, 0, 0}:
		return nil
	case v[2] == 1 && v[3] == 0:
		return &FormatError{Kind: ErrComponent, Offset: -1,
			Remedy: "build for wasip1 or wasm32-unknown-unknown instead of wasip2, or extract the core module with " +
				"\"wasm-tools component unbundle\""}
	}
	return &FormatError{Kind: ErrUnsupported, Offset: 4,
		Detail: fmt.Sprintf("binary format version % x", v[:]), Remedy: "rebuild it as version 1"}
}
