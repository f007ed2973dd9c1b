package corpus

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/plugins/examples/internal/testkit/goenv"
)

// TestGoScannerAgainstParser compares the scanner, which goes by lines, with
// the parser of the standard library on packages of every style.
func TestGoScannerAgainstParser(t *testing.T) {
	src := goenv.Sources(t)
	for _, dir := range []string{"flag", "sort", "net/http", "encoding/json", "context", "time", "go/ast", "sync/atomic", "text/template", "reflect", "slices", "math/big"} {
		t.Run(dir, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(src, dir, "*.go"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no files: %v", err)
			}
			for _, file := range files {
				if !strings.HasSuffix(file, "_test.go") {
					compareWithParser(t, file)
				}
			}
		})
	}
}

func compareWithParser(t *testing.T, file string) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	want := parsedDocs(parsed)
	got := map[string]string{}
	s := goScanner{src: src}
	for {
		d, ok := s.next()
		if !ok {
			break
		}
		if bytes.HasPrefix(d.source, []byte("type (")) {
			continue // one document for the group
		}
		if text := commentText(d.doc); text != "" && (d.kind == "func" || d.kind == "method" || d.kind == "type" || d.kind == "package") {
			got[d.kind+" "+d.name] = squeeze(text)
		}
	}
	for name, doc := range want {
		if got[name] != doc {
			t.Errorf("%s: %s:\n got %.200q\nwant %.200q", filepath.Base(file), name, got[name], doc)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s found, which the parser does not", filepath.Base(file), name)
		}
	}
}

// parsedDocs are the comments of the exported functions, methods and types.
func parsedDocs(f *ast.File) map[string]string {
	docs := map[string]string{}
	add := func(name, doc string) {
		if doc = squeeze(doc); doc != "" {
			docs[name] = doc
		}
	}
	add("package "+f.Name.Name, f.Doc.Text())
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if !d.Name.IsExported() {
				continue
			}
			if d.Recv == nil {
				add("func "+d.Name.Name, d.Doc.Text())
			} else if name := receiverName(d.Recv.List[0].Type); ast.IsExported(name) {
				add("method "+name+"."+d.Name.Name, d.Doc.Text())
			}
		case *ast.GenDecl:
			if d.Tok == token.TYPE && !d.Lparen.IsValid() {
				if name := d.Specs[0].(*ast.TypeSpec).Name; name.IsExported() {
					add("type "+name.Name, d.Doc.Text())
				}
			}
		}
	}
	return docs
}

func receiverName(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiverName(x.X)
	case *ast.IndexExpr:
		return receiverName(x.X)
	case *ast.IndexListExpr:
		return receiverName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// squeeze makes comments comparable: the parser's text drops blank lines at
// its will.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestReadStandardLibrary(t *testing.T) {
	src := goenv.Sources(t)
	found := map[string]bool{}
	total := 0
	stats, err := Read(os.DirFS(src), Options{
		Include: []string{"**/*.go"},
		Exclude: []string{"cmd/**", "**/internal/**", "**/testdata/**", "**/vendor/**"},
	}, func(d Document) {
		found[d.ID] = true
		total += len(d.Text)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v, %d bytes of text", stats, total)
	if stats.Documents < 4000 || total < 1<<20 {
		t.Errorf("%d documents with %d bytes, want thousands", stats.Documents, total)
	}
	for _, id := range []string{"flag", "flag.Parse", "net/http.Client", "net/http.Client.Do", "context.WithDeadline", "sort.Slice", "os.Open", "os.ReadFile"} {
		if !found[id] {
			t.Errorf("%s is missing", id)
		}
	}
	for id := range found {
		if strings.HasPrefix(id, "cmd/") || strings.Contains(id, "/internal/") || strings.Contains(id, "goexperiment") {
			t.Errorf("%s does not belong here", id)
		}
	}
}
