package parse

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// pdfOf makes a PDF whose pages show the codes of a font that has values for A to Z only.
func pdfOf(pages ...string) string {
	b := &strings.Builder{}
	b.WriteString("%PDF-1.7\n1 0 obj\n<< /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Resources << /Font << /F 3 0 R >> >> /Kids [")
	for i := range pages {
		fmt.Fprintf(b, "%d 0 R ", 10+2*i)
	}
	b.WriteString("] >>\nendobj\n3 0 obj\n<< /Subtype /Type0 /ToUnicode 4 0 R >>\nendobj\n4 0 obj\n<< >>\nstream\n" +
		"1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfrange <20> <5A> <0020> endbfrange\nendstream\nendobj\n")
	for i, p := range pages {
		fmt.Fprintf(b, "%d 0 obj\n<< /Type /Page /Contents %d 0 R >>\nendobj\n%d 0 obj\n<< >>\nstream\nBT /F 10 Tf (%s) Tj ET\nendstream\nendobj\n", 10+2*i, 11+2*i, 11+2*i, p)
	}
	b.WriteString("trailer\n<< /Root 1 0 R >>\nstartxref\n0\n%%EOF")
	return b.String()
}

func TestUnreadPages(t *testing.T) {
	const good, bad, half = "THE FEE IS DUE", "the fee is due monthly", "THE fee is due monthly"
	for _, c := range []struct {
		pages   []string
		warning string
		blocks  int
	}{
		{[]string{good, good}, "", 2},
		{[]string{good, "THE FEE IS DUe"}, "", 2},
		{[]string{good, bad}, "page 2: 100 % of the glyphs have no Unicode value; their text is left out", 1},
		{[]string{half, good, bad, bad, bad}, "pages 1, 3 to 5: 96 % of the glyphs", 1},
	} {
		var d Document
		data := []byte(pdfOf(c.pages...))
		err := Parse(Limits{}.Meter(t.Context(), len(data)), File{Name: "a.pdf"}, data, Limits{}, func(got Document) error { d = got; return nil })
		if err != nil || len(d.Blocks) != c.blocks || !strings.HasPrefix(strings.Join(d.Warnings, "|"), c.warning) || (c.warning == "") != (len(d.Warnings) == 0) {
			t.Errorf("%q: %+v, error %v", c.pages, d, err)
		}
		for _, b := range d.Blocks {
			if !strings.HasPrefix(b.Text, "THE FEE") {
				t.Errorf("%q: garbage %q", c.pages, b.Text)
			}
		}
	}
	data := []byte(pdfOf(bad, bad))
	err := Parse(Limits{}.Meter(t.Context(), len(data)), File{Name: "a.pdf"}, data, Limits{}, func(Document) error { return nil })
	if !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), "pages 1 to 2: 100 %") {
		t.Errorf("error %v", err)
	}
}
