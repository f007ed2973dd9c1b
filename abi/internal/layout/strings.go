package layout

import "encoding/binary"

// PutStrings writes a strings section of n texts. It does not repair the text of a guest, because
// the host reports text that is not UTF-8.
func PutStrings(dst []byte, n int, get func(int) string) {
	le, end := binary.LittleEndian, 0
	bytes := dst[4*(n+1):]
	le.PutUint32(dst, 0)
	for i := range n {
		end += copy(bytes[end:], get(i))
		le.PutUint32(dst[4*i+4:], uint32(end))
	}
}
