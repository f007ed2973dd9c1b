package host_test

import (
	"bytes"
	"testing"

	"github.com/anchor-host/anchor-host/host"
)

// constant is a foreign module whose function run is successful when n is 0. Such
// modules differ in one byte of their code.
func constant(n byte) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00"+
		"\x01\x05\x01\x60\x00\x01\x7f"+
		"\x03\x02\x01\x00"+
		"\x05\x03\x01\x00\x01"+
		"\x07\x10\x02\x06memory\x02\x00\x03run\x00\x00"+
		"\x0a\x06\x01\x04\x00\x41"), n, 0x0b)
}

// Other limits make other machine code, which other limits must not get.
func TestCodeKey(t *testing.T) {
	spec, err := host.ReadSpec("constant", constant(0), nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := host.ReadSpec("constant", constant(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	keys := [][]byte{
		host.CodeKey(spec, 0, false), host.CodeKey(spec, 16, false), host.CodeKey(spec, 0, true), host.CodeKey(other, 0, false),
	}
	for i, a := range keys {
		for _, b := range keys[:i] {
			if bytes.Equal(a, b) {
				t.Errorf("key %d is another's", i)
			}
		}
	}
	if !bytes.Equal(keys[0], host.CodeKey(spec, 0, false)) {
		t.Error("the key changes")
	}
}
