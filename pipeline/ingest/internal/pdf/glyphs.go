package pdf

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// sign stands for a sign that is no letter, and has no Unicode value that is known: nothing is lost with it.
const sign = "\u200b"

// texLow are the low codes of TeX's fonts, old and new. Bitmaps of these have names such as a27.
var texLow = map[int]string{
	11: "ff", 12: "fi", 13: "fl", 14: "ffi", 15: "ffl", 16: "“", 17: "”", 21: "–", 22: "—", 27: "ff", 28: "fi", 29: "fl", 30: "ffi", 31: "ffl",
}

// dropDingbats leaves out values that Ghostscript makes of names such as a97, which stand for codes.
func (f *font) dropDingbats() {
	for k, u := range f.unicode {
		if c, _ := utf8.DecodeRuneInString(u); c >= 0x2190 && c <= 0x27BF && k >= 0 && k < 256 && f.simple[k] != "" {
			delete(f.unicode, k)
		}
	}
}

// named returns the text of a glyph by its name. It is false for a name that only repeats the code, or does not
// matter: the encoding says then what the code is.
func named(n string, code int) (string, bool) {
	if n == ".notdef" || n == "" {
		return "", false
	}
	if c := character(n); c != utf8.RuneError {
		return clean(string(c)), true
	}
	digits := strings.TrimLeft(n, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
	if v, err := strconv.Atoi(digits); err == nil && v == code {
		return texLow[code], texLow[code] != ""
	}
	if v, err := strconv.ParseUint(n[1:], 16, 9); err == nil && int(v) == code {
		return "", false
	}
	text := ""
	for part := range strings.SplitSeq(n, "_") { // such as T_h
		c := character(part)
		if c == utf8.RuneError && digits == "" && len(n) >= 4 {
			return sign, true // such as negationslash
		}
		if c == utf8.RuneError {
			return "", true
		}
		text += string(c)
	}
	return clean(text), true
}

// character returns the character of a glyph's name.
func character(n string) rune {
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

var glyphs = addGreek(map[string]rune{
	"space": ' ', "exclam": '!', "quotedbl": '"', "numbersign": '#', "dollar": '$', "percent": '%', "ampersand": '&', "quotesingle": '\'', "parenleft": '(',
	"parenright": ')', "asterisk": '*', "plus": '+', "comma": ',', "hyphen": '-', "period": '.', "slash": '/', "zero": '0', "one": '1', "two": '2', "three": '3',
	"four": '4', "five": '5', "six": '6', "seven": '7', "eight": '8', "nine": '9', "colon": ':', "semicolon": ';', "less": '<', "equal": '=', "greater": '>',
	"question": '?', "at": '@', "bracketleft": '[', "backslash": '\\', "bracketright": ']', "asciicircum": '^', "underscore": '_', "grave": '`',
	"braceleft": '{', "bar": '|', "braceright": '}', "asciitilde": '~', "quoteleft": '‘', "quoteright": '’', "quotedblleft": '“', "quotedblright": '”',
	"quotesinglbase": '‚', "quotedblbase": '„', "endash": '–', "emdash": '—', "bullet": '•', "ellipsis": '…', "fi": 'ﬁ', "fl": 'ﬂ', "ff": 'ﬀ', "ffi": 'ﬃ', "ffl": 'ﬄ',
	"germandbls": 'ß', "ae": 'æ', "AE": 'Æ', "oe": 'œ', "OE": 'Œ', "lslash": 'ł', "Lslash": 'Ł', "dotlessi": 'ı', "degree": '°', "section": '§', "paragraph": '¶',
	"copyright": '©', "registered": '®', "trademark": '™', "Euro": '€', "sterling": '£', "yen": '¥', "cent": '¢', "mu": 'µ', "multiply": '×', "divide": '÷',
	"plusminus": '±', "minus": '−', "periodcentered": '·', "guillemotleft": '«', "guillemotright": '»', "arrowright": '→',
	"lessequal": '≤', "greaterequal": '≥', "notequal": '≠', "infinity": '∞', "element": '∈', "summation": '∑', "radical": '√', "partialdiff": '∂', "integral": '∫',
	"acute": '´', "circumflex": 'ˆ', "tilde": '˜', "macron": '¯', "breve": '˘', "dotaccent": '˙', "dieresis": '¨', "ring": '˚', "hungarumlaut": '˝',
	"caron": 'ˇ', "cedilla": '¸', "ogonek": '˛', "dotlessj": 'ȷ',
	"nbspace": ' ', "sfthyphen": '-', "exclamdown": '¡', "questiondown": '¿', "ordfeminine": 'ª', "ordmasculine": 'º',
})

// The Greek letters in the order of Unicode, where -- is none.
const greek = "Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho -- Sigma Tau Upsilon Phi Chi Psi Omega"

// addGreek adds the names of Greek letters to those of glyphs.
func addGreek(glyphs map[string]rune) map[string]rune {
	for i, n := range strings.Fields(greek) {
		small := strings.ToLower(n)
		for _, n := range []string{n, n + "1"} {
			glyphs[n] = rune(0x391 + i)
		}
		for _, n := range []string{small, small + "1", "var" + small} {
			glyphs[n] = rune(0x3B1 + i)
		}
	}
	glyphs["sigma1"], glyphs["mu"] = 'ς', 'µ'
	return glyphs
}

// symbols are the characters of the font Symbol from "!" on, and from 0xA0 on. A space stands for none.
const (
	symbols      = "!∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_ αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
	otherSymbols = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…  ↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑"
)

// symbolic fills the table of a font that has an encoding of its own, if that is known.
func (f *font) symbolic(base string) {
	switch _, n, ok := strings.Cut(base, "+"); {
	case ok && n == "Symbol", base == "Symbol", base == "SymbolMT":
		for first, list := range map[int]string{'!': symbols, 0xA0: otherSymbols} {
			for _, r := range list {
				f.simple[first] = strings.TrimSpace(string(r))
				first++
			}
		}
		f.simple[' '] = " "
	case ok && n == "ZapfDingbats", base == "ZapfDingbats":
		clear(f.simple[:])
		for i := 1; i < 0x5F; i++ { // nearly in the order of Unicode
			f.simple[' '+i] = string(rune(0x2700 + i))
		}
		f.simple[' '], f.simple['l'], f.simple['n'] = " ", "●", "■"
	}
}
