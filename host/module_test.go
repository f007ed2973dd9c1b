package host_test

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
