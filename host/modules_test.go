package host_test

import "bytes"

// Modules that are too large, or too odd, for a file are built by the tests.

// leb appends a number as WebAssembly encodes it.
func leb(b []byte, v int) []byte {
	for v >= 0x80 {
		b, v = append(b, byte(v)|0x80), v>>7
	}
	return append(b, byte(v))
}

// sized is content behind its size.
func sized(content []byte) []byte { return append(leb(nil, len(content)), content...) }

// many is n times an entry, behind the number.
func many(n int, entry []byte) []byte { return append(leb(nil, n), bytes.Repeat(entry, n)...) }

// section is a section of a module.
type section struct {
	id      byte
	content []byte
}

// foreignModule is a foreign module whose functions all have no parameters and an i32 as
// result, and whose memory has so many pages; run is its last function. data is nil or the
// section of that name, rest follows it.
func foreignModule(pages int, bodies, data []byte, functions int, rest ...section) []byte {
	run := append([]byte("\x02\x06memory\x02\x00\x03run\x00"), leb(nil, functions-1)...)
	sections := []section{
		{1, []byte{1, 0x60, 0, 1, 0x7f}}, {3, many(functions, []byte{0})}, {5, leb([]byte{1, 0}, pages)},
		{7, run}, {10, append(leb(nil, functions), bodies...)},
	}
	if data != nil {
		sections = append(sections, section{11, data})
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range append(sections, rest...) {
		out = append(append(out, s.id), sized(s.content)...)
	}
	return out
}
