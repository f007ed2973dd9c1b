package anchor

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"testing"
)

// Nothing that a program outside of this module can name or get has a type of an internal package: it could
// not declare a variable of it, and go doc would not show what it has.
func TestNothingExportedIsInternal(t *testing.T) {
	files := token.NewFileSet()
	packages, err := parser.ParseDir(files, ".", func(i fs.FileInfo) bool { return !strings.HasSuffix(i.Name(), "_test.go") }, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, f := range packages["anchor"].Files {
		internal := map[string]bool{}
		for _, i := range f.Imports {
			if of, _ := strconv.Unquote(i.Path.Value); strings.Contains(of, "/internal/") {
				internal[path.Base(of)] = true
				if i.Name != nil {
					internal[i.Name.Name] = true
				}
			}
		}
		for _, d := range f.Decls {
			for _, n := range exported(d) {
				looked++
				ast.Inspect(n, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok {
						if x, ok := s.X.(*ast.Ident); ok && internal[x.Name] {
							t.Errorf("%s: %s.%s is exported", files.Position(s.Pos()), x.Name, s.Sel.Name)
						}
					}
					return true
				})
			}
		}
	}
	if looked < 100 {
		t.Errorf("%d declarations were looked at, want 100 or more", looked)
	}
}

// exported returns the parts of a declaration that go doc shows.
func exported(d ast.Decl) (parts []ast.Node) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
			parts = append(parts, d.Type)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					parts = append(parts, visible(s.Type)...)
				}
			case *ast.ValueSpec:
				if s.Names[0].IsExported() && s.Type != nil {
					parts = append(parts, s.Type)
				}
			}
		}
	}
	return parts
}

// visible returns the type, or of a struct the types of its exported and embedded fields.
func visible(of ast.Expr) (parts []ast.Node) {
	s, ok := of.(*ast.StructType)
	if !ok {
		return []ast.Node{of}
	}
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 || f.Names[0].IsExported() {
			parts = append(parts, f.Type)
		}
	}
	return parts
}

func receiver(d *ast.FuncDecl) string {
	of := d.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	return of.(*ast.Ident).Name
}
