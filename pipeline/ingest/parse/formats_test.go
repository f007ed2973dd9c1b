package parse

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

// presentation is a file of PowerPoint with two slides, whose numbers are not their order.
var presentation = map[string]string{
	"ppt/presentation.xml":            `<p:presentation><p:sldIdLst><p:sldId id="256" r:id="r2"/><p:sldId id="257" r:id="r1"/></p:sldIdLst></p:presentation>`,
	"ppt/_rels/presentation.xml.rels": `<Relationships><Relationship Id="r1" Type="x/slide" Target="slides/slide1.xml"/><Relationship Id="r2" Type="x/slide" Target="/ppt/slides/slide2.xml"/></Relationships>`,
	"ppt/slides/slide1.xml": `<p:sld><p:sp><p:nvPr><p:ph type="sldNum"/></p:nvPr><a:p><a:r><a:t>7</a:t></a:r></a:p></p:sp><a:tbl><a:tr><a:tc rowSpan="2"><a:p><a:r><a:t>x</a:t></a:r></a:p></a:tc><a:tc><a:p><a:r><a:t>1</a:t></a:r></a:p></a:tc></a:tr>` +
		`<a:tr><a:tc vMerge="1"><a:p/></a:tc><a:tc><a:p><a:r><a:t>2</a:t></a:r></a:p></a:tc></a:tr></a:tbl></p:sld>`,
	"ppt/slides/slide2.xml":            `<p:sld><p:sp><p:nvPr><p:ph type="ctrTitle"/></p:nvPr><a:p><a:r><a:t>Trains</a:t></a:r></a:p></p:sp><p:sp><a:p><a:r><a:t>one</a:t></a:r></a:p><a:p><a:r><a:t>two</a:t></a:r></a:p></p:sp></p:sld>`,
	"ppt/slides/_rels/slide2.xml.rels": `<Relationships><Relationship Id="r1" Type="x/notesSlide" Target="../notesSlides/notesSlide1.xml"/></Relationships>`,
	"ppt/notesSlides/notesSlide1.xml":  `<p:notes><p:sp><a:p><a:r><a:t>Say hello.</a:t></a:r></a:p></p:sp></p:notes>`,
}

// sheets is a workbook with two sheets.
var sheets = map[string]string{
	"xl/workbook.xml":            `<workbook><sheets><sheet name="Prices" sheetId="1" r:id="r1"/><sheet name="Empty" r:id="r2"/></sheets></workbook>`,
	"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Type="x/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="x/worksheet" Target="worksheets/sheet2.xml"/></Relationships>`,
	"xl/styles.xml":              `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="dd\\.mm&quot;x&quot;"/><numFmt numFmtId="171" formatCode="0.0&quot; days&quot;"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="171"/></cellXfs></styleSheet>`,
	"xl/sharedStrings.xml":       `<sst><si><t>City</t></si><si><r><t>Os</t></r><r><t>lo</t></r><rPh><t>no</t></rPh></si></sst>`,
	"xl/worksheets/sheet1.xml": `<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>Day</t></is></c><c r="C1" t="str"><v>Fee</v></c></row>` +
		`<row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3" s="1"><v>46355</v></c><c r="C3"><v>0.30000000000000004</v></c><c r="E3" t="b"><v>1</v></c></row>` +
		`<row r="4"><c r="B4" s="2"><v>46355.5</v></c><c r="C4" s="3"><v>7</v></c></row></sheetData><mergeCells/></worksheet>`,
	"xl/worksheets/sheet2.xml": `<worksheet><sheetData/></worksheet>`,
}

var odt = map[string]string{
	"meta.xml": `<office:document-meta><dc:title>Plan</dc:title><dc:creator>Ann</dc:creator><dc:date>2026-11-29T10:00:00Z</dc:date></office:document-meta>`,
	"content.xml": `<office:document-content><office:text><text:tracked-changes><text:p>deleted</text:p></text:tracked-changes><text:h text:outline-level="2">Part</text:h>` +
		`<text:p>Due<text:s text:c="2"/>monthly<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Except in August.</text:p></text:note-body></text:note>.</text:p>` +
		`<text:list><text:list-item><text:p>one</text:p></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list>` +
		`<table:table><table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>x</text:p></table:table-cell><table:table-cell><text:p>1</text:p></table:table-cell></table:table-row>` +
		`<table:table-row><table:covered-table-cell/><table:table-cell><text:p>2</text:p></table:table-cell></table:table-row></table:table></office:text></office:document-content>`,
}

var book = map[string]string{
	"META-INF/container.xml": `<container><rootfiles><rootfile full-path="OEBPS/a.opf"/></rootfiles></container>`,
	"OEBPS/a.opf":            `<package><metadata><dc:title>A Book</dc:title><dc:creator>Ann</dc:creator></metadata><manifest><item id="two" href="b%20b.xhtml"/><item id="nav" href="nav.xhtml" properties="nav"/><item id="one" href="a.xhtml"/></manifest><spine><itemref idref="nav"/><itemref idref="one"/><itemref idref="two"/></spine></package>`,
	"OEBPS/a.xhtml":          "<html><body><h1>One</h1><p>First.</p></body></html>", "OEBPS/b b.xhtml": "<html><body><h1>Two</h1><p>Second.</p></body></html>", "OEBPS/nav.xhtml": "<p>contents",
}

const letter = "Subject: =?utf-8?B?R3LDtsOfZQ==?=\r\nFrom: Ann <ann@example.com>\r\nTo: Bob <bob@example.com>\r\nDate: Sun, 29 Nov 2026 10:00:00 +0100\r\n" +
	"Content-Type: multipart/mixed; boundary=m\r\n\r\n--m\r\nContent-Type: multipart/alternative; boundary=a\r\n\r\n--a\r\nContent-Type: text/plain; charset=windows-1251\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n" +
	"=CF=F0=E8=E2=E5=F2\r\n--a\r\nContent-Type: text/html\r\n\r\n<p>html\r\n--a--\r\n--m\r\nContent-Type: application/octet-stream; name=\"list.csv\"\r\nContent-Disposition: attachment; filename=\"list.csv\"\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
	"YSxiCjEsMgo=\r\n--m\r\nContent-Type: image/png; name=p.png\r\nContent-Transfer-Encoding: base64\r\n\r\nAAAA\r\n--m\r\nContent-Type: message/rfc822\r\n\r\nSubject: Inner\r\n\r\ninner text\r\n--m--\r\n"

const jupyter = `{"metadata":{"x":1},"cells":[{"cell_type":"markdown","source":["# Study\n","\n","Some *text*."]},{"cell_type":"code","source":"print(1)","outputs":[{"output_type":"stream","text":["1\n"]},` +
	`{"data":{"image/png":"iVBORw0KGgo=","text/plain":"<Figure>"}}]},{"cell_type":"raw","source":"  "}],"nbformat":4}`

const rich = `{\rtf1\ansi\ansicpg1251{\fonttbl{\f0\fcharset0 Times;}{\f1\fcharset204 Arial;}}{\stylesheet{\s1 heading 2;}{\*\cs2 x;}}{\info{\title A plan}{\author Ann}}{\*\generator junk;}` +
	`\pard\s1 Part\par\pard\f0 caf\'e9 \f1\'cf\'f0\'e8{\footnote Except in August.} \u8364?5{\field{\*\fldinst HYPERLINK "x"}{\fldrslt link}}{\pict\bin5 }}}}}abc}\line so\u173?ft\par` +
	`\trowd\pard\intbl a\cell b\cell\row\trowd\intbl c\cell d\cell\row\pard end\par}`

// TestMoreFormats holds what becomes of a file of each format.
func TestMoreFormats(t *testing.T) {
	for _, c := range []struct{ name, text, title, want string }{
		{"a.pptx", string(zipped(t, presentation)), "Trains", "h1 0-0 \"Trains\"\ntext 0-0 \"one\\ntwo\"\ntext 0-0 \"Notes: Say hello.\"\ntable 0-0 \"x | 1\\nx | 2\"\n"},
		{"a.xlsx", string(zipped(t, sheets)), "Prices", "rows 1-4 \"City | Day | Fee\\nOslo | 2026-11-29 | 0.3 |  | true\\n | 2026-11-29 12:00:00 | 7\"\n"},
		{"a.odt", string(zipped(t, odt)), "Plan", "h2 0-0 \"Part\"\ntext 0-0 \"Due  monthly[1].\\n[1] Except in August.\"\ntext 0-0 \"- one\\n- two\"\ntable 0-0 \"x | 1\\nx | 2\"\n"},
		{"a.epub", string(zipped(t, book)), "A Book", "h1 0-0 \"One\"\ntext 0-0 \"First.\"\nh1 0-0 \"Two\"\ntext 0-0 \"Second.\"\n"},
		{"a.rtf", rich, "A plan", "h2 0-0 \"Part\"\ntext 0-0 \"café При[1] €5link\\nsoft\\n[1] Except in August.\"\ntable 0-0 \"a | b\\nc | d\"\ntext 0-0 \"end\"\n"},
		{
			"a.eml", letter, "Größe",
			"h1 0-0 \"Größe\"\ntext 0-0 \"From: Ann <ann@example.com>\\nTo: Bob <bob@example.com>\\nDate: Sun, 29 Nov 2026 10:00:00 +0100\"\ntext 0-0 \"Привет\"\nh3 0-0 \"list.csv\"\nrows 0-0 \"a | b\\n1 | 2\"\nh3 0-0 \"Inner\"\ntext 0-0 \"inner text\"\n",
		},
		{"a.ipynb", jupyter, "Study", "h1 0-0 \"Study\"\ntext 0-0 \"Some *text*.\"\ncode 0-0 \"```python\\nprint(1)\\n```\"\ncode 0-0 \"```output\\n1\\n<Figure>\\n```\"\n"},
		{
			"a.rst", "=====\nGuide\n=====\n\n.. comment\n   of two lines\n\nUse it::\n\n  x = 1\n\n  y = 2\n\nPart\n----\n\n.. code-block:: go\n\n   package a\n\n.. note:: Mind it.\n\n==  ==\na   b\n==  ==\n1   2\n==  ==\n", "Guide",
			"h1 1-3 \"Guide\"\ntext 8-8 \"Use it::\"\ncode 10-12 \"  x = 1\\n\\n  y = 2\"\nh2 14-15 \"Part\"\ncode 17-19 \".. code-block:: go\\n\\n   package a\"\ntext 21-21 \".. note:: Mind it.\"\n" +
				"table 23-27 \"==  ==\\na   b\\n==  ==\\n1   2\\n==  ==\"\n",
		},
		{
			"a.adoc", "= Guide\n:author: Ann\n\nText\nmore.\n\n// comment\n== Part\n[source,go]\n----\npackage a\n\n== no heading\n----\n|===\n|a |b\n|===\ninclude::x[]\n", "Guide",
			"h1 1-1 \"Guide\"\ntext 4-5 \"Text\\nmore.\"\nh2 8-8 \"Part\"\ncode 10-14 \"----\\npackage a\\n\\n== no heading\\n----\"\ntable 15-17 \"|===\\n|a |b\\n|===\"\n",
		},
		{
			"a.tex", "\\documentclass{article}\n\\title{A \\emph{plan}}\n\\begin{document}\n\\maketitle\n\\section*[s]{Caf\\'{e} -- one}\\label{x}\nCosts 5\\,\\% of $a_1^2$ for \\textbf{M\\\"uller}. % comment\n\n" +
				"\\begin{verbatim}\n\\section{no}\n\\end{verbatim}\n\\begin{itemize}\n\\item one\n\\item two\n\\end{itemize}\n\n\\begin{tabular}{ll}\na & b \\\\\nc & d\n\\end{tabular}\n\\end{document}\njunk", "A plan",
			"h2 5-5 \"Café – one\"\ntext 6-6 \"Costs 5 % of $a_1^2$ for Müller.\"\ncode 9-9 \"\\\\section{no}\"\ntext 11-14 \"- one\\n- two\"\ntable 16-18 \"a | b\\nc | d\"\n",
		},
		{
			"b.tex", "\\section{One}\\subsection*{Two} some \\emph{text} at 5\\% \\section{Three} end % \\section{no}\n\\part{Four}\\section{", "One",
			"h2 1-1 \"One\"\nh3 1-1 \"Two\"\ntext 1-1 \"some text at 5%\"\nh2 1-1 \"Three\"\ntext 1-1 \"end\"\nh1 2-2 \"Four\"\n",
		},
		{
			"go.1", ".\\\" comment\n.ie \\n(.g .ds Aq x\n.el \\{\\\n.  ds Aq y\n.\\}\n.de Sp\n.nothing\n..\n.TH GO 1 2026 Tools\n.SH NAME\ngo \\- it \\fBruns\\fP caf\\('e\n.SH\n\"OPTIONS\" \\&...\n.TP\n.BR \\-v \", \" \\-\\-verbose\nSay \\(lqmore\\(rq. \\\" no\n" +
				".nf\n  a \\e b\n\n  c\n.fi\n.TS\nl l.\na\tb\n_\nc\td\n.TE\n.PP\nend\\s-2 of\\s0 \\f[BI]all\\fR \\h'2n'\\[u20AC]5\n", "GO(1)",
			"h1 10-10 \"NAME\"\ntext 11-11 \"go - it runs café\"\nh1 13-13 \"\\\"OPTIONS\\\" ...\"\ntext 15-16 \"-v, --verbose\\nSay “more”.\"\ncode 18-20 \"  a \\\\ b\\n\\n  c\"\n" +
				"text 24-26 \"a | b\\nc | d\"\ntext 29-29 \"end of all €5\"\n",
		},
		{
			"c.8", ".TH C 8\n.if \\n[.g] \\{\\\n.  am URL\n.    ad l\n.  .\n.\\}\n.SH A\none\n.de X\nlost\n.SH B\ntwo\n", "C(8)",
			"h1 7-7 \"A\"\ntext 8-10 \"one\"\nh1 11-11 \"B\"\ntext 12-12 \"two\"\n",
		},
		{"app.log.1", "... and so on\n.hidden\n", "", "text 1-2 \"... and so on\\n.hidden\"\n"},
		{
			"w.1", ".TH W 1\n.SH A\n.BR" + strings.Repeat(" a", 100) + " z\n", "W(1)",
			"h1 2-2 \"A\"\ntext 3-3 \"" + strings.Repeat("a", 100) + "z\"\n",
		},
		{
			"b.3bsd", ".Dd May 1, 2026\n.Dt OPEN 2\n.Os\n.Sh SYNOPSIS\n.Nm open\n.Op Fl v\n.Op Fl o Ar file\n.Ss Flags\n.Bl -tag\n.It Fl x , Fl y\nThe\n.Nm\nutility, see\n.Xr read 2 .\n.El\n", "OPEN(2)",
			"h1 4-4 \"SYNOPSIS\"\ntext 5-7 \"open\\n[-v]\\n[-o file]\"\nh2 8-8 \"Flags\"\ntext 10-14 \"-x, -y\\nThe\\nopen\\nutility, see\\nread 2.\"\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) { holds(t, c.name, c.text, c.title, c.want) })
	}
}

// TestHostileFormats holds that what unfolds, nests or repeats is refused or cut, and soon.
func TestHostileFormats(t *testing.T) {
	nest := func(open string, n int) string { return strings.Repeat(open, n) }
	mails := "Subject: x\n\ninnermost"
	for i := range 50 {
		mails = fmt.Sprintf("Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\nContent-Type: message/rfc822\n\n%s\n--b%d--\n", i, i, mails, i)
	}
	many := "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\nContent-Type: text/plain\n\nx\n", 5000) + "--b--\n"
	entity := `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><office:document-content><text:p>&b;&b;</text:p></office:document-content>`
	bomb := strings.Repeat("a", 34<<20)
	for _, c := range []struct {
		name string
		data []byte
		want []error // one of these; nil if it is read
	}{
		{"bomb.odt", zipped(t, map[string]string{"content.xml": "<a><text:p>" + bomb + "</text:p></a>"}), []error{ErrTooLarge, meter.ErrCostly}},
		{"entities.odt", zipped(t, map[string]string{"content.xml": entity}), []error{ErrDamaged, nil}},
		{"deep.odt", zipped(t, map[string]string{"content.xml": nest("<text:p>", 100_000)}), []error{ErrDamaged}},
		{"tables.odt", zipped(t, map[string]string{"content.xml": nest("<table:table><table:table-row><table:table-cell>", 150)}), []error{ErrDamaged}},
		{"bomb.epub", zipped(t, map[string]string{"META-INF/container.xml": book["META-INF/container.xml"], "OEBPS/a.opf": book["OEBPS/a.opf"], "OEBPS/a.xhtml": bomb}), []error{ErrTooLarge, meter.ErrCostly}},
		{"strings.xlsx", zipped(t, map[string]string{"xl/workbook.xml": sheets["xl/workbook.xml"], "xl/sharedStrings.xml": "<sst>" + strings.Repeat("<si><t>aaaaaaaaaaaaaaaa</t></si>", 3<<20) + "</sst>"}), []error{meter.ErrCostly}},
		{"wide.xlsx", zipped(t, map[string]string{
			"xl/workbook.xml": sheets["xl/workbook.xml"], "xl/_rels/workbook.xml.rels": sheets["xl/_rels/workbook.xml.rels"],
			"xl/worksheets/sheet1.xml": "<worksheet><sheetData>" + strings.Repeat(`<row><c r="XFD1"><v>1</v></c></row>`, 20_000) + "</sheetData></worksheet>",
		}), []error{nil}},
		{"deep.rtf", []byte(`{\rtf1` + nest("{", 100_000)), []error{ErrDamaged}},
		{"cells.rtf", []byte(`{\rtf1` + nest(`\cell`, 100_000)), []error{nil, ErrNoText, ErrTooLarge}},
		{"mails.eml", []byte(mails), []error{nil, ErrNoText}},
		{"parts.eml", []byte(many), []error{nil}},
		{"deep.ipynb", []byte(`{"cells":[{"source":` + nest("[", 200_000)), []error{ErrDamaged}},
		{"same.tex", []byte(`\begin{document}` + nest(`\section{`, 20_000)), []error{nil}},
		{"lines.rst", []byte(nest("=\n", 100_000) + nest("a::\n\n", 50_000)), []error{nil}},
		{"open.adoc", []byte(nest("----\n|===\n", 100_001)), []error{nil}},
		{"open.man", []byte(nest(".nf\n.TS\n.if x \\{\n.SH\n\\*[\\f(\n", 50_001)), []error{nil, ErrNoText}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(t, c.name, c.data, Limits{})
			for _, want := range c.want {
				if want == nil && err == nil || want != nil && errors.Is(err, want) {
					return
				}
			}
			t.Errorf("error %v, want one of %v", err, c.want)
		})
	}
}

// TestAttachments holds that forty attachments are read, and that one that cannot be is told.
func TestAttachments(t *testing.T) {
	var b strings.Builder
	b.WriteString("Subject: Many\nContent-Type: multipart/mixed; boundary=b\n\n")
	for i := range 40 {
		fmt.Fprintf(&b, "--b\nContent-Type: application/x; name=f%02d.md\nContent-Disposition: attachment; filename=f%02d.md\nContent-Transfer-Encoding: base64\n\n%s\n", i, i,
			base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "# Head %d\n\ntext %d", i, i)))
	}
	b.WriteString("--b\nContent-Disposition: attachment; filename=bad.docx\n\nno zip\n--b--\n")
	docs, err := read(t, "a.eml", []byte(b.String()), Limits{})
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, error %v", len(docs), err)
	}
	if got := show(docs[0]); strings.Count(got, "text ") != 80 || !strings.Contains(got, `"f39.md"`) || !strings.Contains(got, `"text 39"`) {
		t.Errorf("blocks: %s", got)
	}
	if w := docs[0].Warnings; len(w) != 1 || !strings.Contains(w[0], `"bad.docx" is left out: damaged`) {
		t.Errorf("warnings %q", w)
	}
}

// TestFarRow holds that a number that no sheet has is no line: no index would take it.
func TestFarRow(t *testing.T) {
	docs, err := read(t, "a.xlsx", zipped(t, map[string]string{
		"xl/workbook.xml": sheets["xl/workbook.xml"], "xl/_rels/workbook.xml.rels": sheets["xl/_rels/workbook.xml.rels"],
		"xl/worksheets/sheet1.xml": `<worksheet><sheetData><row r="99999999999"><c><v>5</v></c></row></sheetData></worksheet>`,
	}), Limits{})
	if err != nil || len(docs) == 0 || len(docs[0].Blocks) == 0 || docs[0].Blocks[0].Lines.To != 1 {
		t.Errorf("documents %+v, error %v, want row 1", docs, err)
	}
}

// TestManyParts holds that a mail of too many parts gets one warning.
func TestManyParts(t *testing.T) {
	mail := "Subject: Many\nContent-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n\nx\n", 20_000) + "--b--\n"
	docs, err := read(t, "a.eml", []byte(mail), Limits{})
	if err != nil || len(docs) != 1 || len(docs[0].Warnings) != 1 {
		t.Errorf("%d documents, error %v, want one with one warning", len(docs), err)
	}
}

// TestNotebookPictures holds that pictures of 50 MB cost no memory.
func TestNotebookPictures(t *testing.T) {
	picture := strings.Repeat("A", 10<<20)
	var b strings.Builder
	b.WriteString(`{"cells":[`)
	for range 5 {
		b.WriteString(`{"cell_type":"code","source":"plot()","outputs":[{"data":{"image/png":"` + picture + `"}}]},`)
	}
	b.WriteString(`{"cell_type":"markdown","source":"end"}]}`)
	m := Limits{}.Meter(t.Context(), b.Len())
	n := 0
	err := Parse(m, File{Name: "a.ipynb"}, []byte(b.String()), Limits{}, func(d Document) error { n = len(d.Blocks); return nil })
	if err != nil || n != 6 || m.Peak()-b.Len() > 1<<20 {
		t.Errorf("%d blocks, error %v, memory %d besides the file", n, err, m.Peak()-b.Len())
	}
}

// TestManyRows holds that a sheet needs no memory for the rows that are done.
func TestManyRows(t *testing.T) {
	rows := 200_000
	if testing.Short() {
		rows = 20_000
	}
	parts := map[string]string{"xl/workbook.xml": sheets["xl/workbook.xml"], "xl/_rels/workbook.xml.rels": sheets["xl/_rels/workbook.xml.rels"]}
	var b strings.Builder
	b.WriteString("<worksheet><sheetData>")
	for i := range rows {
		fmt.Fprintf(&b, `<row r="%d"><c r="A%d"><v>%d</v></c><c r="B%d" t="inlineStr"><is><t>a value of row %d</t></is></c></row>`, i+1, i+1, i, i+1, i)
	}
	b.WriteString("</sheetData></worksheet>")
	parts["xl/worksheets/sheet1.xml"] = b.String()
	data := zipped(t, parts)
	m := Limits{}.Meter(t.Context(), len(data))
	seen, last := map[string]bool{}, 0
	err := Parse(m, File{Name: "a.xlsx"}, data, Limits{}, func(d Document) error {
		seen[d.Record] = true
		last = d.Blocks[0].Lines.To
		return nil
	})
	if err != nil || last != rows || m.Peak() > len(data)+32<<20 || rows == 200_000 && (len(seen) != 2 || !seen["Prices"] || !seen["Prices 2"]) {
		t.Errorf("rows to %d, records %v, error %v, memory %d for %d bytes", last, seen, err, m.Peak(), len(data))
	}
}

func FuzzMoreFormats(f *testing.F) {
	for _, parts := range []map[string]string{presentation, sheets, odt, book} {
		for name, text := range parts {
			f.Add(uint8(0), name, []byte(text))
		}
	}
	f.Add(uint8(0), "word/document.xml", []byte(wordDocument))
	f.Add(uint8(0), "word/numbering.xml", []byte(numbering))
	for i, text := range []string{rich, letter, jupyter, "==\nA\n==\n\nx::\n\n  y\n", "= A\n----\nx\n----\n", "\\begin{document}\\section{A}\\'{e} & \\\\ $x$"} {
		f.Add(uint8(i+1), "", []byte(text))
	}
	f.Fuzz(func(t *testing.T, kind uint8, part string, data []byte) {
		if kind == 0 { // a damaged part of each container
			for i, parts := range []map[string]string{presentation, sheets, odt, book, {"word/document.xml": wordDocument}} {
				if parts[part] != "" || i == 4 && (part == "word/document.xml" || part == "word/numbering.xml") {
					changed := map[string]string{part: string(data)}
					for name, text := range parts {
						if name != part {
							changed[name] = text
						}
					}
					fuzzed(t, []string{"a.pptx", "a.xlsx", "a.odt", "a.epub", "a.docx"}[i], zipped(t, changed))
				}
			}
			return
		}
		names := []string{"a.rtf", "a.eml", "a.ipynb", "a.rst", "a.adoc", "a.tex", "a.man"}
		fuzzed(t, names[int(kind)%len(names)], data)
	})
}

// fuzzed reads a file of a format, and judges what comes of it.
func fuzzed(t *testing.T, name string, data []byte) {
	l := Limits{Text: 1 << 20}
	m := l.Meter(t.Context(), len(data))
	err := Parse(m, File{Name: name, Format: FormatOf(name, nil)}, data, l, func(d Document) error {
		for _, b := range d.Blocks {
			if strings.TrimSpace(b.Text) == "" || b.Lines.From > b.Lines.To || b.Kind == Heading && (b.Level < 1 || b.Level > 9) {
				t.Errorf("%s: block %+v", name, b)
			}
			if n := strings.Count(b.Text, "\n"); b.Exact && b.Kind != Rows && b.Lines.To-b.Lines.From != n {
				t.Errorf("%s: lines %+v of a text with %d line ends: %q", name, b.Lines, n, b.Text)
			}
		}
		return nil
	})
	if err != nil && strings.Contains(err.Error(), "parser failed") {
		t.Fatal(name, err)
	}
}
