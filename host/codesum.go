package host

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// codeMagic begins the files in which wazero keeps machine code. The length of its
// version follows, the version, the number of functions, the place of each, the
// length of the code, the code, and its CRC-32C.
const codeMagic = "WAZEVO"

// castagnoli takes a tenth of the time of a cryptographic hash: it guards against
// damage, and who can forge a file here can forge its checksum too.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// codeSum is the checksum of a file of machine code: its length and the CRC-32C of
// all but a part of it, which wazero checks.
type codeSum struct {
	size     int64
	crc      uint32
	at, skip int64
}

// String is how the checksum is written down.
func (s codeSum) String() string { return fmt.Sprintf("%d-%08x-%d-%d", s.size, s.crc, s.at, s.skip) }

// sumOf returns the checksum of a file, with checks without the code that wazero
// checks itself: that is nearly all of it.
func sumOf(path string, checks bool) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("compile cache: %w", err)
	}
	defer f.Close()
	var s codeSum
	if checks {
		s.at, s.skip = checkedCode(f)
	}
	if err := s.read(f); err != nil {
		return "", fmt.Errorf("compile cache: %w", err)
	}
	return s.String(), nil
}

// fits reports whether a file has the checksum.
func fits(path, sum string) bool {
	var want codeSum
	if n, err := fmt.Sscanf(sum, "%d-%x-%d-%d", &want.size, &want.crc, &want.at, &want.skip); n != 4 || err != nil {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	got := codeSum{at: want.at, skip: want.skip}
	return got.read(f) == nil && got == want && got.String() == sum
}

// read takes size and CRC from the file.
func (s *codeSum) read(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	s.size = info.Size()
	if s.at < 0 || s.skip < 0 || s.skip > s.size || s.at > s.size-s.skip {
		return io.ErrUnexpectedEOF
	}
	h := crc32.New(castagnoli)
	for _, part := range []*io.SectionReader{
		io.NewSectionReader(f, 0, s.at), io.NewSectionReader(f, s.at+s.skip, s.size-s.at-s.skip),
	} {
		if _, err := io.Copy(h, part); err != nil {
			return err
		}
	}
	s.crc = h.Sum32()
	return nil
}

// checkedCode finds the code in a file of wazero's, 0 and 0 if it is not where it is
// known to be, with its checksum behind it.
func checkedCode(f *os.File) (at, size int64) {
	head := make([]byte, len(codeMagic)+1)
	if _, err := f.ReadAt(head, 0); err != nil || string(head[:len(codeMagic)]) != codeMagic {
		return 0, 0
	}
	at = int64(len(head)) + int64(head[len(codeMagic)])
	var functions, sum [4]byte
	if _, err := f.ReadAt(functions[:], at); err != nil {
		return 0, 0
	}
	at += 4 + 8*int64(binary.LittleEndian.Uint32(functions[:]))
	var length [8]byte
	if _, err := f.ReadAt(length[:], at); err != nil {
		return 0, 0
	}
	at, size = at+8, int64(binary.LittleEndian.Uint64(length[:]))
	if info, err := f.Stat(); err != nil || size <= 0 || size > info.Size()-at-4 {
		return 0, 0
	}
	if _, err := f.ReadAt(sum[:], at+size); err != nil {
		return 0, 0
	}
	h := crc32.New(castagnoli)
	if _, err := io.Copy(h, io.NewSectionReader(f, at, size)); err != nil || h.Sum32() != binary.LittleEndian.Uint32(sum[:]) {
		return 0, 0
	}
	return at, size
}
