package parse

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

const numbering = `<w:numbering><w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1%2)"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="8"><w:lvl w:ilvl="0"><w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="9"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num><w:num w:numId="3"><w:abstractNumId w:val="9"/></w:num>
<w:num w:numId="4"><w:abstractNumId w:val="7"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num></w:numbering>`

func item(num, level, text string) string {
	return `<w:p><w:pPr><w:numPr><w:ilvl w:val="` + level + `"/><w:numId w:val="` + num + `"/></w:numPr></w:pPr><w:r><w:t>` + text + `</w:t></w:r></w:p>`
}

func par(text string) string { return "<w:p><w:r><w:t>" + text + "</w:t></w:r></w:p>" }

func tc(props, text string) string {
	return "<w:tc><w:tcPr>" + props + "</w:tcPr>" + par(text) + "</w:tc>"
}

// TestWord holds what becomes of the parts of a Word document.
func TestWord(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"text box once": {
			`<w:p><w:r><w:t>Before </w:t></w:r><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>` + par("Boxed words") + `</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>` +
				par("Boxed words") + `</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r><w:r><w:t>after</w:t></w:r></w:p>`,
			"text 0-0 \"Boxed words\"\ntext 0-0 \"Before after\"\n",
		},
		"notes": {
			`<w:p><w:r><w:t>The fee is due monthly</w:t><w:footnoteReference w:id="2"/><w:t>.</w:t><w:endnoteReference w:id="2"/><w:commentReference w:id="0"/></w:r></w:p>`,
			"text 0-0 \"The fee is due monthly[1].[2]\\n[1] Except in August.\\n[2] At the end.\\nComment: Ann: Why?\"\n",
		},
		"numbers": {
			item("1", "0", "one") + item("1", "1", "first") + item("1", "1", "second") + item("1", "0", "two") + item("1", "1", "again") + item("3", "0", "dot") + item("2", "0", "Roman") +
				item("4", "0", "five") + par("end"),
			"text 0-0 \"1. one\\n1a) first\\n1b) second\\n2. two\\n2a) again\\n- dot\\nI Roman\\n5. five\"\ntext 0-0 \"end\"\n",
		},
		"style of another language": {
			`<w:p><w:pPr><w:pStyle w:val="berschrift2"/></w:pPr><w:r><w:t>Reise</w:t></w:r></w:p><w:p><w:pPr><w:pStyle w:val="Klausel"/></w:pPr><w:r><w:t>Zahlung</w:t></w:r></w:p>`,
			"h2 0-0 \"Reise\"\nh1 0-0 \"1. Zahlung\"\n",
		},
		"bold paragraphs": {
			`<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>Who pays?</w:t></w:r></w:p><w:p><w:pPr><w:rPr><w:b/></w:rPr></w:pPr><w:r><w:rPr><w:b w:val="0"/></w:rPr><w:t>All</w:t></w:r></w:p><w:p><w:r><w:rPr><w:b/></w:rPr><w:t>Fee:</w:t></w:r><w:r><w:t> 5</w:t></w:r></w:p>`,
			"h6 0-0 \"Who pays?\"\ntext 0-0 \"All\"\ntext 0-0 \"Fee: 5\"\n",
		},
		"merged cells": {
			"<w:tbl><w:tr>" + tc(`<w:gridSpan w:val="2"/>`, "Stage") + tc("", "Who") + "</w:tr><w:tr>" + tc(`<w:vMerge w:val="restart"/>`, "Test") + tc("", "1") + tc("", "A") + "</w:tr><w:tr>" +
				tc("<w:vMerge/>", "") + tc("", "2") + tc("", "B") + "</w:tr><w:tr>" + tc("", "") + tc("", "3") + tc("", "C") + "</w:tr></w:tbl>",
			"table 0-0 \"Stage | Stage | Who\\nTest | 1 | A\\nTest | 2 | B\\n| 3 | C\"\n",
		},
		"nested table": {
			"<w:tbl><w:tr>" + tc("", "Out") + "<w:tc>" + par("in:") + "<w:tbl><w:tr>" + tc("", "a") + tc("", "b") + "</w:tr><w:tr>" + tc("", "c") + tc("", "d") + "</w:tr></w:tbl>" + par("") + "</w:tc></w:tr><w:tr>" +
				tc("", "next") + "</w:tr></w:tbl>",
			"table 0-0 \"Out | in: a, b; c, d\\nnext\"\n",
		},
		"changes": {
			`<w:p><w:r><w:t>Price </w:t></w:r><w:del><w:r><w:delText>100</w:delText></w:r></w:del><w:ins><w:r><w:t>200</w:t></w:r></w:ins><w:moveFrom><w:r><w:t> gone</w:t></w:r></w:moveFrom><w:r><w:t> euro so\u00adft</w:t></w:r></w:p>`,
			"text 0-0 \"Price 200 euro soft\"\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := read(t, "a.docx", zipped(t, map[string]string{
				"word/document.xml": "<w:document><w:body>" + strings.ReplaceAll(c.body, `\u00ad`, "\u00ad") + "</w:body></w:document>", "word/numbering.xml": numbering,
				"word/styles.xml": `<w:styles><w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>` +
					`<w:style w:styleId="Klausel"><w:name w:val="Klausel"/><w:basedOn w:val="berschrift1"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style></w:styles>`,
				"word/footnotes.xml": `<w:footnotes><w:footnote w:id="2">` + par("Except in August.") + `</w:footnote></w:footnotes>`,
				"word/endnotes.xml":  `<w:endnotes><w:endnote w:id="2">` + par("At the end.") + `</w:endnote></w:endnotes>`,
				"word/comments.xml":  `<w:comments><w:comment w:id="0" w:author="Ann">` + par("Why?") + `</w:comment></w:comments>`,
			}), Limits{})
			if err != nil || len(docs) != 1 {
				t.Fatalf("%d documents, error %v", len(docs), err)
			}
			if got := show(docs[0]); got != c.want {
				t.Errorf("blocks:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// TestMergedCells gives each row and column of merged cells their value, but a title over all columns once.
func TestMergedCells(t *testing.T) {
	row := func(n int, cells ...string) string {
		b := fmt.Sprintf(`<row r="%d">`, n)
		for i := 0; i < len(cells); i += 2 {
			b += fmt.Sprintf(`<c r="%s%d" t="str"><v>%s</v></c>`, cells[i], n, cells[i+1])
		}
		return b + "</row>"
	}
	book := map[string]string{"xl/workbook.xml": sheets["xl/workbook.xml"], "xl/_rels/workbook.xml.rels": sheets["xl/_rels/workbook.xml.rels"]}
	book["xl/worksheets/sheet1.xml"] = `<worksheet><sheetData>` + row(1, "A", "Prices of mergeCells") + row(2, "A", "Stage", "B", "When") + row(3, "A", "Test", "B", "1", "C", "2") + row(4, "B", "3", "C", "4") +
		row(6, "C", "5") + row(7, "D", "6") + row(8) + `</sheetData><mergeCells count="6"><mergeCell ref="A1:C1"/><mergeCell ref="B2:C2"/><mergeCell ref="A3:A6"/><mergeCell ref='B6:B7'/><mergeCell ref="A7:B9"/><mergeCell ref="ZZZ1:AAA2"/></mergeCells></worksheet>`
	docs, err := read(t, "a.xlsx", zipped(t, book), Limits{})
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, error %v", len(docs), err)
	}
	const want = "rows 1-7 \"Prices of mergeCells\\nStage | When | When\\nTest | 1 | 2\\nTest | 3 | 4\\nTest |  | 5\\n |  |  | 6\"\n"
	if got := show(docs[0]); got != want {
		t.Errorf("blocks:\n%s\nwant:\n%s", got, want)
	}
}

// TestRepeatedValues holds that a long value that goes on in many rows does not multiply.
func TestRepeatedValues(t *testing.T) {
	rows := strings.Repeat("<w:tr>"+tc("<w:vMerge/>", "")+tc("", "x")+"</w:tr>", 50_000)
	table := "<w:tbl><w:tr>" + tc(`<w:vMerge w:val="restart"/>`, strings.Repeat("long ", 20_000)) + "</w:tr>" + rows + "</w:tbl>"
	_, err := read(t, "a.docx", zipped(t, map[string]string{"word/document.xml": table}), Limits{})
	if !errors.Is(err, ErrTooLarge) && !errors.Is(err, meter.ErrCostly) {
		t.Errorf("error %v", err)
	}
	var merged, cells strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&cells, `<row r="%d"><c r="A%d" t="str"><v>x</v></c></row>`, i+1, i+1)
		fmt.Fprintf(&merged, `<mergeCell ref="A%d:IV1000000"/>`, i+1)
	}
	_, err = read(t, "a.xlsx", zipped(t, map[string]string{
		"xl/workbook.xml": sheets["xl/workbook.xml"], "xl/_rels/workbook.xml.rels": sheets["xl/_rels/workbook.xml.rels"],
		"xl/worksheets/sheet1.xml": "<worksheet><sheetData>" + cells.String() + "</sheetData><mergeCells>" + merged.String() + "</mergeCells></worksheet>",
	}), Limits{})
	if !errors.Is(err, ErrTooLarge) && !errors.Is(err, meter.ErrCostly) {
		t.Errorf("merged cells: error %v", err)
	}
	page := "<table><tr><td rowspan=999>" + strings.Repeat("long ", 20_000) + "<td>x" + strings.Repeat("<tr><td>x", 50_000)
	if _, err = read(t, "a.html", []byte(page), Limits{}); !errors.Is(err, ErrTooLarge) && !errors.Is(err, meter.ErrCostly) {
		t.Errorf("error %v", err)
	}
}
