package corpus

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"
)

func ExampleRead() {
	files := fstest.MapFS{
		"guide.md": {Data: []byte("# Guide\n\nHello.\n\n## Install\n\nRun make.\n")},
		"a.jsonl":  {Data: []byte(`{"_id": "42", "title": "Answer", "text": "Deep thought."}`)},
	}
	stats, err := Read(files, Options{}, func(d Document) {
		fmt.Printf("%s: %s: %s\n", d.ID, d.Title, d.Text)
	})
	fmt.Println(stats.Files, stats.Documents, err)
	// Output:
	// 42: Answer: Deep thought.
	// guide.md: Guide: Hello.
	// guide.md#2: Guide › Install: Run make.
	// 2 3 <nil>
}

// read returns the documents as lines of "id|title|text".
func read(t *testing.T, files fstest.MapFS, o Options) (lines []string, err error) {
	t.Helper()
	_, err = Read(files, o, func(d Document) {
		lines = append(lines, d.ID+"|"+d.Title+"|"+d.Text)
	})
	return lines, err
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestReadText(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"white space", " \n\n\t\n", ""},
		{"no heading", "Just text.", "f.md||Just text."},
		{"windows line ends", "# A\r\n\r\nText.\r\n", "f.md|A|Text."},
		{"levels", "# A\n1\n### B\n2\n## C\n3\n# D\n4", "f.md|A|1 f.md#2|A › B|2 f.md#3|A › C|3 f.md#4|D|4"},
		{"a closed heading", "## Title ##\ntext", "f.md|Title|text"},
		{"no headings: hash tags", "#tag\n####### seven", "f.md||#tag\n####### seven"},
		{"headings in code", "# A\n```sh\n# comment\n```\n# B\nb", "f.md|A|```sh\n# comment\n``` f.md#2|B|b"},
		{"a title alone", "# A\n## B\n# C\n", "f.md|A › B| f.md#2|C|"},
		{"an open fence", "~~~\n# no heading", "f.md||~~~\n# no heading"},
		{"invalid UTF-8", "a\xffb", "f.md||a\uFFFDb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := read(t, fstest.MapFS{"f.md": file(c.text)}, Options{})
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("got  %q, %v\nwant %q", got, err, c.want)
			}
		})
	}
}

func TestReadRecords(t *testing.T) {
	text := `{"_id": 7, "text": "number"}

{"_id": "a", "title": "only a title"}
{"title": "T", "text": "no id", "metadata": {"x": 1}}
{"_id": null, "text": "null"}
{"_id": "empty"}`
	got, err := read(t, fstest.MapFS{"x.jsonl": file(text)}, Options{})
	want := "7||number a|only a title| x.jsonl:4|T|no id x.jsonl:5||null"
	if err != nil || strings.Join(got, " ") != want {
		t.Errorf("got  %q, %v\nwant %q", got, err, want)
	}
	_, err = read(t, fstest.MapFS{"x.jsonl": file("{}\n[]\n")}, Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "read x.jsonl line 2: ") {
		t.Errorf("got %v", err)
	}
}

func TestReadGo(t *testing.T) {
	const source = `// Copyright nobody.

//go:build linux

/*
Package p does
things.
*/
package p

import "fmt"

// Max is the most.
//
//go:noinline
const Max = 3

// Levels of things.
const (
	low = iota
	High // the highest
)

var (
	// ErrX says x.
	ErrX = fmt.Errorf("x")
)

var Undocumented = 1

// T holds things.
type T[K comparable] struct {
	// N counts.
	N int
}

// Do does it with
// all of them.
func (t *T[K]) Do(
	a int,
) (err error) {
	return nil
}

// Short is short.
func Short() int { return 1 }

// unexported is not shown.
func unexported() {}

// hidden types have no methods to show.
func (h hidden) Show() {}

const usage = ` + "`" + `
// Fake is in a string.
func Fake() {}
` + "`" + `

func Bare() {}
`
	got, err := read(t, fstest.MapFS{"lib/p/p.go": file(source)}, Options{})
	want := []string{
		"lib/p|package lib/p|Package p does\nthings.",
		"lib/p.Max|lib/p.Max|Max is the most.\n\nconst Max = 3",
		"lib/p.High|lib/p.High|Levels of things.\n\nconst (\n\tlow = iota\n\tHigh // the highest\n)",
		"lib/p.ErrX|lib/p.ErrX|var (\n\t// ErrX says x.\n\tErrX = fmt.Errorf(\"x\")\n)",
		"lib/p.T|lib/p.T|T holds things.\n\ntype T[K comparable] struct {\n\t// N counts.\n\tN int\n}",
		"lib/p.T.Do|lib/p.T.Do|Do does it with\nall of them.\n\nfunc (t *T[K]) Do(\n\ta int,\n) (err error)",
		"lib/p.Short|lib/p.Short|Short is short.\n\nfunc Short() int",
	}
	if err != nil || strings.Join(got, "\n--\n") != strings.Join(want, "\n--\n") {
		t.Errorf("got\n%s\n%v\nwant\n%s", strings.Join(got, "\n--\n"), err, strings.Join(want, "\n--\n"))
	}
}

func TestReadGoFiles(t *testing.T) {
	source := func(name string) *fstest.MapFile {
		return file("package p\n\n// " + name + " is here.\nfunc " + name + "() {}\n")
	}
	got, err := read(t, fstest.MapFS{
		"a.go":               source("A"),
		"a_test.go":          source("Test"),
		"b_windows.go":       source("Windows"),
		"b_linux.go":         source("Linux"),
		"b_linux_arm64.go":   source("LinuxArm"),
		"b_darwin_amd64.go":  source("Darwin"),
		"b_linux_amd64.go":   source("LinuxAmd"),
		"windows.go":         source("Plain"),
		"zz_other.go":        source("A"),
		"gen.go":             file("//go:build ignore\n\n// Command gen.\npackage main\n"),
		"new.go":             file("//go:build goexperiment.new && amd64\n\n// Package p is new.\npackage p\n"),
		"old.go":             file("//go:build !goexperiment.new\n\npackage p\n\n// Old is old.\nfunc Old() {}\n"),
		"cmd/main.go":        file("// Command x does x.\npackage main\n\n// Run runs.\nfunc Run() {}\n"),
		"nothing.go":         file(""),
		"broken.go":          file("/* never ends\npackage p\n\n// X is lost.\nfunc X() {}\n"),
		"broken2.go":         file("package p\n\n// Y has no end.\nfunc (y"),
		"broken3.go":         file("// only a comment"),
		"internal/deep/x.go": source("Deep"),
	}, Options{Exclude: []string{"**/internal/**"}})
	want := "p.A p.Linux p.LinuxAmd cmd p.Old p.Plain"
	var ids []string
	for _, line := range got {
		ids = append(ids, line[:strings.Index(line, "|")])
	}
	if err != nil || strings.Join(ids, " ") != want {
		t.Errorf("got  %s, %v\nwant %s", strings.Join(ids, " "), err, want)
	}
}

func TestLongDeclarationsAreCut(t *testing.T) {
	source := "package p\n\n// Table is long.\nvar Table = []string{\n" + strings.Repeat("\t\"ä\",\n", 5000) + "}\n"
	total := 0
	_, err := Read(fstest.MapFS{"p.go": file(source)}, Options{}, func(d Document) {
		total += len(d.Text)
		if !utf8.ValidString(d.Text) {
			t.Errorf("%q is not UTF-8", d.Text)
		}
	})
	if err != nil || total < maxDeclaration/2 || total > maxDeclaration+100 {
		t.Errorf("%d bytes of %d, %v", total, len(source), err)
	}
}

func TestFilesAreBounded(t *testing.T) {
	large := strings.Repeat("word ", 200_000) // more than the first buffer
	got, err := read(t, fstest.MapFS{"f.txt": file(large)}, Options{ChunkChars: 1 << 20, MaxFileBytes: len(large)})
	if err != nil || len(got) != 1 || len(got[0]) != len("f.txt||")+len(large)-1 {
		t.Errorf("%d documents, %v", len(got), err)
	}
	_, err = read(t, fstest.MapFS{"f.txt": file(large)}, Options{MaxFileBytes: len(large) - 1})
	if err == nil || !strings.Contains(err.Error(), "f.txt: larger than 999999 bytes") {
		t.Errorf("got %v", err)
	}
}

// brokenFS fails where a file is opened.
type brokenFS struct{ fstest.MapFS }

func (b brokenFS) Open(name string) (fs.File, error) {
	if name == "bad.txt" {
		return nil, errors.New("disk on fire")
	}
	return b.MapFS.Open(name)
}

func TestUnreadableFile(t *testing.T) {
	_, err := Read(brokenFS{fstest.MapFS{"bad.txt": file("x")}}, Options{}, func(Document) {})
	if err == nil || err.Error() != "read bad.txt: disk on fire" {
		t.Errorf("got %v", err)
	}
}

func TestChunks(t *testing.T) {
	for _, c := range []struct {
		name, text string
		limit      int
		want       []string
	}{
		{"empty", "", 10, nil},
		{"short", " a ", 10, []string{"a"}},
		{"paragraphs", "aaa aaa\n\nbbb bbb\n\nccc", 18, []string{"aaa aaa\n\nbbb bbb", "ccc"}},
		{"lines", "aaaa aaaa\nbbbb bbbb\ncccc", 12, []string{"aaaa aaaa", "bbbb bbbb", "cccc"}},
		{"sentences", "Aaaa aaaa. Bbbb bbbb bbb", 14, []string{"Aaaa aaaa.", "Bbbb bbbb bbb"}},
		{"words", "aaaa bbbb cccc", 11, []string{"aaaa bbbb", "cccc"}},
		{"one long word", "aaaaaaaaaaaa", 5, []string{"aaaaa", "aaaaa", "aa"}},
		{"characters stay whole", "ääääää", 5, []string{"ää", "ää", "ää"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := chunks(c.text, c.limit); strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		file, folder  bool
	}{
		{"*.md", "a.md", true, true},
		{"*.md", "docs/a.md", false, false},
		{"**/*.md", "a.md", true, true},
		{"**/*.md", "docs/deep/a.md", true, true},
		{"**/*.md", "a.txt", false, false},
		{"**/[ab]?.md", "x/a1.md", true, true},
		{"./a.md", "a.md", true, true},
		{"docs/**", "docs/a.md", true, true},
		{"docs/**", "docs", false, true},
		{"docs/**", "my/docs", false, false},
		{"**/docs/**", "my/docs", false, true},
		{"**/docs/**", "my/docs/x/y", true, true},
		{"a/**/z", "a/z", true, true},
		{"a/**/z", "a/b/c/z", true, true},
		{"a/**/z", "a/b/c", false, false},
		{"**", "a/b", true, true},
		{"a.md", "b.md", false, false},
	} {
		gs, err := compileGlobs([]string{c.pattern})
		if err != nil {
			t.Fatal(err)
		}
		if got := gs.matchFile(c.name); got != c.file {
			t.Errorf("%s matches the file %s: %v", c.pattern, c.name, got)
		}
		if got := gs.matchFolder(c.name); got != c.folder {
			t.Errorf("%s matches the folder %s: %v", c.pattern, c.name, got)
		}
	}
	for _, pattern := range []string{"", "[a", "a/[]"} {
		if _, err := compileGlobs([]string{pattern}); err == nil {
			t.Errorf("%q passes", pattern)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("f.go", []byte("// Package p.\npackage p\n\n// F is.\nfunc (t *T[K]) F(a,\n\tb int) {\n}\n"))
	f.Add("f.go", []byte("func ("))
	f.Add("f.go", []byte("package p\n\n// F is.\nfunc (t *T"))
	f.Add("f.md", []byte("# A\n\ntext\n```\n# x"))
	f.Add("f.jsonl", []byte(`{"_id": 1, "text": "x"}`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if !fs.ValidPath(name) || strings.ContainsAny(name, "/\\") || name == "." {
			return
		}
		_, err := Read(fstest.MapFS{name: {Data: data}}, Options{ChunkChars: 100}, func(d Document) {
			if d.ID == "" || d.Title == "" && d.Text == "" {
				t.Errorf("an empty document: %+v", d)
			}
			if !utf8.ValidString(d.Text) || !utf8.ValidString(d.Title) {
				t.Errorf("%q: %q is not UTF-8", d.Title, d.Text)
			}
		})
		if err != nil && !strings.HasSuffix(name, ".jsonl") {
			t.Error(err)
		}
	})
}
