package charset

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// alphabet is a charset for languages that are written with Latin letters, and the letters of each of
// these besides those of ASCII.
type alphabet struct {
	name      string
	enc       encoding.Encoding
	languages []string
}

var central = []string{"áčďéěíňóřšťúůýž", "ąćęłńóśźż", "áéíóöőúüű", "ăâîşţ", "čćđšž", "áäčďéíĺľňóôŕšťúýž"}

// latin has the most frequent charsets first.
var latin = []alphabet{
	{"windows-1252", charmap.Windows1252, []string{
		"äöüß", "àâæçéèêëîïôœùûü", "áéíñóúüç", "àèéìíòóù", "áâãàçéêíóôõú", "åäöéü", "æøåéòôü", "áðéíóúýþæö", "äëïéèóö", "àçéèíïòóúü",
	}},
	{"windows-1250", charmap.Windows1250, central},
	{"iso-8859-2", charmap.ISO8859_2, central},
	{"windows-1254", charmap.Windows1254, []string{"âçğıîöşü"}},
	{"windows-1257", charmap.Windows1257, []string{"ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž"}},
	{"windows-1258", charmap.Windows1258, []string{"àâăđêéèíôơóòúùưý\u0300\u0301\u0303\u0309\u0323"}},
}

func isLatin(name string) bool {
	return strings.HasPrefix(name, "iso-8859-1") || slices.ContainsFunc(latin, func(a alphabet) bool { return a.name == name })
}

// fit says how well a text fits the best of the languages, in percent: all letters are in its alphabet,
// and stand beside letters of ASCII.
func (a *alphabet) fit(text []byte) int {
	most := 0
	for _, letters := range a.languages {
		most = max(most, fit(string(text), letters))
	}
	return most
}

func fit(text, letters string) int {
	high, known, beside, other := 0, 0, 0, 0
	var before rune
	for _, r := range text {
		switch {
		case r < 0x80:
			if script(r) == 1 && before >= 0x80 {
				beside++
			}
		case unicode.IsLetter(r) || unicode.IsMark(r):
			high++
			if strings.ContainsRune(letters, unicode.ToLower(r)) {
				known++
			}
			if script(before) == 1 && before < 0x80 && (!unicode.IsUpper(r) || !unicode.IsLower(before)) { // a sign after a word
				beside++
			}
		case !strings.ContainsRune("\u00a0«»‹›“”„‘’‚–—…•€£§©®°·´¡¿²³½¼±×ªº™¶\u00ad", r):
			other++
		}
		before = r
	}
	if high == 0 {
		return max(0, 30-10*other) // marks only
	}
	share := max(0, known-other) * 100 / high
	near := min(100, beside*100/high)
	return 90 * share / 100 * share / 100 * share / 100 * near / 100
}

// thai says how well a text fits Windows-874: marks follow letters.
func thai(text []byte) int {
	letters, marks, lone := 0, 0, 0
	mark := func(b byte) bool { return b == 0xD1 || b >= 0xD4 && b <= 0xDA || b >= 0xE7 && b <= 0xEE }
	for i, b := range text {
		switch {
		case mark(b):
			if marks++; i == 0 || !mark(text[i-1]) && (text[i-1] < 0xA1 || text[i-1] > 0xCE) {
				lone++
			}
		case b >= 0xA1:
			letters++
		}
	}
	if letters == 0 || marks*8 < letters || marks*2 > letters || lone*20 > marks {
		return 0
	}
	return 90
}

// dos says how well a text fits the Cyrillic charset of DOS: the letters in words and hardly a line of a frame, and as
// many of the most frequent letters as a language has. The signs of Latin-1 at the same places stand alone.
func dos(text []byte) int {
	letters, frequent, inner, other := 0, 0, 0, 0
	for i, b := range text {
		switch {
		case b < 0x80:
		case b >= 0xB0 && b < 0xE0 || b > 0xF1:
			other++
		default:
			letters++
			if i > 0 && text[i-1] >= 0x80 {
				inner++
			}
			if strings.IndexByte("\xA0\xA5\xA8\xAD\xAE\xE2", b) >= 0 { // а е и н о т
				frequent++
			}
		}
	}
	if letters == 0 || other*20 > letters || inner*2 < letters || frequent*3 < letters || frequent*4 > letters*3 {
		return 0
	}
	return 90
}
