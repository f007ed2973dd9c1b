package markup

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// glyphs are the signs that roff names by two letters.
var glyphs = map[string]string{
	"em": "—", "en": "–", "hy": "-", "mi": "-", "bu": "•", "aq": "'", "cq": "’", "oq": "‘", "dq": `"`, "lq": "“", "rq": "”", "Bq": "„", "co": "©", "rg": "®",
	"tm": "™", "R": "®", "ti": "~", "ha": "^", "rs": `\`, "->": "→", "<-": "←", "mu": "×", "de": "°", "sc": "§", "ga": "`", "aa": "´", "at": "@", "sh": "#",
	"Do": "$", "la": "⟨", "ra": "⟩", "ba": "|", "sl": "/", "ul": "_", "or": "|", "<=": "≤", ">=": "≥", "!=": "≠", "+-": "±", "12": "½", "14": "¼",
	"ss": "ß", "AE": "Æ", "ae": "æ", "OE": "Œ", "oe": "œ", "Po": "£", "Eu": "€", "Fo": "«", "Fc": "»", "*m": "μ", "*a": "α", "*b": "β", "lB": "[", "rB": "]",
	":a": "ä", ":o": "ö", ":u": "ü", ":A": "Ä", ":O": "Ö", ":U": "Ü", "'e": "é", "'a": "á", "'o": "ó", "'i": "í", "'u": "ú", "`e": "è", "`a": "à", ",c": "ç", "~n": "ñ",
}

// plain is a text of roff without escapes.
func (m *man) plain(text string) string {
	if !strings.Contains(text, `\`) || !m.Meter.Take(len(text)) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			i++
			continue
		}
		said, n := escape(text[i+1:])
		out = append(out, said...)
		i += 1 + n
	}
	return strings.TrimSuffix(string(out), `\`)
}

// escape returns what the escape at the start of a text stands for, and how long it is, without its backslash.
func escape(text string) (said string, n int) {
	switch c := text[0]; c {
	case '"':
		return "", len(text) // a comment
	case '-', '\'', '`', '.', '_':
		return text[:1], 1
	case 'e', '\\':
		return `\`, 1
	case ' ', '~', '0':
		return " ", 1
	case 't':
		return "\t", 1
	case '(', '[':
		name, n := named(text)
		return glyph(name), n
	case '*': // a string
		name, n := named(text[1:])
		return glyph(name), 1 + n
	case 'f', 'F', 'g', 'k', 'm', 'M', 'n', 'V', 'Y': // a font, a register, a color
		_, n := named(text[1:])
		return "", 1 + n
	case 's':
		i := 1
		for i < len(text) && i < 4 && strings.IndexByte("+-0123456789", text[i]) >= 0 {
			i++
		}
		return "", i
	case 'h', 'v', 'w', 'l', 'L', 'o', 'D', 'b', 'X', 'Z', 'z':
		if len(text) > 1 && text[1] == '\'' {
			if end := strings.IndexByte(text[2:], '\''); end >= 0 {
				return "", end + 3
			}
		}
		return "", 1
	default: // an escape without a text, or a sign that stands for itself
		if c < utf8.RuneSelf {
			return "", 1
		}
		return "", 0
	}
}

// named reads a name of one letter, of two after "(", or in brackets.
func named(text string) (name string, n int) {
	switch {
	case text == "":
		return "", 0
	case text[0] == '(':
		n = min(3, len(text))
		return text[1:n], n
	case text[0] == '[':
		if end := strings.IndexByte(text, ']'); end > 0 {
			return text[1:end], end + 1
		}
	}
	_, n = utf8.DecodeRuneInString(text)
	return text[:n], n
}

// glyph is the sign of a name, "" for one that is not known.
func glyph(name string) string {
	if hex, ok := strings.CutPrefix(name, "u"); ok && len(hex) >= 4 {
		if r, err := strconv.ParseUint(hex, 16, 21); err == nil && utf8.ValidRune(rune(r)) && r >= ' ' {
			return string(rune(r))
		}
	}
	return glyphs[name]
}
