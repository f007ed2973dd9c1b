package parse

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

func read(t *testing.T, name string, data []byte, l Limits) ([]Document, error) {
	t.Helper()
	var docs []Document
	err := Parse(account(t, name, data, l), File{Name: name}, data, l, func(d Document) error { docs = append(docs, d); return nil })
	return docs, err
}

func account(t testing.TB, name string, data []byte, l Limits) *meter.Meter {
	if FormatOf(name, data).Streams() {
		return StreamMeter(t.Context())
	}
	return l.Meter(t.Context(), len(data))
}

// show writes the blocks of a document, one after the other.
func show(d Document) string {
	var b strings.Builder
	for _, x := range d.Blocks {
		kind := [...]string{"text", "heading", "table", "rows", "code"}[x.Kind]
		if x.Kind == Heading {
			kind = fmt.Sprintf("h%d", x.Level)
		}
		fmt.Fprintf(&b, "%s %d-%d %q\n", kind, x.Lines.From, x.Lines.To, x.Text)
	}
	return b.String()
}

func zipped(t *testing.T, parts map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range parts {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const wordDocument = `<w:document><w:body><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Travel</w:t></w:r></w:p>
<w:p><w:r><w:t xml:space="preserve">Ann prefers </w:t></w:r><w:r><w:t>the night train.</w:t></w:r></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>City</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>Day</w:t></w:r></w:p></w:tc></w:tr>
<w:tr><w:tc><w:p><w:r><w:t>Oslo</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>Monday</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>`

func TestFormats(t *testing.T) {
	for _, c := range []struct{ name, text, title, want string }{
		{"a.txt", "one\ntwo\n\n\nthree\n", "", "text 1-2 \"one\\ntwo\"\ntext 5-5 \"three\"\n"},
		{"crlf.txt", "one\r\ntwo\r\n\r\nthree", "", "text 1-2 \"one\\ntwo\"\ntext 4-4 \"three\"\n"},
		{"latin.txt", "caf\xe9", "", "text 1-1 \"café\"\n"},
		{"utf16.txt", "\xff\xfeh\x00i\x00", "", "text 1-1 \"hi\"\n"},
		{
			"a.md", "---\ntitle: Guide\n---\n# Start\n\nHello\nworld.\n\n```go\n# no heading\n\nx\n```\nNext\n====\n| a | b |\n|---|---|\n| 1 | 2 |\n", "Guide",
			"h1 4-4 \"Start\"\ntext 6-7 \"Hello\\nworld.\"\ncode 9-13 \"```go\\n# no heading\\n\\nx\\n```\"\nh1 14-15 \"Next\"\ntable 16-18 \"| a | b |\\n|---|---|\\n| 1 | 2 |\"\n",
		},
		{
			"a.html", "<html><head><title>My\n page</title><script>var x</script></head><body><nav>menu</nav><h2>Part <b>one</b></h2>\n<p>Hello   <i>new</i> world.<br>Bye.</p>" +
				"<ul><li>a</li><li>b</li></ul><pre>x\n  y</pre><table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>", "My page",
			"h2 2-2 \"Part one\"\ntext 3-3 \"Hello new world.\\nBye.\"\ntext 3-3 \"- a\\n- b\"\ncode 3-4 \"x\\n  y\"\ntable 4-4 \"k | v\\n1 | 2\"\n",
		},
		{"sharp.md", "# C#\n\n## F# ##\n\n### #\n", "C#", "h1 1-1 \"C#\"\nh2 3-3 \"F#\"\n"},
		{"a.csv", "name,city\nAnn,\"Oslo, \nNorway\"\n", "", "rows 1-3 \"name | city\\nAnn | Oslo, Norway\"\n"},
		{"a.go", "\npackage a\n\nfunc F() {}\n", "", "code 2-4 \"package a\\n\\nfunc F() {}\"\n"},
		{"a.docx", string(zipped(t, map[string]string{"word/document.xml": wordDocument})), "Travel", "h1 0-0 \"Travel\"\ntext 0-0 \"Ann prefers the night train.\"\ntable 0-0 \"City | Day\\nOslo | Monday\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) { holds(t, c.name, c.text, c.title, c.want) })
	}
}

// TestBoldParagraphs has a bold paragraph of Markdown be a heading if it reads like one.
func TestBoldParagraphs(t *testing.T) {
	holds(t, "a.md", "# A\n\n**Who pays?**\nAll.\n\n**Who pays?**\n\n__Fees__\n\nAll.\n\n**Pay.**\n\n**a** b **c**\n", "A",
		"h1 1-1 \"A\"\ntext 3-4 \"**Who pays?**\\nAll.\"\nh6 6-6 \"Who pays?\"\nh6 8-8 \"Fees\"\ntext 10-10 \"All.\"\ntext 12-12 \"**Pay.**\"\ntext 14-14 \"**a** b **c**\"\n")
}

func TestJSONLines(t *testing.T) {
	docs, err := read(t, "c.jsonl", []byte("{\"_id\":\"7\",\"title\":\"T\",\"text\":\"body\",\"year\":1998}\nnot json\n\n{\"a\":1}\n{]\n"), Limits{})
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), "1 more") {
		t.Errorf("error %v, want one that names line 2 and counts the other", err)
	}
	if len(docs) != 2 || docs[0].Record != "7" || docs[0].Title != "T" || docs[0].Meta["year"] != "1998" || show(docs[0]) != "text 1-1 \"body\"\n" {
		t.Fatalf("documents %+v", docs)
	}
	if docs[1].Record != "4" || docs[1].Blocks[0].Text != `{"a":1}` {
		t.Errorf("second document %+v", docs[1])
	}
}

// TestListsOfRecords holds that lists of a record are values for filters, as those of a front matter are.
func TestListsOfRecords(t *testing.T) {
	line := `{"text":"x","tags":["news",2026,true,null,{"a":1},["b"]],"none":[],"far":[` + strings.Repeat("1,", 100_000) + `1]}`
	for name, data := range map[string]string{"a.jsonl": line, "a.md": "---\ntags: [news, 2026, true, null, {a: 1}, [b]]\nnone: []\n---\nx\n"} {
		docs, err := read(t, name, []byte(data), Limits{})
		if err != nil || len(docs) != 1 {
			t.Fatalf("%s: %d documents, error %v", name, len(docs), err)
		}
		if got := docs[0].Meta; len(got) != 1 || got["tags"] != "news, 2026, true" {
			t.Errorf("%s: values %q", name, got)
		}
	}
}

func TestBadInput(t *testing.T) {
	bomb := zipped(t, map[string]string{"word/document.xml": "<w:t>" + strings.Repeat("a", 4<<20)})
	for _, c := range []struct {
		name string
		data []byte
		want error
	}{
		{"binary.txt", []byte("a\x00b"), ErrBinary},
		{"noise.md", bytes.Repeat([]byte{1, 2, 3, 'a'}, 100), ErrBinary},
		{"bomb.docx", bomb, ErrTooLarge},
		{"cut.docx", bomb[:len(bomb)/2], ErrDamaged},
		{"empty.docx", nil, ErrDamaged},
		{"old.docx", []byte{0xD0, 0xCF, 0x11, 0xE0, 1, 2}, ErrEncrypted},
		{"other.docx", zipped(t, map[string]string{"a": "b"}), ErrDamaged},
		{"deep.docx", zipped(t, map[string]string{"word/document.xml": strings.Repeat("<a>", 10_000)}), ErrDamaged},
		{"unclosed.docx", zipped(t, map[string]string{"word/document.xml": "<w:p><w:t>x"}), ErrDamaged},
		{"large.txt", []byte(strings.Repeat("a ", 2<<20)), ErrTooLarge},
		{"large.html", []byte("<p>" + strings.Repeat("a ", 2<<20)), ErrTooLarge},
		{"tag.html", []byte("<" + strings.Repeat("a", 5<<20)), ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(t, c.name, c.data, Limits{Text: 1 << 20})
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), "goroutine") || len(err.Error()) > 300) {
				t.Errorf("error is not one line: %v", err)
			}
		})
	}
}

// TestNested holds that depth costs no more than length.
func TestNested(t *testing.T) {
	n := 500_000
	for name, text := range map[string]string{
		"a.html":  strings.Repeat("<div><table><tr><td>", n) + "end",
		"a.md":    strings.Repeat(">", n) + " end\n" + strings.Repeat("- ", n) + "end\n" + strings.Repeat("[", n),
		"a.csv":   strings.Repeat("\"", n) + "a",
		"a.jsonl": strings.Repeat("[", n) + "\n",
	} {
		started := time.Now()
		_, _ = read(t, name, []byte(text), Limits{}) // no error is demanded
		if d := time.Since(started); d > 50*time.Second {
			t.Errorf("%s: %v for %d bytes", name, d, len(text))
		}
	}
}

func TestTime(t *testing.T) {
	_, err := read(t, "a.txt", []byte(strings.Repeat("a\n\n", 1<<20)), Limits{Time: time.Nanosecond})
	if !errors.Is(err, meter.ErrCostly) || !strings.Contains(err.Error(), "more than 1ns") {
		t.Errorf("error %v, want that of the limit", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"a.txt", "a.md", "a.html", "a.csv", "a.jsonl", "a.docx", "a.pdf", "a.go"} {
		f.Add(name, []byte("# a\n\n<p>b</p>|c|\n|-|\n{\"text\":1}\n```\nx"))
	}
	f.Add("a.docx", []byte("PK\x03\x04"))
	f.Add("a.pdf", []byte("%PDF-1.4\n1 0 obj\n<< /Type /Page >>\nendobj"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		m := account(t, name, data, Limits{})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := Parse(m, File{Name: name}, data, Limits{}, func(d Document) error {
			for _, b := range d.Blocks {
				if strings.TrimSpace(b.Text) == "" || b.Lines.From > b.Lines.To {
					t.Errorf("block %+v", b)
				}
				if n := strings.Count(b.Text, "\n"); b.Exact && b.Kind != Rows && b.Lines.To-b.Lines.From != n {
					t.Errorf("lines %+v of a text with %d line ends: %q", b.Lines, n, b.Text)
				}
			}
			return nil
		})
		if err != nil && strings.Contains(err.Error(), "parser failed") {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if n := int(after.TotalAlloc - before.TotalAlloc); n > 4*(1<<20+m.Peak()+m.Spent()) {
			t.Errorf("%d bytes allocated, peak %d, work %d", n, m.Peak(), m.Spent())
		}
	})
}

// FuzzStream holds that a stream gives the same records whatever pieces it comes in, and that all
// lines name a place.
func FuzzStream(f *testing.F) {
	f.Add("a.csv", []byte("a;b\n1;\"x\ny\"\n\"open"), uint8(1))
	f.Add("a.csv", []byte("a,b\r\n\xe9,\r1,2\r"), uint8(7))
	f.Add("a.jsonl", []byte("\xef\xbb\xbf{\"id\":\"\\u0001\",\"text\":\"x\"}\n\n[\n\"\xe9\""), uint8(3))
	f.Add("a.tsv", []byte("\xff\xfea\x00\t\x00b\x00\n\x00"), uint8(2))
	f.Fuzz(func(t *testing.T, name string, data []byte, piece uint8) {
		format := FormatJSONL
		if strings.HasSuffix(name, "sv") {
			format = FormatCSV
		}
		read := func(r io.Reader) string {
			var b strings.Builder
			err := Stream(StreamMeter(t.Context()), File{Name: name, Format: format}, r, func(d Document) error {
				if d.Record != "" && !isName(d.Record) {
					t.Errorf("record %q", d.Record)
				}
				fmt.Fprintf(&b, "%q %s", d.Record, show(d))
				return nil
			})
			fmt.Fprint(&b, err)
			return b.String()
		}
		whole, pieces := read(bytes.NewReader(data)), read(&slow{data, 1 + int(piece)})
		if whole != pieces {
			t.Errorf("whole:\n%s\nin pieces:\n%s", whole, pieces)
		}
	})
}

// slow gives a few bytes at a time.
type slow struct {
	data []byte
	n    int
}

func (s *slow) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.n)], s.data)
	s.data = s.data[n:]
	return n, nil
}

// TestLongLines holds that a line or a row without end needs bounded memory, and that the lines after
// it are read.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", maxRecord+1)
	docs, err := read(t, "a.jsonl", []byte(`{"text":"`+long+`"}`+"\n"+`{"id":"2","text":"good"}`+"\n"), Limits{})
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "line 1: ") || len(docs) != 1 || docs[0].Record != "2" {
		t.Errorf("%d documents, error %v", len(docs), err)
	}
	_, err = read(t, "a.csv", []byte("a,b\n\""+strings.Repeat(strings.Repeat("x", 1000)+"\n", maxRecord/1000)), Limits{})
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "quote") {
		t.Errorf("error %v", err)
	}
}

// holds reads the one document of a file, and compares its title and its blocks.
func holds(t *testing.T, name, text, title, want string) {
	t.Helper()
	docs, err := read(t, name, []byte(text), Limits{})
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, error %v", len(docs), err)
	}
	if got := show(docs[0]); got != want {
		t.Errorf("blocks:\n%s\nwant:\n%s", got, want)
	}
	if docs[0].Title != title {
		t.Errorf("title %q, want %q", docs[0].Title, title)
	}
}
