// Package hostile makes files and requests that try to cost much more than their size says. It is
// for tests and tools only.
package hostile

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"fmt"
	"slices"
	"strings"
)

// Document is a kind of file. The format is the ending of the name.
type Document struct {
	Name string
	// Make makes a file of about n times something small. Some kinds end earlier, where readers
	// refuse more.
	Make func(n int) string
}

// Named returns the kind of that name. It panics if there is none.
func Named(name string) Document {
	i := slices.IndexFunc(Documents, func(d Document) bool { return d.Name == name })
	return Documents[i]
}

func rep(head, s, tail string) func(int) string {
	return func(n int) string { return head + strings.Repeat(s, n) + tail }
}

// count repeats a format with a number.
func count(head, format, tail string) func(int) string {
	return func(n int) string {
		var b strings.Builder
		b.WriteString(head)
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String() + tail
	}
}

func deflate(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(s)) // into memory
	_ = w.Close()
	return b.String()
}

func pdf(objects ...string) string {
	var b strings.Builder
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	return b.String() + "trailer\n<< /Root 1 0 R >>\nstartxref\n0\n%%EOF\n"
}

func stream(s, entries string) string {
	z := deflate(s)
	return fmt.Sprintf("<< /Filter /FlateDecode /Length %d %s >>\nstream\n%s\nendstream", len(z), entries, z)
}

// shown is a PDF of one page. Objects from 5 on are given: 5 is the font F, 6 the form X.
func shown(content string, more ...string) string {
	return pdf(append([]string{
		"<< /Pages 2 0 R >>", "<< /Kids [3 0 R] >>",
		"<< /Type /Page /Contents 4 0 R /Resources << /Font << /F 5 0 R >> /XObject << /X 6 0 R >> >> >>", stream(content, ""),
	}, more...)...)
}

func pdfContent(content func(int) string, more ...string) func(int) string {
	return func(n int) string { return shown(content(n), more...) }
}

// pdfTable is a PDF whose font has a table from codes to texts.
func pdfTable(content string, table func(int) string) func(int) string {
	return func(n int) string {
		return shown(content, "<< /Subtype /Type0 /ToUnicode 7 0 R /DescendantFonts [8 0 R] >>", "<< >>", stream(table(n), ""), "<< /DW 1 >>")
	}
}

func pdfFont(font func(int) string) func(int) string {
	return func(n int) string {
		return shown("BT /F 9 Tf (ab) Tj ET", font(n), "<< >>", "<< /W 8 0 R >>", "[1]")
	}
}

func docx(parts ...string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		w, _ := z.Create(parts[i]) // into memory
		_, _ = w.Write([]byte(parts[i+1]))
	}
	_ = z.Close()
	return b.String()
}

func word(body func(int) string) func(int) string {
	return func(n int) string { return docx("word/document.xml", "<w:document>"+body(n)+"</w:document>") }
}

const show = "BT /F 9 Tf "

// Documents are all kinds.
var Documents = []Document{
	{"long mapping.pdf", func(n int) string {
		return pdfTable(show+"("+strings.Repeat("A", n)+") Tj", rep("1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfchar <41> <", "0041", "> endbfchar"))(n)
	}},
	{"wide ranges.pdf", pdfTable(show+"<0041> Tj", rep("beginbfrange ", "<0000> <ffff> <0041> ", "endbfrange"))},
	{"ranges of long texts.pdf", pdfTable(show+"<0041> Tj", rep("beginbfrange ", "<0000> <00f0> <"+strings.Repeat("0041", 250)+"> endbfrange ", ""))},
	{"codes.pdf", pdfTable(show+"<0041> Tj", count("", "beginbfchar <%08x> <0041> endbfchar ", ""))},
	{"codes of long texts.pdf", pdfTable(show+"<0041> Tj", count("", "beginbfchar <%04x> <"+strings.Repeat("0041", 250)+"> endbfchar ", ""))},
	{"ranges of lists.pdf", pdfTable(show+"<0041> Tj", rep("beginbfrange <0000> <ffff> [", "<0041> ", "] endbfrange"))},
	{"arguments of a table.pdf", pdfTable("", rep("", "<41> ", ""))},
	{"differences.pdf", pdfFont(rep("<< /Encoding << /Differences [", "/a ", "] >> >>"))},
	{"widths.pdf", pdfFont(rep("<< /FirstChar 0 /Widths [", "1 ", "] >>"))},
	{"wide widths.pdf", pdfFont(rep("<< /Subtype /Type0 /DescendantFonts [<< /W [", "0 65535 1 ", "] >>] >>"))},
	{"listed widths.pdf", pdfFont(rep("<< /Subtype /Type0 /DescendantFonts [<< /W [0 [", "1 ", "]] >>] >>"))},
	{"widths from afar.pdf", pdfFont(rep("<< /Subtype /Type0 /DescendantFonts [<< /W [", "-1e300 5 1 ", "] >>] >>"))},
	{"fonts in place.pdf", func(n int) string {
		return pdf("<< /Pages 2 0 R >>", "<< /Kids [3 0 R] >>", "<< /Contents 4 0 R /Resources << /Font << /F << /Encoding << /Differences ["+strings.Repeat("/a ", n)+"] >> >> >> >> >>",
			stream(strings.Repeat("/F 1 Tf ", n), ""))
	}},
	{"fonts.pdf", func(n int) string {
		return pdf("<< /Pages 2 0 R >>", "<< /Kids [3 0 R] >>", "<< /Contents 4 0 R /Resources << /Font << "+count("", "/F%d << /Widths 5 0 R >> ", "")(n)+" >> >> >>",
			stream(count("", "/F%d 1 Tf (a) Tj ", "")(n), ""), "["+strings.Repeat("1 ", n)+"]")
	}},
	{"a bomb.pdf", pdfContent(rep("", strings.Repeat(" ", 1000), ""))},
	{"bombs in each other.pdf", func(n int) string {
		return pdf("<< /Pages 2 0 R >>", "<< /Kids [3 0 R] >>", "<< /Contents 4 0 R >>",
			"<< /Filter [/FlateDecode /FlateDecode /FlateDecode] >>\nstream\n"+deflate(deflate(deflate(strings.Repeat(" ", 1000*n))))+"\nendstream")
	}},
	{"hex and 85.pdf", func(n int) string {
		return pdf("<< /Pages 2 0 R >>", "<< /Kids [3 0 R] >>", "<< /Contents [4 0 R 5 0 R] >>", "<< /Filter /AHx >>\nstream\n"+strings.Repeat("20", n)+">\nendstream", "<< /Filter /A85 >>\nstream\n"+strings.Repeat("z", n)+"~>\nendstream")
	}},
	{"one stream again and again.pdf", func(n int) string {
		return pdf("<< /Pages 2 0 R >>", "<< /Kids [3 0 R] >>", "<< /Contents ["+strings.Repeat("4 0 R ", n)+"] >>", stream(strings.Repeat("q ", 10_000), ""))
	}},
	{"one page again and again.pdf", func(n int) string {
		return pdf("<< /Pages 2 0 R >>", "<< /Kids ["+strings.Repeat("<< /Contents 3 0 R >> ", n)+"] >>", stream(strings.Repeat("q ", 10_000), ""))
	}},
	{"forms in each other.pdf", func(n int) string {
		return shown(strings.Repeat("/X Do ", n), "<< >>", stream(strings.Repeat("/X Do ", n), "/Subtype /Form"))
	}},
	{"lists.pdf", pdfContent(rep("[", "1 ", "] TJ"))},
	{"lists in lists.pdf", pdfContent(rep("", strings.Repeat("[", 60)+strings.Repeat("]", 60), ""))},
	{"dictionaries.pdf", pdfContent(rep("[", "<</a 1>> ", "]"))},
	{"a dictionary.pdf", pdfContent(count("<<", "/%x 1", ">>"))},
	{"names.pdf", pdfContent(rep("[", "/#41 ", "]"))},
	{"a long name.pdf", pdfContent(rep("/", "#41", ""))},
	{"texts.pdf", pdfContent(rep("[", "()", "]"))},
	{"a long text.pdf", pdfContent(rep("(\\n", "word ", ") Tj"))},
	{"texts that open.pdf", pdfContent(rep("", "(", ""))},
	{"hex texts.pdf", pdfContent(rep("[", "<4>", "]"))},
	{"words.pdf", pdfContent(rep("", "a b ", ""))},
	{"a long number.pdf", pdfContent(rep("", "1", ""))},
	{"places.pdf", pdfContent(rep(show, "1 0 0 1 5 7 Tm (a) Tj ", ""), "<< >>")},
	{"no text at many places.pdf", pdfContent(rep(show, "0 99 Td () Tj ", ""), "<< >>")},
	{"images.pdf", pdfContent(rep("", "BI ID ", ""))},
	{"deep.pdf", pdfContent(rep("", "<<[", ""))},
	{"objects.pdf", count("%PDF-1.7\n", "%d 0 obj<</a 1>>endobj ", "startxref")},
	{"short objects.pdf", count("%PDF-1.7\n", "%d 0 obj 1 ", "startxref")},
	{"streams.pdf", rep("%PDF-1.7\n", "1 0 obj<<>>stream ", "startxref")},
	{"streams that are none.pdf", rep("%PDF-1.7\n", "1 0 obj 1 stream ", "startxref")},
	{"comments.pdf", rep("%PDF-1.7\n", "1 0 obj<<>>%", "startxref")},
	{"trailers.pdf", rep("%PDF-1.7\n", "trailer(", "startxref")},
	{"trailers of dictionaries.pdf", rep("%PDF-1.7\n", "trailer<</a 1/b ", "startxref")},
	{"a stream of objects.pdf", func(n int) string {
		list := count("", "%d 0 ", "")(n)
		return pdf("<< /Pages 2 0 R >>", "<< /Kids [] >>", stream(list+"<</a 1>>", fmt.Sprintf("/Type /ObjStm /N %d /First %d", n, len(list))))
	}},
	{"one large object of many numbers.pdf", func(n int) string {
		list := count("", "%d 0 ", "")(n)
		return pdf("<< /Pages 2 0 R >>", "<< /Kids ["+count("", "%d 0 R ", "")(n)+"] >>", stream(list+"<</a ["+strings.Repeat("1 ", n)+"]>>", fmt.Sprintf("/Type /ObjStm /N %d /First %d", n, len(list))))
	}},
	{"nodes that share their pages.pdf", func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%d 0 obj<</Kids 3 0 R>>\n", i+4)
		}
		return pdf("<< /Pages 2 0 R >>", "<< /Kids 3 0 R >>", "["+count("", "%d 0 R ", "")(n)+"]") + b.String() + "startxref"
	}},
	{"pages in a circle.pdf", rep("%PDF-1.7\n1 0 obj<</Pages 2 0 R>>2 0 obj<</Kids[", "2 0 R ", "]>>trailer<</Root 1 0 R>>startxref")},

	{"empty paragraphs.docx", word(rep("", "<w:p/>", ""))},
	{"attributes.docx", word(rep("<w:p ", "a='' ", "/>"))},
	{"many attributes.docx", word(rep("", "<w:p a='' b='' c='' d=''/>", ""))},
	{"text.docx", word(rep("<w:p><w:t>", "word ", "</w:t></w:p>"))},
	{"paragraphs.docx", word(rep("", "<w:p><w:t>a</w:t></w:p>", ""))},
	{"items.docx", word(rep("", "<w:p><w:numPr/><w:t>a</w:t></w:p>", ""))},
	{"cells.docx", word(rep("<w:tbl><w:tr>", "<w:tc/>", "</w:tr></w:tbl>"))},
	{"lines.docx", word(rep("<w:p>", "<w:br/>", "</w:p>"))},
	{"tables.docx", word(rep("", "<w:tbl><w:tr><w:tc><w:p><w:t>a</w:t></w:p></w:tc></w:tr></w:tbl>", ""))},
	{"elements in each other.docx", word(rep("", "<w:p>", ""))},
	{"a comment.docx", word(rep("<!--", "a ", "-->"))},
	{"an instruction.docx", word(rep("<?a ", "a=", "?>"))},
	{"a declaration.docx", word(rep("<!DOCTYPE a [", "<!ENTITY a 'b'>", "]>"))},
	{"references.docx", word(rep("<w:p><w:t>", "&lt;", "</w:t></w:p>"))},
	{"a long name.docx", word(rep("<", "abc:", ">"))},
	{"properties in each other.docx", func(n int) string {
		return docx("docProps/core.xml", strings.Repeat("<a>", n), "word/document.xml", "<w:p/>")
	}},
	{"properties.docx", func(n int) string {
		return docx("docProps/core.xml", "<title>"+strings.Repeat("a", n), "word/document.xml", "<w:p/>")
	}},
	{"parts.docx", func(n int) string {
		parts := make([]string, 0, 2*n)
		for range min(n, 2000) {
			parts = append(parts, "a", "")
		}
		return docx(parts...)
	}},

	{"lists.html", rep("", "<ul><li>", "x")},
	{"breaks.html", rep("x", "<br>", "")},
	{"blocks.html", rep("", "<p>x", "")},
	{"depth.html", rep("", "<div><b>", "x")},
	{"attributes.html", rep("<a ", "a=1 ", ">")},
	{"references.html", rep("", "&amp;", "")},
	{"cells.html", rep("<table><tr>", "<td>", "x")},
	{"tables.html", rep("", "<table><tr><td>x</table>", "")},
	{"words.html", rep("<p>", "a ", "")},
	{"code.html", rep("", "<pre>a\n\n", "")},
	{"titles.html", rep("", "<title>a</title><h1>b", "")},
	{"scripts.html", rep("", "<script>", "")},
	{"comments.html", rep("", "<!--a-->", "")},
	{"meta.html", rep("", "<meta name=date content=2020-01-01>", "")},

	{"fences.md", rep("", "```\n", "")},
	{"open fences.md", rep("", "```a\n~~~\n", "")},
	{"headings.md", rep("", "# a\n", "")},
	{"sections.md", rep("# a\n## b\n### c\n", "#### d\n\ne\n\n", "")},
	{"long headings.md", rep("# "+strings.Repeat("a", 256)+"\n## "+strings.Repeat("b", 256)+"\n", "### c\n\nd\n\n", "")},
	{"underlines.md", rep("", "a\n=\n", "")},
	{"paragraphs.md", rep("", "a\n\n", "")},
	{"tables.md", rep("", "a|b\n-|-\n", "")},
	{"a table.md", rep("a|b\n-|-\n", "c|d\n", "")},
	{"a wide table.md", func(n int) string { return strings.Repeat("a|", n) + "\n" + strings.Repeat("-|", n) + "\n" }},
	{"quotes.md", rep("", ">", "x")},
	{"brackets.md", rep("", "[", "")},
	{"the same key.md", func(n int) string { return "---\n" + strings.Repeat("a:\n", min(n, 20_000)) + "---\n# x\n" }},
	{"keys.md", func(n int) string { return "---\n" + count("", "a%d:\n", "")(min(n, 8000)) + "---\n# x\n" }},
	{"front matter in itself.md", func(n int) string { return "---\na: " + strings.Repeat("[", min(n, 60_000)) + "\n---\n# x\n" }},
	{"aliases.md", func(n int) string {
		return "---\na: &a [x]\nb: &b [" + strings.Repeat("*a,", min(n, 10_000)) + "]\nc: [" + strings.Repeat("*b,", min(n, 10_000)) + "]\n---\n# x\n"
	}},

	{"values.csv", rep("", "a,", "\n")},
	{"empty values.csv", rep("a;b\n", ";", "\n")},
	{"rows.csv", rep("", "a\n", "")},
	{"an open quote.csv", rep("a,b\n\"", "x\n", "")},
	{"quotes.csv", rep("", "\"\"\"\"", "")},
	{"rows below a header.csv", rep(strings.Repeat("header,", 100)+"\n", "a\n", "")},
	{"carriage returns.csv", rep("", "a,\r", "")},

	{"empty objects.jsonl", rep("", "{}\n", "")},
	{"numbers.jsonl", rep("", "1\n", "")},
	{"members.jsonl", count(`{"text":"x"`, `,"k%d":1`, "}")},
	{"the same member.jsonl", rep(`{"text":"x"`, `,"a":1`, "}")},
	{"depth.jsonl", rep(`{"text":`, "[", "")},
	{"paragraphs.jsonl", rep(`{"text":"`, `a\n\n`, `"}`)},
	{"a long list.jsonl", rep("[1", ",1", "]")},
	{"not JSON.jsonl", rep("", "x\n", "")},
	{"the same name.jsonl", rep("", `{"id":1,"text":"x"}`+"\n", "")},
	{"escapes.jsonl", rep(`{"text":"`, `\u0041`, `"}`)},

	{"paragraphs.txt", rep("", "a\n\n", "")},
	{"empty lines.txt", rep("a", "\n", "b")},
	{"words.txt", rep("", "a ", "")},
	{"sentences.txt", rep("", "A. ", "")},
	{"no sentences.txt", rep("", ".", "")},
	{"numbers.txt", rep("", "1.1)", "")},
	{"a word.txt", rep("", "a", "")},
	{"latin.txt", rep("", "\xe9 ", "")},
	{"wide.txt", rep("\xff\xfe", "a\x00", "")},
	{"marks.txt", rep("", "e\u0301", "")},
	{"old lines.txt", rep("", "a\r", "")},
	{"declarations.go", rep("", "a\n\n", "")},
	{"large declarations.go", rep("", "func a() {\n"+strings.Repeat("\tx\n", 600)+"}\n\n", "")},
	{"a line.go", rep("", "{", "")},
}
