package pdf

import "github.com/anchor-host/anchor-host/pipeline/ingest/meter"

// The codes of LZW besides those of strings.
const (
	lzwClear = 256
	lzwEnd   = 257
	lzwFirst = 258
)

// lzw decodes codes of 9 to 12 bits, which grow one code early.
type lzw struct {
	m     *meter.Meter
	out   []byte
	table [4096]struct{ from, to int } // where a string was written first
	next  int
	from  int // of the string that was written last
	to    int // 0 for none
}

func (r *reader) unpackLZW(data []byte) []byte {
	l := lzw{m: r.m, next: lzwFirst}
	bits, have := 0, 0
	for _, b := range data {
		bits, have = bits<<8|int(b), have+8
		width := 9
		for width < 12 && l.next+1 >= 1<<width {
			width++
		}
		if have < width {
			continue
		}
		have -= width
		k := bits >> have
		if bits &= 1<<have - 1; !l.code(k) {
			break
		}
	}
	return l.out
}

// code writes the string of a code. It is false at the end.
func (l *lzw) code(k int) bool {
	switch {
	case k == lzwClear:
		l.next, l.to = lzwFirst, 0
		return true
	case k == lzwEnd || k > l.next || k == l.next && l.to == 0:
		return false
	}
	start, from, n := len(l.out), 0, 1
	switch {
	case k == l.next: // the last string and its first byte again
		from, n = l.from, l.to-l.from+1
	case k > lzwEnd:
		from, n = l.table[k].from, l.table[k].to-l.table[k].from
	}
	room, ok := meter.Room(l.m, l.out, n)
	if l.out = room; !ok || !l.m.Work(4+n) {
		return false
	}
	if k < lzwClear {
		l.out = append(l.out, byte(k))
	} else {
		for i := range n {
			l.out = append(l.out, l.out[from+i])
		}
	}
	if l.to > 0 && l.next < len(l.table) {
		l.table[l.next].from, l.table[l.next].to = l.from, l.to+1
		l.next++
	}
	l.from, l.to = start, len(l.out)
	return true
}
