package pdf

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// font maps codes to text and widths.
type font struct {
	bytes     int // of a code
	unicode   map[int]string
	simple    [256]rune
	composite bool
	widths    map[int]float64
	width     float64 // of all others, in thousandths
}

// maxCodes bounds the codes of one font.
const maxCodes = 1 << 17

func (r *reader) readFont(v any) (*font, error) {
	n, isRef := v.(ref)
	if f, ok := r.fonts[n]; ok && isRef {
		return f, nil
	}
	d := r.dict(v)
	f := &font{bytes: 1, unicode: map[int]string{}, widths: map[int]float64{}, width: 500}
	if d["Subtype"] == name("Type0") {
		f.composite, f.bytes, f.width = true, 2, 1000
		if kids := r.array(d["DescendantFonts"]); len(kids) > 0 {
			r.cidWidths(f, r.dict(kids[0]))
		}
	} else {
		r.encoding(f, d)
		first, _ := r.resolve(d["FirstChar"]).(float64)
		for i, w := range r.array(d["Widths"]) {
			if x, ok := r.resolve(w).(float64); ok && i < 256 {
				f.widths[int(first)+i] = x
			}
		}
	}
	if s, ok := r.resolve(d["ToUnicode"]).(stream); ok {
		data, err := r.unfold(s)
		if err != nil {
			return nil, err
		}
		if err := r.cmap(f, data); err != nil {
			return nil, err
		}
	}
	if isRef {
		r.fonts[n] = f
	}
	return f, nil
}

func (r *reader) cidWidths(f *font, d dict) {
	if w, ok := r.resolve(d["DW"]).(float64); ok {
		f.width = w
	}
	list := r.array(d["W"])
	for i := 0; i+1 < len(list) && len(f.widths) < maxCodes; {
		first, _ := r.resolve(list[i]).(float64)
		switch next := r.resolve(list[i+1]).(type) {
		case []any:
			for k, w := range next {
				if x, ok := r.resolve(w).(float64); ok && k < maxCodes {
					f.widths[int(first)+k] = x
				}
			}
			i += 2
		case float64:
			if i+2 >= len(list) {
				return
			}
			w, _ := r.resolve(list[i+2]).(float64)
			for c := int(first); c <= int(min(next, first+65535)) && len(f.widths) < maxCodes; c++ {
				f.widths[c] = w
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
		f.simple[i] = table.DecodeByte(byte(i))
	}
	if base == "" { // Adobe's standard encoding, where it differs
		f.simple['\''], f.simple['`'], f.simple[0xAE], f.simple[0xAF] = '’', '‘', 'ﬁ', 'ﬂ'
	}
	code := 0
	for _, v := range r.array(differences["Differences"]) {
		switch v := r.resolve(v).(type) {
		case float64:
			code = int(v)
		case name:
			if code >= 0 && code < 256 {
				if c := glyph(string(v)); c != utf8.RuneError {
					f.simple[code] = c
				}
			}
			code++
		}
	}
}

// glyph returns the character of a glyph's name.
func glyph(n string) rune {
	n, _, _ = strings.Cut(n, ".")
	if c, size := utf8.DecodeRuneInString(n); size == len(n) && size > 0 {
		return c
	}
	if c, ok := glyphs[n]; ok {
		return c
	}
	for _, prefix := range []string{"uni", "u"} {
		if h, ok := strings.CutPrefix(n, prefix); ok && len(h) >= 4 && len(h) <= 6 {
			if v, err := strconv.ParseUint(h, 16, 21); err == nil {
				return rune(v)
			}
		}
	}
	// Accented letters, such as eacute, are a letter and the name of an accent.
	if len(n) > 1 {
		if accent, ok := accents[n[1:]]; ok {
			if i := strings.IndexByte(accent[0], n[0]); i >= 0 {
				return []rune(accent[1])[i]
			}
		}
	}
	return utf8.RuneError
}

var accents = map[string][2]string{
	"acute": {"AEIOUYaeiouycnszCNSZ", "ÁÉÍÓÚÝáéíóúýćńśźĆŃŚŹ"}, "grave": {"AEIOUaeiou", "ÀÈÌÒÙàèìòù"}, "circumflex": {"AEIOUaeiou", "ÂÊÎÔÛâêîôû"},
	"dieresis": {"AEIOUYaeiouy", "ÄËÏÖÜŸäëïöüÿ"}, "tilde": {"ANOano", "ÃÑÕãñõ"}, "ring": {"AaUu", "ÅåŮů"}, "cedilla": {"CcSs", "ÇçŞş"},
	"caron": {"CSZEcszerRnN", "ČŠŽĚčšžěřŘňŇ"}, "slash": {"Oo", "Øø"}, "ogonek": {"AEae", "ĄĘąę"},
}

var glyphs = map[string]rune{
	"space": ' ', "exclam": '!', "quotedbl": '"', "numbersign": '#', "dollar": '$', "percent": '%', "ampersand": '&', "quotesingle": '\'', "parenleft": '(',
	"parenright": ')', "asterisk": '*', "plus": '+', "comma": ',', "hyphen": '-', "period": '.', "slash": '/', "zero": '0', "one": '1', "two": '2', "three": '3',
	"four": '4', "five": '5', "six": '6', "seven": '7', "eight": '8', "nine": '9', "colon": ':', "semicolon": ';', "less": '<', "equal": '=', "greater": '>',
	"question": '?', "at": '@', "bracketleft": '[', "backslash": '\\', "bracketright": ']', "asciicircum": '^', "underscore": '_', "grave": '`',
	"braceleft": '{', "bar": '|', "braceright": '}', "asciitilde": '~', "quoteleft": '‘', "quoteright": '’', "quotedblleft": '“', "quotedblright": '”',
	"quotesinglbase": '‚', "quotedblbase": '„', "endash": '–', "emdash": '—', "bullet": '•', "ellipsis": '…', "fi": 'ﬁ', "fl": 'ﬂ', "ff": 'ﬀ', "ffi": 'ﬃ', "ffl": 'ﬄ',
	"germandbls": 'ß', "ae": 'æ', "AE": 'Æ', "oe": 'œ', "OE": 'Œ', "lslash": 'ł', "Lslash": 'Ł', "dotlessi": 'ı', "degree": '°', "section": '§', "paragraph": '¶',
	"copyright": '©', "registered": '®', "trademark": '™', "Euro": '€', "sterling": '£', "yen": '¥', "cent": '¢', "mu": 'µ', "multiply": '×', "divide": '÷',
	"plusminus": '±', "minus": '−', "periodcentered": '·', "guillemotleft": '«', "guillemotright": '»', "alpha": 'α', "beta": 'β', "gamma": 'γ', "delta": 'δ',
	"epsilon": 'ε', "lambda": 'λ', "pi": 'π', "sigma": 'σ', "tau": 'τ', "phi": 'φ', "omega": 'ω', "Delta": 'Δ', "Sigma": 'Σ', "Omega": 'Ω', "arrowright": '→',
	"lessequal": '≤', "greaterequal": '≥', "notequal": '≠', "infinity": '∞', "element": '∈', "summation": '∑', "radical": '√', "partialdiff": '∂', "integral": '∫',
	"nbspace": ' ', "sfthyphen": '-', "exclamdown": '¡', "questiondown": '¿', "ordfeminine": 'ª', "ordmasculine": 'º',
}

// cmap reads the pairs of a table from codes to Unicode.
func (r *reader) cmap(f *font, data []byte) error {
	l := lexer{data: data}
	var args []any
	for {
		if err := r.alive(); err != nil {
			return err
		}
		v, ok := l.next()
		if !ok || len(f.unicode) >= maxCodes {
			return nil
		}
		o, isOp := v.(op)
		if !isOp {
			if len(args) < 4096 {
				args = append(args, v)
			}
			continue
		}
		switch o {
		case "endcodespacerange":
			if t, ok := first(args); ok && len(t) > 0 && len(t) <= 4 {
				f.bytes = len(t)
			}
		case "endbfchar":
			for i := 0; i+1 < len(args); i += 2 {
				from, ok1 := args[i].(text)
				to, ok2 := args[i+1].(text)
				if ok1 && ok2 {
					f.unicode[code(from)] = decodeUTF16(to)
				}
			}
		case "endbfrange":
			f.ranges(args)
		}
		args = args[:0]
	}
}

func first(args []any) (text, bool) {
	if len(args) == 0 {
		return nil, false
	}
	t, ok := args[0].(text)
	return t, ok
}

func (f *font) ranges(args []any) {
	for i := 0; i+2 < len(args); i += 3 {
		from, ok1 := args[i].(text)
		last, ok2 := args[i+1].(text)
		if !ok1 || !ok2 {
			continue
		}
		a, b := code(from), min(code(last), code(from)+65535)
		switch to := args[i+2].(type) {
		case text:
			base := []rune(decodeUTF16(to))
			if len(base) == 0 {
				continue
			}
			for c := a; c <= b && len(f.unicode) < maxCodes; c++ {
				f.unicode[c] = string(base)
				base[len(base)-1]++
			}
		case []any:
			for k, v := range to {
				if t, ok := v.(text); ok && a+k <= b {
					f.unicode[a+k] = decodeUTF16(t)
				}
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

// decode returns the text of a string, and its width in thousandths of the font's size.
func (f *font) decode(t text) (s string, width float64, codes, spaces int) {
	var b strings.Builder
	for len(t) > 0 {
		n := min(f.bytes, len(t))
		c := code(t[:n])
		t = t[n:]
		if w, ok := f.widths[c]; ok {
			width += w
		} else {
			width += f.width
		}
		codes++
		if n == 1 && c == ' ' {
			spaces++
		}
		switch u, ok := f.unicode[c]; {
		case ok:
			b.WriteString(u)
		case !f.composite:
			b.WriteRune(f.simple[byte(c)])
		}
	}
	return b.String(), width, codes, spaces
}
