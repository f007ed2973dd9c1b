package pdf

import (
	"fmt"
	"strings"
	"testing"
)

// fontOf makes the object of a font whose codes, from 1 on, are some characters, all 500 wide.
func fontOf(chars string) []string {
	var table strings.Builder
	n := 0
	for _, c := range chars {
		n++
		fmt.Fprintf(&table, "<%02X> <%04X> ", n, c)
	}
	return []string{"<< /Type /Font /Subtype /TrueType /ToUnicode 10 0 R /FirstChar 0 /Widths [" + strings.Repeat("500 ", 256) + "] >>",
		"<< >>\nstream\n1 begincodespacerange <0000> <FFFF> endcodespacerange\n" + fmt.Sprint(n) + " beginbfchar " + table.String() + "endbfchar\nendstream"}
}

// read reads a page whose font F1 has some characters.
func read(t *testing.T, chars, content string, more ...string) File {
	t.Helper()
	data := withContent(content, "", append(append([]string{"<< >>"}, fontOf(chars)...), more...)...)
	data = []byte(strings.Replace(string(data), "/F1 5 0 R", "/F1 9 0 R", 1))
	f, err := Read(account(t, len(data)), data)
	if err != nil || len(f.Pages) != 1 {
		t.Fatalf("%+v, error %v", f, err)
	}
	return f
}

// show makes a content that shows each part of a text at a place of its own, as wide as its codes.
func show(chars, text string) string {
	var b strings.Builder
	b.WriteString("BT /F1 10 Tf ")
	for i, c := range []rune(text) {
		if k := strings.Index(chars, string(c)); c != ' ' && k >= 0 {
			fmt.Fprintf(&b, "1 0 0 1 %d 700 Tm <%02X> Tj ", 100+5*i, len([]rune(chars[:k]))+1)
		}
	}
	return b.String() + "ET"
}

func TestRightToLeft(t *testing.T) {
	const chars = "אבגדabc123(),/:"
	for _, c := range []struct{ name, seen, want string }{
		{"words", "דג בא", "אב גד"},
		{"a number", "דג 123 בא", "אב 123 גד"},
		{"a date", "1/2/3 בא", "אב 1/2/3"},
		{"Latin words", "דג abc cab בא", "אב abc cab גד"},
		{"most of it Latin", "דג abc cab abc cab בא", "אב abc cab abc cab גד"},
		{"Latin with a number", "דג abc 12 בא", "אב abc 12 גד"},
		{"brackets", "(דג) בא", "אב (גד)"},
		{"a word in a Latin line", "abc cab בא abc 1", "abc cab אב abc 1"},
		{"two words in a Latin line", "abc cab דג ,בא abc", "abc cab אב, גד abc"},
		{"Latin only", "abc (cab) 12", "abc (cab) 12"},
	} {
		if got := read(t, chars, show(chars, c.seen)).Pages[0]; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestDrawnFromRight holds that the order in which letters are drawn does not matter, and forms become letters.
func TestDrawnFromRight(t *testing.T) {
	const chars = "\ufeb3\ufefc\ufee1\u0650" // an initial seen, a final lam with alef, a meem, a mark
	content := "BT /F1 10 Tf 1 0 0 1 115 700 Tm <01> Tj 1 0 0 1 110 700 Tm <02> Tj 1 0 0 1 105 700 Tm <03> Tj 1 0 0 1 107 700 Tm <04> Tj ET"
	if got := read(t, chars, content).Pages[0]; got != "سلام\u0650" {
		t.Errorf("%q", got)
	}
}

func TestSpaces(t *testing.T) {
	const font = "<< /Type /Font /Subtype /Type1 /Encoding /WinAnsiEncoding /FirstChar 0 /Widths [%s] >>"
	wide := fmt.Sprintf(font, strings.Repeat("500 ", 256))
	for _, c := range []struct{ name, content, want string }{
		{"the gap of a word by character spacing", "(Thi) Tj 2.5 Tc 15 0 Td (sc) Tj 0 Tc 12.5 0 Td (hapter) Tj", "This chapter"},
		{"a gap behind each word", "(This) Tj 22.5 0 Td (chapter) Tj 37.5 0 Td (is) Tj 10 0 Td (n't) Tj", "This chapter isn't"},
		{"a space as narrow as nothing", "-5 Tw (chap ter) Tj 0 Tw ( one) Tj", "chapter one"},
		{"letters set apart", "2.5 Tc (heading) Tj 57.5 0 Td (of it) Tj", "heading of it"},
		{"by kerning", "[(ni) -20 (ght) -250 (train)] TJ", "night train"},
		{"bold by drawing twice", "(bold) Tj 0.5 0 Td (bold) Tj 25 0 Td (o) Tj 0.3 0 Td (o) Tj 10 0 Td (oo) Tj", "bold o oo"},
		{"turned", "0 1 -1 0 50 50 Tm (up) Tj 0 1 -1 0 50 62.5 Tm (wards) Tj", "up wards"},
	} {
		data := withContent("BT /F1 10 Tf "+c.content+" ET", "", "<< >>", wide)
		data = []byte(strings.Replace(string(data), "/F1 5 0 R", "/F1 9 0 R", 1))
		f, err := Read(account(t, len(data)), data)
		if err != nil || f.Pages[0] != c.want {
			t.Errorf("%s: %q, want %q, error %v", c.name, f.Pages, c.want, err)
		}
	}
}

func TestAccents(t *testing.T) {
	const chars = "fa¸cde¨ı"
	content := "BT /F1 10 Tf <010203> Tj -5 0 Td 15 0 Td <0402> Tj 10 0 Td <0506> Tj 15 0 Td <07> Tj 0 0 Td <08> Tj ET"
	if got := read(t, chars, content).Pages[0]; got != "façade ï" {
		t.Errorf("%q", got)
	}
}

func TestFonts(t *testing.T) {
	for _, c := range []struct{ name, font, codes, want string }{
		{"Greek", "/Subtype /Type1 /Encoding << /Differences [1 /theta /Lambda /mu /sigma1 /vartheta] >>", "0102030405", "θΛµςθ"},
		{"Symbol", "/Subtype /Type1 /BaseFont /Symbol", "6162632E", "αβχ."},
		{"ZapfDingbats", "/Subtype /Type1 /BaseFont /ABCDEF+ZapfDingbats", "34206C", "✔ ●"},
		{"names that only count", "/Subtype /Type3 /Encoding << /Differences [27 /a27 28 /a28 65 /a65] >>", "411B1C", "Afffi"},
		{"names of parts", "/Subtype /Type1 /Encoding << /Differences [2 /T_h /f_f_i] >>", "020365", "Thffie"},
		{"signs without a value", "/Subtype /Type1 /Encoding << /Differences [1 /negationslash /integraldisplay] >>", strings.Repeat("0102", 50) + "41", "A"},
		{"names of glyphs by number", "/Subtype /Type1 /Encoding << /Differences [65 /g12 /g13] >>", "414243", "C"},
	} {
		data := withContent("BT /F1 10 Tf <"+c.codes+"> Tj ET", "", "<< >>", "<< /Type /Font "+c.font+" >>")
		data = []byte(strings.Replace(string(data), "/F1 5 0 R", "/F1 9 0 R", 1))
		f, err := Read(account(t, len(data)), data)
		if err != nil || f.Pages[0] != c.want {
			t.Errorf("%s: %q, want %q, error %v", c.name, f.Pages, c.want, err)
		}
	}
}

// TestCharsets holds that codes of charsets are read, one or two bytes long, without a table in the file.
func TestCharsets(t *testing.T) {
	for n, c := range map[string]struct{ codes, want string }{
		"90ms-RKSJ-H":     {"93FA967B41B1", "日本Aｱ"},
		"EUC-H":           {"C6FCCBDC41", "日本A"},
		"GBK-EUC-H":       {"D6D0B9FA41", "中国A"},
		"ETen-B5-V":       {"A4A4B0EA41", "中國A"},
		"KSCms-UHC-H":     {"C7D1B1B941", "한국A"},
		"UniGB-UCS2-H":    {"4E2D56FD0041", "中国A"},
		"UniJIS-UTF16-H":  {"65E5672C0041", "日本A"},
		"90ms-RKSJ-V":     {"93", ""},
		"Identity-H":      {"0041", ""},
		"UniKS-UTF16-H":   {"D55C", "한"},
		"UniCNS-UTF16-H":  {"570B", "國"},
		"GBKp-EUC-H":      {"D6D0", "中"},
		"B5pc-H":          {"A4A4", "中"},
		"KSC-EUC-H":       {"C7D1", "한"},
		"83pv-RKSJ-H":     {"93FA", "日"},
		"Add-RKSJ-H":      {"8140", ""}, // a wide space
		"GB-EUC-H":        {"B9FA", "国"},
		"UniJIS-UCS2-H":   {"3042", "あ"},
		"no such table-H": {"0041", ""},
	} {
		data := withContent("BT /F1 10 Tf <"+c.codes+"> Tj ET", "", "<< >>", "<< /Subtype /Type0 /Encoding /"+strings.ReplaceAll(n, " ", "")+" /DescendantFonts [<< >>] >>")
		data = []byte(strings.Replace(string(data), "/F1 5 0 R", "/F1 9 0 R", 1))
		if f, err := Read(account(t, len(data)), data); err != nil || f.Pages[0] != c.want {
			t.Errorf("%s: %q, want %q, error %v", n, f.Pages, c.want, err)
		}
	}
}

// TestBuiltIn holds that a font that is in the file knows its codes.
func TestBuiltIn(t *testing.T) {
	program := "%!PS-AdobeFont-1.0: CMMI10\n/Encoding 256 array 0 1 255 {1 index exch /.notdef put} for dup 12 /beta put dup 61 /slash put readonly def eexec dup 65 /B put"
	data := withContent("BT /F1 10 Tf <310C3D41> Tj ET", "", "<< >>", "<< /Subtype /Type1 /FontDescriptor << /FontFile 10 0 R >> >>", "<< >>\nstream\n"+program+"\nendstream")
	data = []byte(strings.Replace(string(data), "/F1 5 0 R", "/F1 9 0 R", 1))
	if f, err := Read(account(t, len(data)), data); err != nil || f.Pages[0] != "1β/A" {
		t.Errorf("%q, error %v", f.Pages, err)
	}
}

func TestForms(t *testing.T) {
	annots := []string{
		"<< /Subtype /Widget /FT /Tx /TU (Name of the child) /V (Ann) >>",
		"<< /Subtype /Widget /Parent 11 0 R >>", "<< /Subtype /Widget /Parent 11 0 R >>", // one field, twice on the page
		"<< /Subtype /Widget /FT /Ch /Ff 131072 /T (Country) /Opt [[(no) (Norway)] [(se) (Sweden)]] /V (se) >>",
		"<< /Subtype /Widget /FT /Ch /T (Days) /V [(Monday) (Friday)] >>",
		"<< /Subtype /Widget /FT /Btn /T (agreed) /V /Yes /AS /Yes >>",
		"<< /Subtype /Widget /FT /Btn /T (Newsletter) /V /Off >>",
		"<< /Subtype /Widget /FT /Tx /F 2 /V (hidden) >>",
		"<< /Subtype /Text /Contents <FEFF0041006E006F> >>",
		"<< /Subtype /FreeText /Contents (see\\rpage 3) >>",
		"<< /Subtype /Popup /Contents (twice) >>",
		"<< /Subtype /Stamp /Rect [0 0 9 9] /AP << /N << /On 12 0 R >> >> /AS /On >>",
	}
	data := withContent("BT /F1 10 Tf (Form) Tj ET", "", "<< >>", "<< >>", "<< >>",
		"<< /FT /Tx /T (f1[0]) /V (only once) /Parent 11 0 R >>",
		"<< /Subtype /Form /Resources << /Font << /F1 5 0 R >> >> >>\nstream\nBT /F1 10 Tf (PAID) Tj ET\nendstream")
	data = []byte(strings.Replace(string(data), "/Contents 4 0 R", "/Contents 4 0 R /Annots ["+strings.Join(annots, " ")+"]", 1))
	f, err := Read(account(t, len(data)), data)
	want := "Form\n\nName of the child: Ann\n\nonly once\n\nCountry: Sweden\n\nDays: Monday, Friday\n\nagreed: Yes\n\nAno\n\nsee\npage 3\n\nPAID"
	if err != nil || f.Pages[0] != want {
		t.Errorf("%q, want %q, error %v", f.Pages, want, err)
	}
}

// book makes a file of pages, of which each has lines at heights, "height text".
func book(pages ...[]string) []byte {
	objects := []string{"<< /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /Encoding /WinAnsiEncoding >>"}
	kids := ""
	for _, lines := range pages {
		content := "BT /F 10 Tf "
		for _, l := range lines {
			height, text, _ := strings.Cut(l, " ")
			if strings.HasPrefix(text, "!") {
				content += "/F 20 Tf "
			}
			content += fmt.Sprintf("1 0 0 1 50 %s Tm (%s) Tj /F 10 Tf ", height, strings.TrimPrefix(text, "!"))
		}
		n := len(objects) + 1
		kids += fmt.Sprintf("%d 0 R ", n)
		objects = append(objects, fmt.Sprintf("<< /Type /Page /Contents %d 0 R >>", n+1), "<< >>\nstream\n"+content+"ET\nendstream")
	}
	objects[1] = "<< /Resources << /Font << /F 3 0 R >> >> /Kids [" + kids + "] >>"
	return []byte(strings.Replace(string(file(objects...)), "/Title (On \\(trains\\))", "/Title (Microsoft Word - a.doc)", 1))
}

func TestHeads(t *testing.T) {
	page := func(n int, more ...string) []string {
		return append([]string{"500 text " + strings.Repeat("x", n), "480 more of it " + strings.Repeat("y", n), "460 and more", "440 and more " + strings.Repeat("z", n), "420 Total " + fmt.Sprint(70*n*n), "20 " + fmt.Sprint(n)}, more...)
	}
	for _, c := range []struct {
		name  string
		pages [][]string
		lost  []string // words that are on the last page no more
		kept  []string
	}{
		{"heads and numbers", [][]string{page(1, "800 The Manual"), page(2, "800 The Manual"), page(3, "800 The Manual"), page(4, "800 The Manual")}, []string{"Manual", "4"}, []string{"more of it", "Total 1120"}},
		{"a head with a number", [][]string{page(1), page(2, "800 Page 2 of 9"), page(3, "800 Page 3 of 9"), page(4, "800 Page 4 of 9")}, []string{"Page"}, nil},
		{"a table that goes on", [][]string{page(1), page(2, "800 The Manual", "760 name price", "745 a 1"), page(3, "800 The Manual", "760 name price", "745 b 2"), page(4, "800 The Manual", "760 name price", "745 c 3")}, []string{"Manual"}, []string{"name price"}},
		{"a head of two lines", [][]string{page(1), page(2, "800 The Manual", "790 Draft"), page(3, "800 The Manual", "790 Draft"), page(4, "800 The Manual", "790 Draft")}, []string{"Manual", "Draft"}, nil},
		{"a foot with a version, a date and a time", [][]string{page(1), page(2, "10 Manual 5.2 2022-09-19 10:30 page 2"), page(3, "10 Manual 5.2 2022-09-19 10:30 page 3"), page(4, "10 Manual 5.2 2022-09-19 10:30 page 4")}, []string{"Manual"}, nil},
		{"Roman numbers", [][]string{page(1, "10 ii"), page(2, "10 iii PREFACE"), page(3, "10 iv PREFACE"), page(4, "10 v PREFACE")}, []string{"PREFACE"}, nil},
		{"a short document", [][]string{page(1, "800 The Manual"), page(2, "800 The Manual"), page(3, "800 The Manual")}, nil, []string{"The Manual", "3"}},
		{"other numbers", [][]string{page(1, "800 Sum 17"), page(2, "800 Sum 3"), page(3, "800 Sum 999"), page(4, "800 Sum 5")}, nil, []string{"Sum 5"}},
		{"the only text", [][]string{page(1, "800 Blank"), page(2, "800 Blank"), page(3, "800 Blank"), {"800 Blank"}}, nil, []string{"Blank"}},
		{"two pages of a chapter", [][]string{page(1, "800 One"), page(2, "800 One"), page(3, "800 Two"), page(4, "800 Two")}, nil, []string{"Two"}},
	} {
		data := book(c.pages...)
		f, err := Read(account(t, len(data)), data)
		if err != nil || len(f.Pages) != len(c.pages) {
			t.Fatalf("%s: %+v, error %v", c.name, f, err)
		}
		last := f.Pages[len(f.Pages)-1]
		for _, w := range c.lost {
			if strings.Contains(last, w) {
				t.Errorf("%s: %q has %q", c.name, last, w)
			}
		}
		for _, w := range c.kept {
			if !strings.Contains(last, w) {
				t.Errorf("%s: %q lacks %q", c.name, last, w)
			}
		}
		if c.name == "heads and numbers" && !strings.Contains(f.Pages[0], "The Manual") {
			t.Errorf("the first head is lost: %q", f.Pages[0])
		}
	}
}

func TestTitle(t *testing.T) {
	text := "500 " + strings.Repeat("plain text ", 20)
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{"800 Report 7", "700 !On the fees", "680 !of the city", text}, "On the fees of the city"},
		{[]string{"700 On the fees", text}, "Microsoft Word - a.doc"}, // nothing is larger
		{[]string{"700 !1", text}, "Microsoft Word - a.doc"},
	} {
		data := book(c.lines)
		if f, err := Read(account(t, len(data)), data); err != nil || f.Title != c.want {
			t.Errorf("%q: %q, want %q, error %v", c.lines, f.Title, c.want, err)
		}
	}
	for title, want := range map[string]bool{"": true, "untitled": true, "Untitled-1": true, "report.pdf": true, "thesis.dvi": true, "Annual report 2024": false, "Using node.js": false, "Why x.doc is no format that anybody should use to keep a text for years.doc": false} {
		if useless(title) != want {
			t.Errorf("%q: useless is %v", title, !want)
		}
	}
}
