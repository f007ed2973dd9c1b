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
	"unsafe"

	"golang.org/x/text/encoding/charmap"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

// objectID names an object, for its key.
type objectID struct {
	number     ref
	generation int
}

// stream is an object with data.
type stream struct {
	dict dict
	raw  []byte
	id   objectID
}

// unread is an object that nothing asked for yet. It begins with the bytes.
type (
	unread []byte
	// unreadSealed is one whose texts are encrypted.
	unreadSealed struct {
		data []byte
		id   objectID
	}
)

// reader is the work on one file.
type reader struct {
	m       *meter.Meter
	data    []byte
	objects map[ref]any // the last definition of each
	trailer dict
	crypt   *security                // nil for a file that is not encrypted
	closed  bool                     // it is, and streams of objects wait for the key
	fonts   map[unsafe.Pointer]*font // by their dictionaries
	out     []byte                   // the text of all lines
	lines   []line
	pages   []pageLines
	// What pages use one after the other.
	glyphs      []glyph
	shown       []byte
	units       []unit
	right, left int                     // letters of lines that have some from right to left
	said        map[unsafe.Pointer]bool // fields, by what has their values
}

// Read reads a file. The meter pays for all.
func Read(m *meter.Meter, data []byte) (File, error) {
	r := &reader{m: m, data: data, objects: map[ref]any{}, trailer: dict{}, fonts: map[unsafe.Pointer]*font{}, said: map[unsafe.Pointer]bool{}}
	if !bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")) {
		return File{}, fmt.Errorf("%w: it does not begin with %%PDF-", ErrDamaged)
	}
	if err := r.open(); err != nil {
		return File{}, err
	}
	if !bytes.Contains(data[max(0, len(data)-64<<10):], []byte("startxref")) {
		return File{}, fmt.Errorf("%w: its end is missing", ErrDamaged)
	}
	var f File
	if info, ok := r.resolve(r.trailer["Info"]).(dict); ok {
		if t, ok := r.resolve(info["Title"]).(text); ok {
			m.Take(4 * len(t))
			f.Title = strings.TrimSpace(decodeTitle(t))
		}
	}
	pages := r.pageNodes()
	for _, p := range pages {
		if r.page(p); m.Err() != nil {
			return f, m.Err()
		}
	}
	if m.Err() == nil && len(pages) == 0 {
		return f, fmt.Errorf("%w: no pages", ErrDamaged)
	}
	r.finish(&f)
	return f, m.Err()
}

// open finds the objects of the file. If it is encrypted, it does so twice: the first time for the key.
func (r *reader) open() error {
	r.closed = bytes.Contains(r.data, []byte("/Encrypt"))
	r.scan()
	if _, ok := r.trailer["Encrypt"]; ok {
		if r.crypt = r.security(); r.crypt == nil && r.m.Err() == nil {
			return ErrEncrypted
		}
	}
	if r.closed {
		r.closed = false
		clear(r.objects)
		r.scan()
	}
	return r.m.Err()
}

// scan finds the objects of the file, and those inside streams of objects.
func (r *reader) scan() {
	for pos := 0; pos < len(r.data); {
		i := bytes.Index(r.data[pos:], []byte("obj"))
		if i < 0 {
			r.trailers(r.data[pos:])
			return
		}
		r.trailers(r.data[pos : pos+i])
		at := pos + i
		pos = at + len("obj")
		if n, ok := objectNumber(r.data[max(0, at-24):at]); ok {
			pos = r.define(n, pos)
		}
		if !r.m.Work(16 + i) {
			return
		}
	}
}

// define takes the object that begins at pos, and returns where it ends. Of an object without data
// only the place is kept: most are never asked for.
func (r *reader) define(id objectID, pos int) int {
	n := id.number
	held := r.m.Held()
	l := lexer{m: r.m, data: r.data, pos: pos}
	v, ok := l.next()
	if !ok {
		return len(r.data)
	}
	r.m.Take(slotBytes)
	d, isDict := v.(dict)
	s, end := stream{dict: d, id: id}, l.pos
	if isDict {
		s.raw, end = r.streamData(d, l.pos)
	}
	if s.raw == nil {
		r.m.Give(r.m.Held() - held - slotBytes)
		r.objects[n] = unread(r.data[pos:l.pos])
		if r.crypt != nil && r.crypt.strings != plain {
			r.objects[n] = unreadSealed{r.data[pos:l.pos], id}
		}
		return l.pos
	}
	r.objects[n] = s
	switch d["Type"] {
	case name("XRef"):
		r.addTrailer(d)
	case name("ObjStm"):
		if !r.closed {
			r.objectStream(s)
		}
	}
	return end
}

// slotBytes is about the memory of a place in a map.
const slotBytes = 80

// objectNumber reads "12 0 " from its end.
func objectNumber(b []byte) (id objectID, ok bool) {
	fields := bytes.FieldsFunc(b, func(c rune) bool { return c < '0' || c > '9' })
	b = bytes.TrimRight(b, " \r\n\t")
	if len(fields) < 2 || len(b) == 0 || b[len(b)-1] < '0' || b[len(b)-1] > '9' {
		return id, false
	}
	n, ok1 := decimal(fields[len(fields)-2])
	g, ok2 := decimal(fields[len(fields)-1])
	return objectID{ref(n), g}, ok1 && ok2
}

func decimal(b []byte) (n int, ok bool) {
	for _, c := range b {
		if n = n*10 + int(c-'0'); n > 1<<30 {
			return 0, false
		}
	}
	return n, true
}

func (r *reader) trailers(b []byte) {
	for {
		i := bytes.Index(b, []byte("trailer"))
		if i < 0 {
			return
		}
		l := lexer{m: r.m, data: b, pos: i + len("trailer")}
		if v, _ := l.next(); v != nil {
			if d, ok := v.(dict); ok {
				r.addTrailer(d)
			}
		}
		b = b[min(l.pos, len(b)):]
	}
}

func (r *reader) addTrailer(d dict) {
	for _, k := range []string{"Root", "Info", "Encrypt", "ID"} {
		if v, ok := d[k]; ok {
			r.trailer[k] = v
		}
	}
}

// streamData returns the data of a stream whose dictionary ends at pos, and where it ends. The data is
// nil if there is no stream.
func (r *reader) streamData(d dict, pos int) (raw []byte, end int) {
	l := lexer{data: r.data, pos: pos}
	l.skip()
	rest, ok := bytes.CutPrefix(r.data[l.pos:], []byte("stream"))
	if !r.m.Work(l.pos-pos) || !ok {
		return nil, pos
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
			return r.data[start:end], end
		}
	}
	i := bytes.Index(r.data[start:], []byte("endstream"))
	if i < 0 {
		return r.data[start:], len(r.data)
	}
	return r.data[start : start+i], start + i
}

// objectStream notes where the objects of a stream of objects are. It keeps its data.
func (r *reader) objectStream(s stream) {
	data, _ := r.unfold(s)
	count, _ := s.dict["N"].(float64)
	first, _ := s.dict["First"].(float64)
	if first < 0 || first > float64(len(data)) {
		return
	}
	head := lexer{m: r.m, data: data[:int(first)]}
	for range int(min(max(count, 0), float64(len(data)))) {
		held := r.m.Held()
		number, _ := head.next()
		offset, ok := head.next()
		n, isNumber := number.(float64)
		at, isOffset := offset.(float64)
		if !ok || !isNumber || !isOffset || at < 0 || first+at >= float64(len(data)) || n < 0 || n > 1<<30 {
			return
		}
		r.m.Give(r.m.Held() - held)
		if r.m.Take(slotBytes) {
			r.objects[ref(n)] = unread(data[int(first+at):])
		}
	}
}

// resolve follows references.
func (r *reader) resolve(v any) any {
	for range 16 {
		n, ok := v.(ref)
		if !ok {
			return v
		}
		v = r.objects[n]
		switch u := v.(type) {
		case unread:
			l := lexer{m: r.m, data: u}
			v, _ = l.next()
			r.objects[n] = v
		case unreadSealed:
			l := lexer{m: r.m, data: u.data}
			v, _ = l.next()
			v = r.unseal(v, u.id)
			r.objects[n] = v
		}
	}
	return nil
}

// unseal decrypts the texts of an object.
func (r *reader) unseal(v any, id objectID) any {
	switch v := v.(type) {
	case text:
		return text(r.decrypt(r.crypt.strings, id, v))
	case []any:
		for i := range v {
			v[i] = r.unseal(v[i], id)
		}
	case dict:
		for k := range v {
			v[k] = r.unseal(v[k], id)
		}
	}
	return v
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

// unfold decodes a stream. It returns nil for a filter that no text has. Who needs the data no more
// gives back the memory that is held for it.
func (r *reader) unfold(s stream) (data []byte, held int) {
	filters := r.array(s.dict["Filter"])
	if n, ok := r.resolve(s.dict["Filter"]).(name); ok {
		filters = []any{n}
	}
	if len(filters) > 4 {
		return nil, 0
	}
	data = s.raw
	if r.crypt != nil && s.dict["Type"] != name("XRef") {
		if how := r.sealed(s, filters); how != plain {
			before := r.m.Held()
			data = r.decrypt(how, s.id, data)
			held = r.m.Held() - before
		}
	}
	for _, f := range filters {
		var out []byte
		switch r.resolve(f) {
		case name("FlateDecode"), name("Fl"):
			out = r.inflate(data)
		case name("ASCII85Decode"), name("A85"):
			data, _, _ = bytes.Cut(data, []byte("~>"))
			out = r.readAll(ascii85.NewDecoder(bytes.NewReader(data)), len(data))
		case name("ASCIIHexDecode"), name("AHx"):
			data, _, _ = bytes.Cut(data, []byte(">"))
			out = decodeHex(r.m, data)
		case name("LZWDecode"), name("LZW"):
			out = r.unpackLZW(data)
		case name("Crypt"):
			continue
		}
		r.m.Give(held)
		if data, held = out, cap(out); len(data) == 0 {
			return nil, held
		}
	}
	return data, held
}

// sealed says how a stream is encrypted.
func (r *reader) sealed(s stream, filters []any) method {
	if len(filters) == 0 || r.resolve(filters[0]) != name("Crypt") {
		return r.crypt.streams
	}
	params := r.dict(s.dict["DecodeParms"])
	if list := r.array(s.dict["DecodeParms"]); len(list) > 0 {
		params = r.dict(list[0])
	}
	return r.crypt.method(r.resolve(params["Name"]))
}

func (r *reader) inflate(data []byte) []byte {
	const window = 48 << 10 // what a decoder takes
	if len(data) < 2 || !r.m.Take(window) {
		return nil
	}
	defer r.m.Give(window)
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		z = flate.NewReader(bytes.NewReader(data[2:]))
	}
	return r.readAll(z, 4*len(data))
}

// readAll reads what a filter gives, which may be about as much as is expected. Of a stream that is
// cut off, that is what is there.
func (r *reader) readAll(from io.Reader, expected int) []byte {
	out, ok := meter.Room(r.m, []byte(nil), min(max(expected, 512), 1<<20))
	for ok {
		n, err := from.Read(out[len(out):cap(out)])
		if out = out[:len(out)+n]; err != nil || !r.m.Work(n) {
			return out
		}
		out, ok = meter.Room(r.m, out, 512)
	}
	return nil
}

// pageNode is a page with the resources that it inherits.
type pageNode struct {
	dict      dict
	resources any
}

// pageNodes returns the pages in order.
func (r *reader) pageNodes() []pageNode {
	var list []pageNode
	seen := map[ref]bool{}
	var walk func(v, resources any, depth int)
	walk = func(v, resources any, depth int) {
		if n, ok := v.(ref); ok {
			if seen[n] || !r.m.Take(slotBytes/2) {
				return
			}
			seen[n] = true
		}
		d, ok := r.resolve(v).(dict)
		if !ok || depth > maxDepth {
			return
		}
		if own, ok := d["Resources"]; ok {
			resources = own
		}
		if kids := r.array(d["Kids"]); kids != nil && d["Type"] != name("Page") {
			for _, k := range kids {
				if !r.m.Work(8) {
					return
				}
				walk(k, resources, depth+1)
			}
			return
		}
		list = meter.Append(r.m, list, pageNode{d, resources})
	}
	if root := r.dict(r.trailer["Root"]); root != nil {
		walk(root["Pages"], nil, 0)
	}
	return list
}

// decodeTitle decodes a text of the file outside of its pages.
func decodeTitle(t text) string {
	switch {
	case bytes.HasPrefix(t, []byte{0xFE, 0xFF}):
		return decodeUTF16(t[2:])
	case bytes.HasPrefix(t, []byte{0xEF, 0xBB, 0xBF}):
		return strings.ToValidUTF8(string(t[3:]), "")
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
