package parse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/charset"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
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

	declared string
	charset  charset.Charset // of lines that are not UTF-8, once one was met
	doubt    string          // to be told once
}

// errLongLine means that a line exceeds maxRecord. The next call of next goes on after it.
var errLongLine = fmt.Errorf("%w: a line of more than %d bytes", ErrTooLarge, maxRecord)

// newSource looks at the beginning of a file. The charset of a file that is not UTF-8 is that of its
// beginning, or of its first line that is not UTF-8.
func newSource(m *meter.Meter, r io.Reader, declared string) (*source, error) {
	s := &source{m: m, r: bufio.NewReaderSize(r, charset.Looked), declared: declared}
	head, err := s.r.Peek(charset.Looked)
	switch {
	case len(head) == 0 && errors.Is(err, io.EOF):
		return s, nil
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	s.choose(head)
	if _, err := s.r.Discard(s.charset.Mark); err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(s.charset.Name, "utf-16"):
		s.r = bufio.NewReaderSize(s.charset.Decoder().Reader(s.r), charset.Looked)
		s.charset = charset.Charset{}
	case isBinary(head):
		return nil, ErrBinary
	}
	return s, nil
}

// choose decides how lines that are not UTF-8 are read.
func (s *source) choose(text []byte) {
	if !utf8.Valid(text) {
		s.m.Work(guessWork)
	}
	s.charset = charset.Of(text, s.declared)
	s.doubt = s.charset.Doubt()
}

// warnings returns what is to be told of the charset, once.
func (s *source) warnings() (list []string) {
	if s.doubt != "" {
		list = []string{s.doubt}
		s.doubt = ""
	}
	return list
}

// next returns the next line with its end. The line is valid until the next call.
func (s *source) next() ([]byte, error) {
	s.m.Give(s.held)
	s.line, s.held = s.line[:0], 0
	long := false
	for {
		part, err := s.r.ReadSlice('\n')
		s.m.Grow(document.MemoryPerLargeByte*len(part), document.WorkPerByte*len(part))
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
	case utf8.Valid(s.line) && s.charset.Name != "iso-2022-jp":
		return s.line, nil
	}
	if s.charset.Decoder() == nil {
		s.choose(s.line)
	}
	s.held = 6 * len(s.line)
	if !s.m.Take(s.held) {
		return nil, s.m.Err()
	}
	return s.charset.Decode(s.line), nil
}
