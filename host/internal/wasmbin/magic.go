package wasmbin

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

const magic = "\x00asm"

// foreign are the beginnings of files that are often mistaken for modules.
var foreign = []struct{ magic, what, remedy string }{
	{"\x7fELF", "an ELF executable or library", "build for wasm, for Go with GOOS=wasip1 GOARCH=wasm"},
	{"\xfe\xed\xfa\xce", "a Mach-O binary", "build for wasm, for Go with GOOS=wasip1 GOARCH=wasm"},
	{"\xfe\xed\xfa\xcf", "a Mach-O binary", "build for wasm, for Go with GOOS=wasip1 GOARCH=wasm"},
	{"\xce\xfa\xed\xfe", "a Mach-O binary", "build for wasm, for Go with GOOS=wasip1 GOARCH=wasm"},
	{"\xcf\xfa\xed\xfe", "a Mach-O binary", "build for wasm, for Go with GOOS=wasip1 GOARCH=wasm"},
	{"\xca\xfe\xba\xbe", "a Mach-O universal binary or Java class", "build for wasm"},
	{"MZ", "a Windows executable", "build for wasm, for Go with GOOS=wasip1 GOARCH=wasm"},
	{"PK\x03\x04", "a zip archive", "unpack it and give the .wasm inside"},
	{"\x1f\x8b", "gzip-compressed data", "decompress it first"},
	{"\x28\xb5\x2f\xfd", "zstd-compressed data", "decompress it first"},
	{"BZh", "bzip2-compressed data", "decompress it first"},
	{"\xfd7zXZ\x00", "xz-compressed data", "decompress it first"},
	{"!<arch>\n", "an archive of object files", "link it into a module first"},
	{"BC\xc0\xde", "LLVM bitcode", "compile it for a wasm32 target"},
	{"#!", "a script", "give the compiled .wasm"},
	{"version https://git-lfs", "a Git LFS pointer", "fetch the file with git lfs pull"},
}

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
	for _, f := range foreign {
		if bytes.HasPrefix(bin, []byte(f.magic)) {
			return no(f.what, f.remedy)
		}
	}
	if isText(bin) {
		if t := skipComments(bin); bytes.HasPrefix(t, []byte("(module")) || bytes.HasPrefix(t, []byte("(component")) {
			return no("WebAssembly text (WAT)", "assemble it first, such as with wat2wasm")
		}
		return no("text", "give the compiled .wasm")
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

// isText reports whether the beginning of bin is printable UTF-8.
func isText(bin []byte) bool {
	head := bin[:min(512, len(bin))]
	for len(head) > 0 {
		c, n := utf8.DecodeRune(head)
		if c == utf8.RuneError && n == 1 {
			return len(head) < utf8.UTFMax && len(bin) > 512 // byte 512 is within a rune
		}
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
		head = head[n:]
	}
	return true
}

// skipComments moves past white space, ;; and (; ;) comments of the text format.
func skipComments(b []byte) []byte {
	for {
		b = bytes.TrimLeft(b, " \t\r\n")
		var found bool
		switch {
		case bytes.HasPrefix(b, []byte(";;")):
			_, b, found = bytes.Cut(b, []byte("\n"))
		case bytes.HasPrefix(b, []byte("(;")):
			_, b, found = bytes.Cut(b, []byte(";)"))
		}
		if !found {
			return b
		}
	}
}
