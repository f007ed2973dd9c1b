package pdf

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

func packed(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(s)) // into memory
	_ = w.Close()
	return b.String()
}

// file makes a PDF of objects. Object 1 is the root.
func file(objects ...string) []byte {
	var b strings.Builder
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	b.WriteString("trailer\n<< /Root 1 0 R /Info << /Title (On \\(trains\\)) >> >>\nstartxref\n0\n%%EOF\n")
	return []byte(b.String())
}

func withContent(content, filter string, more ...string) []byte {
	return file(append([]string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /Font << /F1 5 0 R /F2 6 0 R >> /XObject << /X 8 0 R >> >> >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>",
		fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", filter, len(content), content),
		"<< /Type /Font /Subtype /Type1 /Encoding << /Differences [1 /eacute /fi /uni20AC] >> >>",
		"<< /Type /Font /Subtype /Type0 /ToUnicode 7 0 R /DescendantFonts [<< /DW 600 >>] >>",
		"<< >>\nstream\n1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfchar <0001> <00480069> endbfchar " +
			"1 beginbfrange <0010> <0012> <0061> endbfrange\nendstream",
	}, more...)...)
}

func account(t testing.TB, size int) *meter.Meter {
	return meter.New(t.Context(), meter.Budget{Memory: 32<<20 + 64*size, Work: 64<<20 + 512*size})
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"words and lines", "BT /F1 10 Tf 50 700 Td (Ann prefers) Tj 0 -12 Td (the night train.) Tj 0 -40 Td (Next.) Tj ET", "Ann prefers\nthe night train.\n\nNext."},
		{"spaces by kerning", "BT /F1 10 Tf [(night) -300 (train) -20 (s)] TJ ET", "night trains"},
		{"differences", "BT /F1 10 Tf <010203> Tj ET", "éfi€"},
		{"unicode table", "BT /F2 10 Tf <0001001000110012> Tj ET", "Hiabc"},
		{"hyphens", "BT /F1 10 Tf 12 TL (exam-) Tj (ple) ' ET", "example"},
		{"a form that shows itself", "/X Do BT /F1 10 Tf (end) Tj ET", "in in in in in in in in end"},
	} {
		form := "<< /Subtype /Form /Matrix [1 0 0 1 20 0] >>\nstream\nBT /F1 10 Tf (in ) Tj ET /X Do\nendstream"
		for filter, content := range map[string]string{"": c.content, "/Filter /FlateDecode": packed(c.content)} {
			f, err := Read(account(t, 1000), withContent(content, filter, form))
			if err != nil || len(f.Pages) != 1 || f.Title != "On (trains)" {
				t.Fatalf("%s: %+v, error %v", c.name, f, err)
			}
			if got := strings.Join(strings.Fields(f.Pages[0]), " "); got != strings.Join(strings.Fields(c.want), " ") || c.name != "a form that shows itself" && f.Pages[0] != c.want {
				t.Errorf("%s %s: %q, want %q", c.name, filter, f.Pages[0], c.want)
			}
		}
	}
}

func TestObjectStream(t *testing.T) {
	inner := "1 0 2 33 3 83 " // the root, the pages, the page
	body := fmt.Sprintf("%-33s%-50s%s", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Kids [3 0 R] >>", "<< /Type /Page /Contents 5 0 R /Resources << /Font << /F << /Type /Font >> >> >> >>")
	s := packed(inner + body)
	data := fmt.Sprintf("%%PDF-1.5\n4 0 obj\n<< /Type /ObjStm /N 3 /First %d /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream\nendobj\n"+
		"5 0 obj\n<< >>\nstream\nBT /F 9 Tf (inside) Tj ET\nendstream\nendobj\n6 0 obj\n<< /Type /XRef /Root 1 0 R >>\nstream\n\nendstream\nendobj\nstartxref\n0\n%%%%EOF", len(inner), len(s), s)
	f, err := Read(account(t, 1000), []byte(data))
	if err != nil || len(f.Pages) != 1 || f.Pages[0] != "inside" {
		t.Errorf("%+v, error %v", f, err)
	}
}

func TestBadFiles(t *testing.T) {
	good := withContent("BT /F1 10 Tf (x) Tj ET", "")
	bomb := packed(strings.Repeat("q ", 4<<20))
	again := file("<< /Pages 2 0 R >>", "<< /Kids [3 0 R] >>", "<< /Type /Page /Contents ["+strings.Repeat("4 0 R ", 50_000)+"] >>",
		"<< /Filter /FlateDecode >>\nstream\n"+packed(strings.Repeat("q ", 1000))+"\nendstream")
	for _, c := range []struct {
		name string
		data []byte
		want error
	}{
		{"encrypted", bytes.Replace(good, []byte("/Info"), []byte("/Encrypt 9 0 R /Info"), 1), ErrEncrypted},
		{"cut off", good[:len(good)/2], ErrDamaged},
		{"no pdf", []byte("hello"), ErrDamaged},
		{"empty", nil, ErrDamaged},
		{"no pages", file("<< >>"), ErrDamaged},
		{"bomb", withContent(bomb, "/Filter /FlateDecode"), meter.ErrCostly},
		{"one stream again and again", again, meter.ErrCostly},
	} {
		if _, err := Read(meter.New(t.Context(), meter.Budget{Memory: 2 << 20, Work: 1 << 22}), c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
}

// strange makes a file whose page has more entries, and whose object 8 is another.
func strange(entries, object string) []byte {
	data := withContent("BT /F1 10 Tf (x) Tj ET", "", object)
	return []byte(strings.Replace(string(data), "/Contents 4 0 R", "/Contents 4 0 R "+entries, 1))
}

// TestManyPages holds that a file of 3,000 pages is read in a small multiple of its bytes, whatever repeats on them.
func TestManyPages(t *testing.T) {
	pages := make([][]string, 3000)
	for i := range pages {
		pages[i] = []string{"800 The Manual", fmt.Sprintf("400 sum of %d", i*i), "390 its text", fmt.Sprintf("20 %d", i+1)}
	}
	data := book(pages...)
	m := account(t, len(data))
	f, err := Read(m, data)
	if err != nil || len(f.Pages) != 3000 || f.Pages[2999] != "sum of 8994001\nits text" {
		t.Fatalf("%d pages, the last %q, error %v", len(f.Pages), f.Pages[len(f.Pages)-1:], err)
	}
	if m.Peak() > 20*len(data) || m.Spent() > 100*len(data) {
		t.Errorf("%d bytes: peak %d, work %d", len(data), m.Peak(), m.Spent())
	}
}

// TestHostile holds that circles and depth end soon.
func TestHostile(t *testing.T) {
	n := 200_000
	for name, data := range map[string][]byte{
		"pages in a circle":   file("<< /Pages 2 0 R >>", "<< /Kids [2 0 R 3 0 R] >>", "<< /Kids [2 0 R] >>"),
		"reference to itself": file("<< /Pages 2 0 R >>", "2 0 R"),
		"deep arrays":         withContent(strings.Repeat("[", n)+strings.Repeat("<<", n)+strings.Repeat("(", n), ""),
		"objects":             []byte("%PDF-" + strings.Repeat("1 0 obj ", n)),
		"trailers":            []byte("%PDF-" + strings.Repeat("trailer<<", n)),
		"streams":             []byte("%PDF-" + strings.Repeat("1 0 obj<<>>stream ", n)),
		"a stream of objects": file("<< /Type /ObjStm /N 1e9 /First 2 >>\nstream\n1 0 1 0\nendstream"),
		"itself":              file("<< /Type /ObjStm /N 2 /First 8 /Length 1 0 R >>\nstream\n1 0 2 0 << /Pages 2 0 R /Kids [1 0 R 2 0 R] >>\nendstream"),
		"fields in a circle": withContent("", "", "<< >>", "<< /FT /Tx /T (a) /V (b) /Parent 10 0 R /Kids [10 0 R] >>", "<< /Parent 9 0 R /Opt 10 0 R >>",
			strings.Repeat("<< /Type /Page /Annots [9 0 R 10 0 R 3 0 R] >>", 10)),
		"looks like itself": strange("/Annots [<< /Subtype /Stamp /AP << /N 8 0 R >> >>]", "<< >>\nstream\n/X Do\nendstream"),
		"widgets":           strange("/Annots ["+strings.Repeat("<</Subtype/Widget/FT/Tx/V 8 0 R>>", 20_000)+"]", "("+strings.Repeat("x", 20_000)+")"),
		"choices":           strange("/Annots [<</Subtype/Widget/FT/Ch/V ["+strings.Repeat("(a)", n/10)+"]/Opt ["+strings.Repeat("[(b)(c)]", n/10)+"]>>]", "<< >>"),
		"right to left":     withContent("BT /F2 1 Tf "+strings.Repeat("<00100010> Tj ", n/4)+"ET", "", "<< >>"),
		"accents":           withContent("BT /F1 1 Tf ("+strings.Repeat("^a`e", n)+") Tj ET", ""),
		"lzw":               withContent(strings.Repeat("\x80\x0b\x60\x50", n), "/Filter /LZWDecode"),
		"wide range":        withContent("BT /F2 1 Tf <0001> Tj ET", "", "", "<< >>"),
	} {
		started := time.Now()
		_, _ = Read(account(t, len(data)), data) // no error is demanded
		if d := time.Since(started); d > 40*time.Second {
			t.Errorf("%s: %v for %d bytes", name, d, len(data))
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(withContent("BT /F1 10 Tf 50 700 Td (Ann) Tj [(a) -300 <41>] TJ T* (b) ' /X Do ET BI x EI q Q", ""))
	f.Add(withContent("BT /F2 10 Tf <00100011> Tj /F1 9 Tf (^a`e) Tj 0 1 -1 0 3 4 Tm [(x) -900 (y)] TJ ET", "", strings.Split("<< >>|<< /Subtype /Type3 /FontMatrix [1 0 0 1 0 0] >>", "|")...))
	f.Add(strange("/Annots [<</Subtype/Widget/FT/Ch/V [(a)]/Opt [[(a)(c)]]>> <</Subtype/Stamp/AP<</N 8 0 R>>>>]", "<< >>\nstream\nBT /F1 1 Tf (x) Tj ET\nendstream"))
	f.Add(withContent("BT /F1 10 Tf <93FA41> Tj ET", "", "<< >>", "<< /Subtype /Type0 /Encoding /90ms-RKSJ-H >>"))
	f.Add(withContent("\x80\x0b\x60\x50\x22\x0c\x0c\x85\x01", "/Filter /LZWDecode"))
	f.Add(book([]string{"800 Head", "20 1"}, []string{"800 Head", "20 2"}, []string{"800 Head", "20 3"}, []string{"800 Head", "20 4"}))
	for _, n := range []string{"rc4-40", "aes-128", "aes-256"} {
		if data, err := os.ReadFile("testdata/encrypted/" + n + ".pdf"); err == nil {
			f.Add(data)
		}
	}
	f.Add(withContent(packed("BT /F2 10 Tf <0001> Tj ET"), "/Filter [/FlateDecode]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := account(t, len(data))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = Read(m, data) // any answer will do, but a panic
		runtime.ReadMemStats(&after)
		if n := int(after.TotalAlloc - before.TotalAlloc); n > 4*(1<<20+m.Peak()+m.Spent()) {
			t.Errorf("%d bytes allocated, peak %d, work %d", n, m.Peak(), m.Spent())
		}
	})
}
