// Package lookalike tells files that are often mistaken for modules.
package lookalike

import (
	"bytes"
	"unicode/utf8"
)

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

// Of returns what a file is that is no module, and what to do about it. what is "" if it is nothing known.
func Of(bin []byte) (what, remedy string) {
	for _, f := range foreign {
		if bytes.HasPrefix(bin, []byte(f.magic)) {
			return f.what, f.remedy
		}
	}
	if !isText(bin) {
		return "", ""
	}
	if t := skipComments(bin); bytes.HasPrefix(t, []byte("(module")) || bytes.HasPrefix(t, []byte("(component")) {
		return "WebAssembly text (WAT)", "assemble it first, such as with wat2wasm"
	}
	return "text", "give the compiled .wasm"
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
