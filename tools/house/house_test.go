package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// repository writes files into a new folder.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// one returns the only package of some files.
func one(t *testing.T, files map[string]string) *pkg {
	t.Helper()
	packages, err := readPackages(repository(t, files), nil)
	if err != nil || len(packages) != 1 {
		t.Fatalf("%d packages, error %v", len(packages), err)
	}
	return packages[0]
}

func TestSymbols(t *testing.T) {
	p := one(t, map[string]string{"p/a.go": `package p

// Shape is documented.
type Shape struct {
	// A is documented.
	A    int
	B, C int // both are documented
	D    int
	e    int
	Inner
}

type Inner struct{}

type (
	// Sizer is documented, and its method is not.
	Sizer interface{ Size() int }
	hidden struct{ Field int }
)

// Area is documented.
func (s *Shape) Area() int { return s.e }

func (Shape) Size() int { return 0 }

func (hidden) Exported() {}

// New is documented.
func New[T any]() *Shape {
	return nil
}

func helper() {}

// The comment of a group stands for its constants.
const (
	One = 1
	Two = 2
	three = 3
)

var Loose int
`})
	want := figures{
		Lines: 42, Files: 1, Functions: 1, Types: 3, Methods: 2, Constants: 2, Variables: 1, Fields: 5,
		// Shape, Sizer, A, B, C, Area, New, One, Two
		Documented: 9, Longest: function{"New", 3}, Largest: methods{"Shape", 2},
	}
	if p.figures != want {
		t.Errorf("figures %+v, want %+v", p.figures, want)
	}
}

func TestMethodsOfGenericTypes(t *testing.T) {
	p := one(t, map[string]string{"a.go": "package p\n\ntype Pair[K, V any] struct{}\n\nfunc (*Pair[K, V]) Both() {}\n\ntype List[T any] []T\n\nfunc (l List[T]) Len() int {\n\treturn len(l)\n}\n"})
	if p.Methods != 2 || p.Functions != 0 || p.Longest != (function{"List.Len", 3}) {
		t.Errorf("figures %+v", p.figures)
	}
}

func TestCycles(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  [][]string
	}{
		"one way": {map[string]string{
			"a.go": "package p\nfunc a() { b() }\n",
			"b.go": "package p\nfunc b() {}\n",
		}, nil},
		"by way of a third": {map[string]string{
			"a.go": "package p\nfunc a() { b() }\n",
			"b.go": "package p\ntype x c\nfunc b() {}\n",
			"c.go": "package p\ntype c struct{}\nvar v = a\n",
			"d.go": "package p\nvar w = a\n",
		}, [][]string{{"a.go", "b.go", "c.go"}}},
		"a local variable of the same name": {map[string]string{
			"a.go": "package p\nfunc a() { b() }\n",
			"b.go": "package p\nfunc b() { a := 1; _ = a }\n",
		}, nil},
		"a field and a method of the same name": {map[string]string{
			"a.go": "package p\nfunc a() { b() }\n",
			"b.go": "package p\ntype t struct{ a int }\nfunc b() { x := t{a: 1}; _ = x.a }\n",
		}, nil},
		"the key of a map": {map[string]string{
			"a.go": "package p\nconst a = 1\nvar x = b\n",
			"b.go": "package p\nvar b = map[int]bool{a: true}\n",
		}, [][]string{{"a.go", "b.go"}}},
		"the type of a method": {map[string]string{
			"a.go": "package p\ntype a struct{}\nfunc f() { g() }\n",
			"b.go": "package p\nfunc (a) b() {}\nfunc g() {}\n",
		}, [][]string{{"a.go", "b.go"}}},
		"files for other platforms": {map[string]string{
			"a.go":         "package p\nfunc a() { b() }\n",
			"b_linux.go":   "package p\nfunc b() { a() }\n",
			"b_windows.go": "package p\nfunc b() {}\n",
		}, [][]string{{"a.go", "b_linux.go"}}},
		"the largest group first": {map[string]string{
			"a.go": "package p\nfunc a() { b() }\n",
			"b.go": "package p\nfunc b() { a() }\n",
			"c.go": "package p\nfunc c() { d() }\n",
			"d.go": "package p\nfunc d() { e() }\n",
			"e.go": "package p\nfunc e() { c() }\n",
		}, [][]string{{"c.go", "d.go", "e.go"}, {"a.go", "b.go"}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := one(t, c.files)
			if !reflect.DeepEqual(p.Cycles, c.want) {
				t.Errorf("cycles %v, want %v", p.Cycles, c.want)
			}
			n := 0
			for _, group := range c.want {
				n += len(group)
			}
			if p.InCycles != n {
				t.Errorf("%d files in cycles, want %d", p.InCycles, n)
			}
		})
	}
}

func TestReferencesOfCycles(t *testing.T) {
	root := repository(t, map[string]string{
		"p/a.go": "package p\nfunc a() { b(); b2(); b() }\nfunc a2() { d() }\n",
		"p/b.go": "package p\nfunc b() { c() }\nfunc b2() { d() }\n",
		"p/c.go": "package p\nfunc c() { a() }\n",
		"p/d.go": "package p\nfunc d() {}\n",
		"q/a.go": "package q\nfunc a() { b() }\n",
		"q/b.go": "package q\nfunc b() {}\n",
		"r/a.go": "package r\nfunc a() { b() }\nfunc c() { d() }\n",
		"r/b.go": "package r\nfunc b() { a() }\n",
		"r/d.go": "package r\nfunc d() { e() }\n",
		"r/e.go": "package r\nfunc e() { d(); f() }\nfunc f() {}\n",
	})
	for only, want := range map[string]string{
		"p|q|r": `p: 3 files use each other in a circle: a.go, b.go, c.go
  a.go uses of b.go: b, b2
  b.go uses of c.go: c
  c.go uses of a.go: a
r: 2 files use each other in a circle: a.go, b.go
  a.go uses of b.go: b
  b.go uses of a.go: a
r: 2 files use each other in a circle: d.go, e.go
  d.go uses of e.go: e
  e.go uses of d.go: d
`,
		"q": "No files use each other in a circle.\n",
	} {
		var out, msg bytes.Buffer
		if status := run([]string{"-root", root, "-cycles", "-only", only}, &out, &msg); status != 0 {
			t.Fatalf("status %d: %s", status, msg.String())
		}
		if out.String() != want {
			t.Errorf("-only %q: listed\n%s\nwant\n%s", only, out.String(), want)
		}
	}
}

func TestWhatIsRead(t *testing.T) {
	root := repository(t, map[string]string{
		"host/a.go": "package host\n", "host/a_test.go": "package host\nfunc broken( {\n", "host/below/b.go": "package below\n",
		"host/testdata/c.go": "package c\n", "_build/d.go": "package d\n", ".git/e.go": "package e\n",
		"tools/go.mod": "module tools\n", "tools/f.go": "package f\n", "docs/readme.md": "text\n", "sdk/g.go": "package g\n",
	})
	packages, err := readPackages(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, p := range packages {
		folders = append(folders, p.Folder)
	}
	if want := []string{"host", "host/below", "sdk"}; !reflect.DeepEqual(folders, want) {
		t.Errorf("packages %v, want %v", folders, want)
	}
}

const beside = "package host\n\nimport \"github.com/tetratelabs/wazero/api\"\n\nvar _ api.Module\n"

func TestWazero(t *testing.T) {
	root := repository(t, map[string]string{
		"host/a.go":          beside,
		"host/b.go":          "package host\n\nimport _ \"unsafe\"\n",
		"host/c.go":          "package host\n\nimport _ \"github.com/tetratelabs/wazero/experimental/sys\"\n",
		"host/alone/a.go":    "package alone\n\nimport _ \"unsafe\"\n",
		"host/promised/a.go": beside,
		"host/other/a.go":    "package other\n\nimport _ \"github.com/tetratelabs/wazeroplus/experimental\"\nimport _ \"unsafe\"\n",
	})
	var out, msg bytes.Buffer
	if status := run([]string{"-root", root}, &out, &msg); status != 0 {
		t.Fatalf("status %d: %s", status, msg.String())
	}
	_, listed, _ := strings.Cut(out.String(), "beside wazero:\n")
	if want := "host: experimental in 1 (c.go), unsafe in 1 (b.go)\n"; listed != want {
		t.Errorf("listed %q, want %q", listed, want)
	}
}

func TestReport(t *testing.T) {
	root := repository(t, map[string]string{
		"zoo/a.go":        "package zoo\n",
		"sdk/a.go":        "package sdk\n\n// A is.\nfunc A() {}\n",
		"host/a.go":       "package host\n\nfunc Long() {\n\n}\n",
		"host/b.go":       "package host\n",
		"host/below/a.go": "package below\n\nfunc Longer() {\n\n\n}\n",
	})
	var out, msg bytes.Buffer
	if status := run([]string{"-root", root, "-max-lines", "5", "-max-files", "1", "-o", "json"}, &out, &msg); status != 0 {
		t.Fatalf("status %d: %s", status, msg.String())
	}
	var got report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, a := range got.Areas {
		order = append(order, a.Folder)
	}
	if want := []string{"host", "sdk", "zoo"}; !reflect.DeepEqual(order, want) {
		t.Errorf("areas %v, want %v", order, want)
	}
	host := got.Areas[0]
	want := figures{Lines: 12, Files: 3, Functions: 2, Longest: function{"host/below.Longer", 4}}
	if host.figures != want || host.Packages != 2 || host.TooLarge != 2 {
		t.Errorf("host: %+v, want %+v in 2 packages that are too large", host, want)
	}
	if marks := got.Packages[0].TooLarge; !reflect.DeepEqual(marks, []string{"more than 5 lines", "more than 1 files"}) {
		t.Errorf("marks %q", marks)
	}
	if got.Packages[0].Longest.Name != "Long" {
		t.Errorf("longest function %+v", got.Packages[0].Longest)
	}
}

func TestTable(t *testing.T) {
	root := repository(t, map[string]string{
		"host/a.go":     "package host\n\n// A is.\nfunc A() {}\n\nfunc B() { C() }\n",
		"host/c.go":     "package host\n\nfunc C() { A() }\n",
		"sdk/a.go":      "package sdk\n",
		"pipeline/a.go": "package pipeline\n",
	})
	var out, msg bytes.Buffer
	if status := run([]string{"-root", root, "-max-lines", "8", "-only", "host|sdk"}, &out, &msg); status != 0 {
		t.Fatalf("status %d: %s", status, msg.String())
	}
	var rows []string
	for _, line := range strings.Split(out.String(), "\n") {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	for _, want := range []string{
		"host 9 2 3 0 0 0 0 0 33 % 2 - A 1 more than 8 lines", "host 9 2 3 0 0 0 0 0 33 % 2 - host.A 1 1 of 1 packages too large",
		"sdk 1 1 0 0 0 0 0 0 - 0 - -",
	} {
		if !strings.Contains("\n"+strings.Join(rows, "\n")+"\n", "\n"+want+"\n") {
			t.Errorf("no row %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "pipeline") {
		t.Errorf("-only did not narrow the report:\n%s", out.String())
	}
}

func TestStatus(t *testing.T) {
	root := repository(t, map[string]string{"a/a.go": "package a\n"})
	broken := repository(t, map[string]string{"a/a.go": "package a\nfunc {\n"})
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"-root", root}, 0},
		{[]string{"-root", root, "-only", "b"}, 1},
		{[]string{"-root", broken}, 1},
		{[]string{"-root", filepath.Join(root, "absent")}, 1},
		{[]string{"-root", root, "-o", "yaml"}, 2},
		{[]string{"-only", "("}, 2},
		{[]string{"what"}, 2},
	} {
		var out, msg bytes.Buffer
		if got := run(c.args, &out, &msg); got != c.want || (got == 0) == (out.Len() == 0) || (got != 0) == (msg.Len() == 0) {
			t.Errorf("%q: status %d, want %d; stdout %q, stderr %q", c.args, got, c.want, out.String(), msg.String())
		}
	}
}

func TestFail(t *testing.T) {
	root := repository(t, map[string]string{
		"small/a.go": "package small\n", "long/a.go": "package long\n\n\n", "many/a.go": "package many\n", "many/b.go": "package many\n",
	})
	const message = `house: long: more than 2 lines: too large (move a part that the rest names seldom into a package of its own)
house: many: more than 1 files: too large (move a part that the rest names seldom into a package of its own)
`
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"-fail"}, 1, message},
		{nil, 0, ""},
		{[]string{"-fail", "-only", "small"}, 0, ""},
	} {
		var out, msg bytes.Buffer
		args := append([]string{"-root", root, "-max-lines", "2", "-max-files", "1"}, c.args...)
		if got := run(args, &out, &msg); got != c.status || msg.String() != c.want || out.Len() == 0 {
			t.Errorf("%q: status %d, want %d; stderr %q", args, got, c.status, msg.String())
		}
	}
}
