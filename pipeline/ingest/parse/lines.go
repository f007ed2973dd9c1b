package parse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

// maxRecord is the longest line of JSON Lines, and the longest row of CSV, in bytes.
const maxRecord = 16 << 20

// source gives the lines of a file as UTF-8, one after another. A line of any length needs no more
// memory than maxRecord.
type source struct {
	m    *meter.Meter
	r    *bufio.Reader
	n    int // the number of the line, from 1
	line []byte
	held int // memory of the decoded line
}

// errLongLine means that a line exceeds maxRecord. The next call of next goes on after it.
var errLongLine = fmt.Errorf("%w: a line of more than %d bytes", ErrTooLarge, maxRecord)

// newSource looks at the beginning of a file. Files that are neither UTF-8 nor UTF-16 with a mark
// are taken as Windows-1252, line by line.
func newSource(m *meter.Meter, r io.Reader) (*source, error) {
	s := &source{m: m, r: bufio.NewReaderSize(r, 64<<10)}
	head, err := s.r.Peek(64 << 10)
	switch {
	case len(head) == 0 && errors.Is(err, io.EOF):
		return s, nil
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case bytes.HasPrefix(head, []byte{0xEF, 0xBB, 0xBF}):
		_, err = s.r.Discard(3)
		return s, err
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}), bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		utf16 := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()
		s.r = bufio.NewReaderSize(utf16.Reader(s.r), 64<<10)
	case isBinary(string(head)):
		return nil, ErrBinary
	}
	return s, nil
}

// next returns the next line with its end. The line is valid until the next call.
func (s *source) next() ([]byte, error) {
	s.m.Give(s.held)
	s.line, s.held = s.line[:0], 0
	long := false
	for {
		part, err := s.r.ReadSlice('\n')
		s.m.Grow(memoryPerLargeByte*len(part), workPerByte*len(part))
		if !s.m.Work(2 * len(part)) {
			return nil, s.m.Err()
		}
		if long = long || len(s.line)+len(part) > maxRecord; !long {
			room, _ := meter.Room(s.m, s.line, len(part))
			s.line = append(room, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (!errors.Is(err, io.EOF) || len(s.line) == 0 && !long) {
			return nil, err
		}
		break
	}
	s.n++
	switch {
	case long:
		return nil, errLongLine
	case bytes.IndexByte(s.line, 0) >= 0:
		return nil, ErrBinary
	case utf8.Valid(s.line):
		return s.line, nil
	}
	s.held = 6 * len(s.line)
	if !s.m.Take(s.held) {
		return nil, s.m.Err()
	}
	decoded, err := charmap.Windows1252.NewDecoder().Bytes(s.line)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBinary, err)
	}
	return decoded, nil
}
