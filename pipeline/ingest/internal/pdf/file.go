package pdf

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/ascii85"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
)

// stream is an object with data.
type stream struct {
	dict dict
	raw  []byte
}

// reader is the work on one file.
type reader struct {
	data    []byte
	objects map[ref]any // the last definition of each
	trailer dict
	budget  int // bytes that streams may still unfold to
	alive   func() error
	fonts   map[ref]*font
}

// Read reads a file. Streams may unfold to unfolded bytes in all. alive is called often; its error
// ends the work.
func Read(data []byte, unfolded int, alive func() error) (File, error) {
	r := &reader{data: data, objects: map[ref]any{}, trailer: dict{}, budget: unfolded, alive: alive, fonts: map[ref]*font{}}
	if !bytes.HasPrefix(bytes.TrimLeft(data[:min(len(data), 1024)], "\x00\r\n\t \xef\xbb\xbf"), []byte("%PDF-")) {
		return File{}, fmt.Errorf("%w: it does not begin with %%PDF-", ErrDamaged)
	}
	if err := r.scan(); err != nil {
		return File{}, err
	}
	if _, ok := r.trailer["Encrypt"]; ok {
		return File{}, ErrEncrypted
	}
	if !bytes.Contains(data[max(0, len(data)-64<<10):], []byte("startxref")) {
		return File{}, fmt.Errorf("%w: its end is missing", ErrDamaged)
	}
	var f File
	if info, ok := r.resolve(r.trailer["Info"]).(dict); ok {
		if t, ok := r.resolve(info["Title"]).(text); ok {
			f.Title = strings.TrimSpace(decodeTitle(t))
		}
	}
	pages := r.pages()
	if len(pages) == 0 {
		return f, fmt.Errorf("%w: no pages", ErrDamaged)
	}
	total := 0
	for _, p := range pages {
		s, err := r.page(p)
		if err != nil {
			return f, err
		}
		if total += len(s); total > unfolded {
			return f, fmt.Errorf("%w: more than %d bytes of text", ErrTooLarge, unfolded)
		}
		f.Pages = append(f.Pages, s)
	}
	return f, nil
}

// scan finds the objects of the file, and those inside streams of objects.
func (r *reader) scan() error {
	for pos := 0; pos < len(r.data); {
		if err := r.alive(); err != nil {
			return err
		}
		i := bytes.Index(r.data[pos:], []byte("obj"))
		t := bytes.Index(r.data[pos:min(len(r.data), pos+max(i, 0)+3)], []byte("trailer"))
		if i < 0 {
			r.trailers(r.data[pos:])
			return nil
		}
		if t >= 0 {
			r.trailers(r.data[pos : pos+i])
		}
		at := pos + i
		pos = at + 3
		n, ok := objectNumber(r.data[max(0, at-24):at])
		if !ok {
			continue
		}
		if len(r.objects) >= maxObjects {
			return fmt.Errorf("%w: more than %d objects", ErrTooLarge, maxObjects)
		}
		l := lexer{data: r.data, pos: at + 3}
		v, ok := l.next()
		if !ok {
			return nil
		}
		d, isDict := v.(dict)
		if !isDict {
			r.objects[n] = v
			pos = max(pos, l.pos)
			continue
		}
		pos = max(pos, l.pos)
		raw, end, has := r.streamData(d, l.pos)
		if !has {
			r.objects[n] = d
			continue
		}
		pos = end
		r.objects[n] = stream{d, raw}
		switch d["Type"] {
		case name("XRef"):
			r.addTrailer(d)
		case name("ObjStm"):
			if err := r.objectStream(stream{d, raw}); err != nil {
				return err
			}
		}
	}
	return nil
}

// objectNumber reads "12 0 " from its end.
func objectNumber(b []byte) (ref, bool) {
	fields := bytes.FieldsFunc(b, func(c rune) bool { return c < '0' || c > '9' })
	b = bytes.TrimRight(b, " \r\n\t")
	if len(fields) < 2 || len(b) == 0 || b[len(b)-1] < '0' || b[len(b)-1] > '9' {
		return 0, false
	}
	n := 0
	for _, c := range fields[len(fields)-2] {
		if n = n*10 + int(c-'0'); n > 1<<30 {
			return 0, false
		}
	}
	return ref(n), true
}

func (r *reader) trailers(b []byte) {
	for {
		i := bytes.Index(b, []byte("trailer"))
		if i < 0 {
			return
		}
		l := lexer{data: b, pos: i + len("trailer")}
		if v, _ := l.next(); v != nil {
			if d, ok := v.(dict); ok {
				r.addTrailer(d)
			}
		}
		b = b[i+len("trailer"):]
	}
}

func (r *reader) addTrailer(d dict) {
	for _, k := range []string{"Root", "Info", "Encrypt"} {
		if v, ok := d[k]; ok {
			r.trailer[k] = v
		}
	}
}

// streamData returns the data of a stream whose dictionary ends at pos, and where it ends.
func (r *reader) streamData(d dict, pos int) (raw []byte, end int, ok bool) {
	l := lexer{data: r.data, pos: pos}
	l.skip()
	rest, ok := bytes.CutPrefix(r.data[l.pos:], []byte("stream"))
	if !ok {
		return nil, pos, false
	}
	start := l.pos + len("stream")
	switch {
	case bytes.HasPrefix(rest, []byte("\r\n")):
		start += 2
	case bytes.HasPrefix(rest, []byte("\n")), bytes.HasPrefix(rest, []byte("\r")):
		start++
	}
	if n, ok := r.resolve(d["Length"]).(float64); ok && n >= 0 && n <= float64(len(r.data)-start) {
		end := start + int(n)
		if bytes.HasPrefix(bytes.TrimLeft(r.data[end:min(len(r.data), end+16)], "\r\n "), []byte("endstream")) {
			return r.data[start:end], end, true
		}
	}
	i := bytes.Index(r.data[start:], []byte("endstream"))
	if i < 0 {
		return r.data[start:], len(r.data), true
	}
	return r.data[start : start+i], start + i, true
}

// objectStream takes the objects of a stream of objects.
func (r *reader) objectStream(s stream) error {
	data, err := r.unfold(s)
	if err != nil || data == nil {
		return err
	}
	count, _ := s.dict["N"].(float64)
	first, _ := s.dict["First"].(float64)
	if first < 0 || first > float64(len(data)) {
		return nil
	}
	head := lexer{data: data[:int(first)]}
	for range int(min(max(count, 0), float64(len(data)))) {
		if err := r.alive(); err != nil {
			return err
		}
		number, _ := head.next()
		offset, ok := head.next()
		n, isNumber := number.(float64)
		at, isOffset := offset.(float64)
		if !ok || !isNumber || !isOffset || at < 0 || first+at > float64(len(data)) || n < 0 || n > 1<<30 {
			return nil
		}
		if len(r.objects) >= maxObjects {
			return fmt.Errorf("%w: more than %d objects", ErrTooLarge, maxObjects)
		}
		body := lexer{data: data, pos: int(first + at)}
		if v, ok := body.next(); ok {
			r.objects[ref(n)] = v
		}
	}
	return nil
}

// resolve follows references.
func (r *reader) resolve(v any) any {
	for range 16 {
		n, ok := v.(ref)
		if !ok {
			return v
		}
		v = r.objects[n]
	}
	return nil
}

func (r *reader) dict(v any) dict {
	switch v := r.resolve(v).(type) {
	case dict:
		return v
	case stream:
		return v.dict
	}
	return nil
}

func (r *reader) array(v any) []any {
	list, _ := r.resolve(v).([]any)
	return list
}

// unfold decodes a stream. It returns nil for a filter that no text has.
func (r *reader) unfold(s stream) ([]byte, error) {
	filters := r.array(s.dict["Filter"])
	if n, ok := r.resolve(s.dict["Filter"]).(name); ok {
		filters = []any{n}
	}
	data := s.raw
	if len(filters) > 4 {
		return nil, nil
	}
	for _, f := range filters {
		var from io.Reader
		switch r.resolve(f) {
		case name("FlateDecode"), name("Fl"):
			z, err := zlib.NewReader(bytes.NewReader(data))
			if err != nil {
				if len(data) < 2 {
					return nil, nil
				}
				z = flate.NewReader(bytes.NewReader(data[2:]))
			}
			from = z
		case name("ASCII85Decode"), name("A85"):
			data, _, _ = bytes.Cut(data, []byte("~>"))
			from = ascii85.NewDecoder(bytes.NewReader(data))
		case name("ASCIIHexDecode"), name("AHx"):
			l := lexer{data: append([]byte("<"), data...)}
			from = bytes.NewReader(l.hex())
		default:
			return nil, nil
		}
		out, err := io.ReadAll(io.LimitReader(from, int64(r.budget)+1))
		if len(out) > r.budget {
			return nil, fmt.Errorf("%w: streams unfold to more than the limit", ErrTooLarge)
		}
		r.budget -= len(out)
		if err != nil && len(out) == 0 {
			return nil, nil
		}
		data = out // of a stream that is cut off: what is there
	}
	return data, nil
}

// pageNode is a page with the resources that it inherits.
type pageNode struct {
	dict      dict
	resources any
}

// pages returns the pages in order.
func (r *reader) pages() []pageNode {
	var list []pageNode
	seen := map[ref]bool{}
	var walk func(v, resources any, depth int)
	walk = func(v, resources any, depth int) {
		if n, ok := v.(ref); ok {
			if seen[n] {
				return
			}
			seen[n] = true
		}
		d, ok := r.resolve(v).(dict)
		if !ok || depth > maxDepth || len(list) >= maxPages {
			return
		}
		if own, ok := d["Resources"]; ok {
			resources = own
		}
		if kids := r.array(d["Kids"]); kids != nil && d["Type"] != name("Page") {
			for _, k := range kids {
				walk(k, resources, depth+1)
			}
			return
		}
		list = append(list, pageNode{d, resources})
	}
	if root := r.dict(r.trailer["Root"]); root != nil {
		walk(root["Pages"], nil, 0)
	}
	return list
}

func decodeTitle(t text) string {
	if bytes.HasPrefix(t, []byte{0xFE, 0xFF}) {
		return decodeUTF16(t[2:])
	}
	s, err := charmap.Windows1252.NewDecoder().Bytes(t)
	if err != nil {
		return ""
	}
	return string(s)
}

func decodeUTF16(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = uint16(b[2*i])<<8 | uint16(b[2*i+1])
	}
	return string(utf16.Decode(units))
}
