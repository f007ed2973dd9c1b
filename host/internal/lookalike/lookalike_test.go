package lookalike

import "testing"

// A file that is no module is told by how it begins.
func TestOf(t *testing.T) {
	for text, want := range map[string]string{
		"\x7fELF\x02": "an ELF executable or library", "PK\x03\x04": "a zip archive", "#!/bin/sh": "a script",
		" ;; a comment\n(; another ;) (module": "WebAssembly text (WAT)", "hello\n": "text", "\x00\x01\x02": "",
	} {
		if what, remedy := Of([]byte(text)); what != want || (remedy == "") != (want == "") {
			t.Errorf("%q is %q, remedy %q; want %q", text, what, remedy, want)
		}
	}
}
