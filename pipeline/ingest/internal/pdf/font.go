package pdf

import (
	"bytes"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

// font maps codes to text and widths.
type font struct {
	bytes     int // of a code
	unicode   map[int]string
	texts     []span[string]
	simple    [256]string
	composite bool
	utf16     bool              // codes are characters
	charset   *encoding.Decoder // of codes of one or two bytes, nil for none
	lone      byte              // the bytes of it from 0xA0 up to this are codes of one byte
	widths    map[int]float64
	wide      []span[float64]
	width     float64 // of all others
	unit      float64 // of widths, in parts of the size
	added     int     // codes, one by one
}

// span is a range of codes that is too long to be kept code by code.
type span[V any] struct {
	from, to int
	value    V
}

const (
	maxCodes = 1 << 18 // of one font that are kept one by one
	maxSpans = 256     // longer ranges of one font
	minSpan  = 256     // codes of a longer range
)

// find returns the last span that has the code.
func find[V any](spans []span[V], code int) *span[V] {
	for i := len(spans) - 1; i >= 0; i-- {
		if s := &spans[i]; s.from <= code && code <= s.to {
			return s
		}
	}
	return nil
}

func (r *reader) readFont(v any) *font {
	d := r.dict(v)
	key := reflect.ValueOf(d).UnsafePointer()
	if f, ok := r.fonts[key]; ok {
		return f
	}
	f := &font{bytes: 1, unicode: map[int]string{}, widths: map[int]float64{}, width: 500, unit: 0.001}
	r.m.Take(int(unsafe.Sizeof(*f)) + slotBytes)
	if d["Subtype"] == name("Type0") {
		f.composite, f.bytes, f.width = true, 2, 1000
		n, _ := r.resolve(d["Encoding"]).(name)
		f.utf16 = strings.HasPrefix(string(n), "Uni") && (strings.Contains(string(n), "UCS2") || strings.Contains(string(n), "UTF16"))
		f.setCharset(string(n))
		if kids := r.array(d["DescendantFonts"]); len(kids) > 0 {
			r.cidWidths(f, r.dict(kids[0]))
		}
	} else {
		r.encoding(f, d)
		if m := r.array(d["FontMatrix"]); d["Subtype"] == name("Type3") && len(m) == 6 {
			f.unit = math.Abs(numbers(m)[0])
		}
		first, _ := r.resolve(d["FirstChar"]).(float64)
		widths := r.array(d["Widths"])
		if n, ok := r.resolve(d["BaseFont"]).(name); ok && len(widths) == 0 {
			r.knownWidths(f, string(n))
		}
		for i, w := range widths[:min(len(widths), 256)] {
			if x, ok := r.resolve(w).(float64); ok && !r.setWidth(f, int(first)+i, x) {
				break
			}
		}
	}
	if s, ok := r.resolve(d["ToUnicode"]).(stream); ok {
		data, held := r.unfold(s)
		r.cmap(f, data)
		r.m.Give(held)
	}
	if d["Subtype"] == name("Type3") {
		f.dropDingbats()
	}
	r.fonts[key] = f
	return f
}

// setCharset sets the charset of a font whose encoding is one of those that each reader of PDF knows.
func (f *font) setCharset(n string) {
	switch {
	case strings.Contains(n, "RKSJ"):
		f.charset, f.lone = japanese.ShiftJIS.NewDecoder(), 0xDF
	case n == "EUC-H", n == "EUC-V":
		f.charset = japanese.EUCJP.NewDecoder()
	case strings.HasPrefix(n, "GB"):
		f.charset = simplifiedchinese.GBK.NewDecoder()
	case strings.Contains(n, "B5"):
		f.charset = traditionalchinese.Big5.NewDecoder()
	case strings.HasPrefix(n, "KSC"):
		f.charset = korean.EUCKR.NewDecoder()
	}
}

// length returns how many bytes the next code has.
func (f *font) length(t text) int {
	if f.charset != nil && (t[0] < 0x80 || t[0] >= 0xA0 && t[0] <= f.lone) {
		return 1
	}
	return min(f.bytes, len(t))
}

// decoded returns the text of a code in the charset of the font.
func (f *font) decoded(code int) string {
	b := []byte{byte(code >> 8), byte(code)}
	if code < 0x100 {
		b = b[1:]
	}
	b, _ = f.charset.Bytes(b) // what is damaged has no value
	return clean(string(b))
}

// add pays for one more code of a font. It is false if that has enough.
func (r *reader) add(f *font, bytes int) bool {
	f.added++
	return f.added <= maxCodes && r.m.Work(16) && r.m.Take(slotBytes/2+bytes)
}

func (r *reader) setWidth(f *font, code int, width float64) bool {
	ok := r.add(f, 0)
	if ok {
		f.widths[code] = width
	}
	return ok
}

func (r *reader) cidWidths(f *font, d dict) {
	if w, ok := r.resolve(d["DW"]).(float64); ok {
		f.width = w
	}
	list := r.array(d["W"])
	for i := 0; i+1 < len(list) && r.m.Work(1); {
		first, _ := r.resolve(list[i]).(float64)
		switch next := r.resolve(list[i+1]).(type) {
		case []any:
			for k, w := range next {
				if x, ok := r.resolve(w).(float64); ok && !r.setWidth(f, int(first)+k, x) {
					return
				}
			}
			i += 2
		case float64:
			if i+2 >= len(list) {
				return
			}
			w, _ := r.resolve(list[i+2]).(float64)
			from, to := int(first), int(min(next, first+65535))
			switch {
			case to-from < minSpan:
				for c := from; c <= to && r.setWidth(f, c, w); c++ {
				}
			case len(f.wide) < maxSpans:
				f.wide = meter.Append(r.m, f.wide, span[float64]{from, to, w})
			}
			i += 3
		default:
			return
		}
	}
}

// encoding fills the table of a font whose codes are bytes.
func (r *reader) encoding(f *font, d dict) {
	table := charmap.Windows1252
	e := r.resolve(d["Encoding"])
	base, _ := e.(name)
	differences := r.dict(d["Encoding"])
	if differences != nil {
		base, _ = r.resolve(differences["BaseEncoding"]).(name)
	}
	if base == "MacRomanEncoding" {
		table = charmap.Macintosh
	}
	for i := range f.simple {
		f.simple[i] = clean(string(table.DecodeByte(byte(i))))
	}
	if base == "" { // Adobe's standard encoding, where it differs
		f.simple['\''], f.simple['`'], f.simple[0xAE], f.simple[0xAF] = "’", "‘", "fi", "fl"
	}
	if n, ok := r.resolve(d["BaseFont"]).(name); ok {
		f.symbolic(string(n))
	}
	if base == "" {
		r.builtIn(f, d)
	}
	code := 0
	for _, v := range r.array(differences["Differences"]) {
		if !r.m.Work(8) {
			return
		}
		switch v := r.resolve(v).(type) {
		case float64:
			code = int(v)
		case name:
			if code >= 0 && code < 256 {
				if t, ok := named(string(v), code); ok {
					f.simple[code] = t
				}
			}
			code++
		}
	}
}

// builtIn reads the encoding of a Type 1 font that is in the file: "dup 12 /beta put".
func (r *reader) builtIn(f *font, d dict) {
	s, ok := r.resolve(r.dict(d["FontDescriptor"])["FontFile"]).(stream)
	if !ok {
		return
	}
	data, held := r.unfold(s)
	defer r.m.Give(held)
	data, _, _ = bytes.Cut(data, []byte("eexec"))
	_, data, _ = bytes.Cut(data, []byte("/Encoding"))
	l := lexer{m: r.m, data: data}
	code, glyph := -1, ""
	for {
		before := r.m.Held()
		v, ok := l.next()
		if r.m.Give(r.m.Held() - before); !ok {
			return
		}
		switch v := v.(type) {
		case float64:
			code = int(v)
		case name:
			glyph = string(v)
		case op:
			if v == "def" || v == "StandardEncoding" {
				return
			}
			if t, ok := named(glyph, code); ok && v == "put" && code >= 0 && code < 256 {
				f.simple[code] = t
			}
		}
	}
}

// The widths of the fonts that a file need not have, from " " to "~". Those of other faces are about alike.
const (
	helvetica = "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 584 584 584 556 1015 " +
		"667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 " +
		"556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584"
	times = "250 333 408 500 500 833 778 180 333 333 500 564 250 333 250 278 500 500 500 500 500 500 500 500 500 500 278 278 564 564 564 444 921 " +
		"722 667 667 722 611 556 722 722 333 389 722 611 889 722 722 556 722 667 556 611 722 722 944 722 722 611 333 278 333 469 500 333 " +
		"444 500 444 500 444 333 500 500 278 278 500 278 778 500 500 500 500 333 389 278 500 500 722 500 500 444 480 200 480 541"
)

// knownWidths sets the widths of a font that the file does not state.
func (r *reader) knownWidths(f *font, base string) {
	list := ""
	switch {
	case strings.HasPrefix(base, "Courier"):
		f.width = 600
	case strings.HasPrefix(base, "Helvetica"), strings.HasPrefix(base, "Arial"):
		list = helvetica
	case strings.HasPrefix(base, "Times"):
		list = times
	}
	code := ' '
	for w := range strings.FieldsSeq(list) {
		n, _ := strconv.Atoi(w) // all are numbers
		r.setWidth(f, int(code), float64(n))
		code++
	}
}

// cmap reads the pairs of a table from codes to Unicode.
func (r *reader) cmap(f *font, data []byte) {
	l := lexer{m: r.m, data: data}
	var args []any
	held := r.m.Held()
	for f.added < maxCodes {
		v, ok := l.next()
		if !ok {
			return
		}
		o, isOp := v.(op)
		if !isOp {
			if len(args) < 4096 {
				args = append(args, v)
			}
			continue
		}
		drawn := r.m.Held() - held
		switch o {
		case "endcodespacerange":
			// A simple font has codes of one byte, whatever its table says.
			if t, ok := first(args); ok && f.composite && len(t) > 0 && len(t) <= 4 {
				f.bytes = len(t)
			}
		case "endbfchar":
			for i := 0; i+1 < len(args); i += 2 {
				from, ok1 := args[i].(text)
				to, ok2 := args[i+1].(text)
				if ok1 && ok2 {
					r.setText(f, code(from), to)
				}
			}
		case "endbfrange":
			for i := 0; i+2 < len(args); i += 3 {
				from, ok1 := args[i].(text)
				last, ok2 := args[i+1].(text)
				if ok1 && ok2 {
					r.setRange(f, code(from), min(code(last), code(from)+65535), args[i+2])
				}
			}
		}
		args = args[:0]
		r.m.Give(drawn)
		held = r.m.Held()
	}
}

func first(args []any) (text, bool) {
	if len(args) == 0 {
		return nil, false
	}
	t, ok := args[0].(text)
	return t, ok
}

func mapping(t text) string { return decodeUTF16(t[:min(len(t), maxMapping)]) }

func (r *reader) setText(f *font, code int, t text) {
	if s := clean(mapping(t)); r.add(f, len(s)) {
		f.unicode[code] = s
	}
}

// setRange maps the codes from a to b.
func (r *reader) setRange(f *font, a, b int, to any) {
	switch to := to.(type) {
	case text:
		base := []rune(mapping(to))
		if len(base) == 0 {
			return
		}
		if b-a >= minSpan {
			if len(f.texts) < maxSpans && r.m.Take(4*maxMapping) {
				f.texts = meter.Append(r.m, f.texts, span[string]{a, b, string(base)})
			}
			return
		}
		for c := a; c <= b && r.add(f, 4*len(base)); c++ {
			f.unicode[c] = clean(string(base))
			base[len(base)-1]++
		}
	case []any:
		for k, v := range to {
			if t, ok := v.(text); ok && a+k <= b {
				r.setText(f, a+k, t)
			}
		}
	}
}

func code(b text) int {
	n := 0
	for _, c := range b[:min(len(b), 4)] {
		n = n<<8 | int(c)
	}
	return n
}

func (f *font) widthOf(code int) float64 {
	if w, ok := f.widths[code]; ok {
		return w
	}
	if s := find(f.wide, code); s != nil {
		return s.value
	}
	return f.width
}

// appendText adds the text of a code.
func (f *font) appendText(to []byte, code int) []byte {
	if u, ok := f.unicode[code]; ok {
		return append(to, u...)
	}
	if s := find(f.texts, code); s != nil {
		last, size := utf8.DecodeLastRuneInString(s.value)
		last += rune(code - s.from)
		if last >= 0xE000 || last < ' ' {
			return append(to, clean(s.value[:len(s.value)-size]+string(last))...)
		}
		return utf8.AppendRune(append(to, s.value[:len(s.value)-size]...), last)
	}
	if f.charset != nil {
		return append(to, f.decoded(code)...)
	}
	if f.utf16 {
		return append(to, clean(string(rune(code)))...)
	}
	if !f.composite {
		return append(to, f.simple[code&0xFF]...)
	}
	return to
}
