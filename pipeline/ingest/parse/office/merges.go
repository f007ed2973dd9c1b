package office

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
)

// merge is a range of cells of a sheet that are one. Rows count from 1 and columns from 0.
type merge struct {
	from, to, left, right int
	value                 string
}

// maxMerges bounds, in bytes, what a sheet says of its merged cells: about 30,000 of them.
const maxMerges = 1 << 20

var mergeRef = regexp.MustCompile(`mergeCell\s[^<>]{0,200}?ref=["']([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})["']`)

// merges returns the merged cells of a sheet by their first rows. The format names them after all rows, so the bytes
// of the part are searched for them first: to decode it twice would take twice as long.
func (s *sheetReader) merges(c *Container, part string) ([]merge, error) {
	said, err := s.mergesSaid(c, part)
	if err != nil || !s.Meter.Work(16*len(said)) {
		return nil, errors.Join(err, s.Meter.Err())
	}
	var list []merge
	for _, m := range mergeRef.FindAllSubmatch(said, -1) {
		from, _ := strconv.Atoi(string(m[2])) // at most seven digits
		to, _ := strconv.Atoi(string(m[4]))
		if left, right := column(string(m[1])), column(string(m[3])); from <= to && left <= right {
			list = meter.Append(s.Meter, list, merge{from: from, to: to, left: left, right: min(right, left+maxColumns-1)})
		}
	}
	s.Meter.Give(cap(said))
	slices.SortStableFunc(list, func(a, b merge) int { return a.from - b.from })
	return list, nil
}

// mergesSaid returns the bytes of a part from the first merged cell on, at most maxMerges.
func (s *sheetReader) mergesSaid(c *Container, part string) ([]byte, error) {
	r, err := c.Open(part)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	const name = "mergeCells"
	var said []byte
	found := false
	for piece := make([]byte, 64<<10); ; {
		n, err := r.Read(piece)
		room, ok := meter.Room(s.Meter, said, n)
		if !ok || !s.Meter.Work(n) {
			return nil, s.Meter.Err()
		}
		said = append(room, piece[:n]...)
		if at := bytes.Index(said, []byte(name)); !found && at >= 0 {
			said, found = append(said[:0], said[at:]...), true
		}
		if !found {
			said = append(said[:0], said[max(0, len(said)-len(name)):]...)
		}
		if end := bytes.Index(said, []byte("/"+name)); len(said) > maxMerges || end >= 0 && found || errors.Is(err, io.EOF) {
			return said[:min(len(said), maxMerges)], nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", document.ErrDamaged, part, err)
		}
	}
}

// fill gives the cells of the open row that are merged with others their value, if the row has values of its own.
func (s *sheetReader) fill() {
	own := 0
	for _, v := range s.values {
		if v != "" {
			own++
		}
	}
	for len(s.merged) > 0 && s.merged[0].from <= s.number {
		m := s.merged[0]
		if s.merged = s.merged[1:]; m.from == s.number && m.left < len(s.values) {
			m.value = s.values[m.left]
		}
		s.open = meter.Append(s.Meter, s.open, m)
	}
	if !s.Meter.Work(32 * len(s.open)) {
		return
	}
	s.open = slices.DeleteFunc(s.open, func(m merge) bool { return m.to < s.number || m.value == "" })
	for i := 0; i < len(s.open) && own > 0; i++ {
		m := &s.open[i]
		right := m.right
		if len(m.value) > maxRepeated || m.from == s.number && own == 1 { // a cell over the whole row is a line of text
			right = m.left
		}
		for at := m.left; at <= right && at < len(s.values)+maxGap; at++ {
			for n := 64 + len(m.value); len(s.values) <= at && s.Meter.Take(n); s.held += n {
				s.values = append(s.values, "")
			}
			if at < len(s.values) && s.values[at] == "" {
				s.values[at] = m.value
			}
		}
	}
}
