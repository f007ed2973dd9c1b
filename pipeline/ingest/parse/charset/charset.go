// Package charset finds out in which charset a text is written: from its mark, from what a server or
// the page itself declares, and else from its bytes. It costs some 250 lines besides
// golang.org/x/text, and github.com/saintfish/chardet, which compares bytes with those that are
// frequent in a language.
package charset

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/saintfish/chardet"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	utf16 "golang.org/x/text/encoding/unicode"
)

// Charset is how a text is written.
type Charset struct {
	// Name is that of the WHATWG's list, such as "windows-1251".
	Name string
	// Sure says how sure that is, in percent. It is 100 unless the charset is guessed.
	Sure int
	// Mark is the length of the byte order mark at the start of the text, in bytes.
	Mark int
	enc  encoding.Encoding // nil for UTF-8
}

// Looked is how many bytes from the start of a text decide.
const Looked = 64 << 10

var utf8Charset = Charset{Name: "utf-8", Sure: 100}

// Of returns the charset of a text. A mark decides first, and then the bytes, if they are UTF-8 and
// not ASCII alone. Then comes the first declared charset that is known and that the bytes obey. Empty
// ones are none.
func Of(text []byte, declared ...string) Charset {
	for _, c := range []Charset{
		{"utf-8", 100, 3, nil},
		{"utf-16le", 100, 2, utf16.UTF16(utf16.LittleEndian, utf16.IgnoreBOM)},
		{"utf-16be", 100, 2, utf16.UTF16(utf16.BigEndian, utf16.IgnoreBOM)},
	} {
		if bytes.HasPrefix(text, []byte{0xEF, 0xBB, 0xBF, 0xFF, 0xFE, 0xFE, 0xFF}[marks[c.Name][0]:marks[c.Name][1]]) {
			return c
		}
	}
	if c, ok := utf16Of(text); ok {
		return c
	}
	high, good, bad := count(text)
	ascii := high < 0
	if good > 20*bad { // a few bytes may be damaged
		return utf8Charset
	}
	from := max(0, high-1<<10)
	head := text[from:min(len(text), from+Looked)]
	for _, label := range declared {
		enc, name := charset.Lookup(label)
		if enc == nil || name == "replacement" || name == "x-user-defined" || strings.HasPrefix(name, "utf-16") {
			continue // UTF-16 would have been seen
		}
		if name == "utf-8" {
			if ascii {
				return utf8Charset
			}
			continue
		}
		if c := (Charset{Name: name, Sure: 100, enc: enc}); ascii && name != "iso-2022-jp" || wrong(c.Decode(head))*100 <= len(head) {
			return c
		}
	}
	if ascii && bytes.IndexByte(head, 0x1B) < 0 {
		return utf8Charset
	}
	return guess(head)
}

// marks are the places of the marks in a list of their bytes.
var marks = map[string][2]int{"utf-8": {0, 3}, "utf-16le": {3, 5}, "utf-16be": {5, 7}}

// count returns where the first byte is that is not ASCII, or -1, and how many characters are
// UTF-8 of several bytes, and how many bytes are not UTF-8.
func count(text []byte) (high, good, bad int) {
	high = -1
	for i := 0; i < len(text); {
		if len(text)-i >= 8 && binary.LittleEndian.Uint64(text[i:])&0x8080808080808080 == 0 {
			i += 8 // most texts are ASCII
			continue
		}
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		if high < 0 {
			high = i
		}
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n <= 1 {
			if !utf8.FullRune(text[i:]) {
				return high, good, bad // cut off at the end
			}
			bad++
		} else {
			good++
		}
		i += max(n, 1)
	}
	return high, good, bad
}

// wrong counts what no text has: what cannot be decoded, and controls.
func wrong(text []byte) int {
	n := 0
	for _, r := range string(text) {
		if r == utf8.RuneError || r >= 0x80 && r < 0xA0 {
			n++
		}
	}
	return n
}

// Decode returns a text of the charset as UTF-8. What is not valid becomes U+FFFD. A mark is not left out.
// Valid UTF-8 is returned itself, and not copied.
func (c *Charset) Decode(text []byte) []byte {
	if c.enc == nil && utf8.Valid(text) {
		return text
	}
	if c.enc == nil {
		return bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	out, err := c.enc.NewDecoder().Bytes(text)
	if err != nil { // decoders replace what they cannot read
		return bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return out
}

// Decoder returns a decoder, or nil for UTF-8.
func (c *Charset) Decoder() *encoding.Decoder {
	if c.enc == nil {
		return nil
	}
	return c.enc.NewDecoder()
}

// Unsure is below how many percent a guess is told.
const Unsure = 90

// Doubt says that the text may be read wrong, as a text for the user, or returns "".
func (c *Charset) Doubt() string {
	if c.Sure >= Unsure {
		return ""
	}
	return fmt.Sprintf("read as %s (a guess, %d %% sure); save it as UTF-8 to be certain", c.Name, c.Sure)
}

// utf16Of recognizes UTF-16 without a mark: every second byte is one of few, and the characters are
// those of texts.
func utf16Of(head []byte) (Charset, bool) {
	head = head[:min(len(head), 4<<10)&^1]
	other := 0 // bytes that are no printable ASCII: many, whatever the script is
	for _, b := range head {
		if b < ' ' || b >= 0x7F {
			other++
		}
	}
	if len(head) < 4 || bytes.IndexByte(head, 0) < 0 || other*4 < len(head) {
		return Charset{}, false
	}
	best, most := Charset{}, 0
	for _, c := range []Charset{
		{"utf-16le", 90, 0, utf16.UTF16(utf16.LittleEndian, utf16.IgnoreBOM)},
		{"utf-16be", 90, 0, utf16.UTF16(utf16.BigEndian, utf16.IgnoreBOM)},
	} {
		good, all := 0, 0
		for _, r := range string(c.Decode(head)) {
			all++
			switch {
			case r >= ' ' && r < 0x7F, r == '\n', r == '\r', r == '\t':
				good++
			case r < ' ', r == utf8.RuneError, r >= 0x80 && r < 0xA0:
				good -= all // no text
			case script(r) > 0, r >= 0x80 && (unicode.IsPunct(r) || unicode.IsDigit(r) || unicode.IsSymbol(r)):
				good++
			}
		}
		if good*100 >= all*95 && good > most {
			best, most = c, good
		}
	}
	return best, most > 0
}

// guess compares what a recognizer of languages thinks, and what the charsets make of the bytes.
func guess(head []byte) Charset {
	sample, high := deciding(head)
	best, second, text := Charset{Name: "windows-1252", enc: charmap.Windows1252}, 0, []byte(nil)
	for _, c := range candidates(sample) {
		decoded := c.Decode(sample)
		if wrong(decoded)*50 > len(sample) {
			continue
		}
		switch s := c.Sure * plausible(decoded) / 100; {
		case s > best.Sure:
			if !bytes.Equal(decoded, text) {
				second = best.Sure
			}
			best, text = c, decoded
			best.Sure = s
		case s > second && !bytes.Equal(decoded, text):
			second = s
		}
	}
	if best.Name == "iso-2022-jp" {
		return best // escapes are no coincidence
	}
	// What is far ahead of all others is sure, but a few letters prove little. The last step makes it the
	// share that is right of 2,256 texts in 23 languages of 30 to 2,000 bytes.
	first := best.Sure * best.Sure
	sure := 100 * first / (first + second*second + 100) * high / (high + 3)
	if sure > 0 {
		sure = 100 - (100-sure)*2/5
	}
	best.Sure = max(10, min(99, sure))
	return best
}

// deciding returns the lines that decide, which are those with letters besides ASCII, and how many bytes
// they have that are not.
func deciding(head []byte) (sample []byte, high int) {
	const most = 16 << 10
	for line := range bytes.Lines(head) {
		n := 0
		for _, b := range line {
			if b >= utf8.RuneSelf {
				n++
			}
		}
		if n > 0 || bytes.IndexByte(line, 0x1B) >= 0 {
			high += n
			sample = append(sample, line[:min(len(line), most-len(sample))]...)
		}
	}
	return sample, high
}

// candidates are the charsets that a text may have. Sure is how well it fits.
func candidates(sample []byte) []Charset {
	var list []Charset
	results, _ := chardet.NewTextDetector().DetectAll(sample) // an error means that there are none
	for _, r := range results {
		enc, name := charset.Lookup(alias(r.Charset))
		if enc != nil && name != "utf-8" && name != "replacement" && !strings.HasPrefix(name, "utf-16") && !isLatin(name) {
			list = append(list, Charset{Name: name, Sure: r.Confidence, enc: enc})
		}
	}
	slices.SortFunc(list, func(a, b Charset) int { // the recognizer gives them in any order
		return cmp.Or(cmp.Compare(b.Sure, a.Sure), strings.Compare(a.Name, b.Name))
	})
	if fit := thai(sample); fit > 0 {
		list = append(list, Charset{Name: "windows-874", Sure: fit, enc: charmap.Windows874})
	}
	if fit := dos(sample); fit > 0 {
		list = append(list, Charset{Name: "ibm866", Sure: fit, enc: charmap.CodePage866})
	}
	for _, l := range latin {
		c := Charset{Name: l.name, enc: l.enc}
		c.Sure = l.fit(c.Decode(sample))
		list = append(list, c)
	}
	return list
}

// alias is the name of a larger charset, in which real texts of another are written.
func alias(name string) string {
	switch name {
	case "ISO-8859-8-I":
		return "windows-1255"
	case "ISO-8859-7":
		return "windows-1253"
	case "GB-18030":
		return "gb18030"
	case "KOI8-R":
		return "koi8-u"
	}
	return strings.ToLower(name)
}

// Declared returns the charset that a page declares in its first bytes, in an element meta or in its
// XML declaration, or "".
func Declared(page []byte) string {
	page = page[:min(len(page), Looked)]
	if rest, ok := bytes.CutPrefix(bytes.TrimLeft(page, " \t\r\n"), []byte("<?xml")); ok {
		head, _, _ := bytes.Cut(rest, []byte("?>"))
		if v := after(strings.ToLower(string(head[:min(len(head), 256)])), "encoding"); v != "" {
			return v
		}
	}
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			name, attrs := z.TagName()
			if string(name) == "body" {
				return ""
			}
			if string(name) == "meta" && attrs {
				if v := declaredIn(string(z.Raw()), z); v != "" {
					return v
				}
			}
		}
	}
}

// declaredIn reads an element meta. One without quotes is read as it is meant.
func declaredIn(raw string, z *html.Tokenizer) string {
	name, content := false, ""
	for more := true; more; {
		var k, v []byte
		k, v, more = z.TagAttr()
		switch string(k) {
		case "charset":
			if len(v) > 0 {
				return string(bytes.TrimSpace(v))
			}
		case "http-equiv":
			name = strings.EqualFold(string(v), "content-type")
		case "content":
			content = string(v)
		}
	}
	if !name {
		return ""
	}
	if v := after(strings.ToLower(content), "charset"); v != "" {
		return v
	}
	return after(strings.ToLower(raw), "charset")
}

// after returns the value that follows a name and a sign of equality.
func after(text, name string) string {
	_, rest, ok := strings.Cut(text, name)
	rest, is := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), "=")
	if !ok || !is {
		return ""
	}
	rest = strings.TrimLeft(rest, " \t\r\n\"'")
	if i := strings.IndexAny(rest, " \t\r\n\"';>/?"); i >= 0 {
		rest = rest[:i]
	}
	return rest[:min(len(rest), 64)]
}
