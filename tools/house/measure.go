package main

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// figures are the counts of a package, or their sums over an area.
type figures struct {
	Lines int `json:"lines"`
	Files int `json:"files"`
	// Exported symbols, by kind. Methods are those of exported types.
	Functions int `json:"functions"`
	Types     int `json:"types"`
	Methods   int `json:"methods"`
	Constants int `json:"constants"`
	Variables int `json:"variables"`
	// Fields are exported fields of exported structs, and methods of exported interfaces.
	// Embedded ones do not count: their type has the comment.
	Fields int `json:"fields"`
	// Documented is the number of exported symbols and fields that have a comment.
	Documented int      `json:"documented"`
	Longest    function `json:"longest_function"`
	// Largest is the type with the most methods, exported or not.
	Largest methods `json:"largest_type"`
	// InCycles is the number of files that use each other in a circle.
	InCycles int `json:"files_in_cycles"`
}

// function is a function or method and its length, from its first line to its last.
type function struct {
	Name  string `json:"name"`
	Lines int    `json:"lines"`
}

// methods is a type and how many methods it has.
type methods struct {
	Type    string `json:"type"`
	Methods int    `json:"methods"`
}

// exported returns the number of exported symbols.
func (f *figures) exported() int {
	return f.Functions + f.Types + f.Methods + f.Constants + f.Variables
}

// add adds the figures of a package to those of an area.
func (f *figures) add(g *figures) {
	f.Lines += g.Lines
	f.Files += g.Files
	f.Functions += g.Functions
	f.Types += g.Types
	f.Methods += g.Methods
	f.Constants += g.Constants
	f.Variables += g.Variables
	f.Fields += g.Fields
	f.Documented += g.Documented
	f.InCycles += g.InCycles
	f.longer(g.Longest)
	f.larger(g.Largest)
}

func (f *figures) longer(g function) {
	if g.Lines > f.Longest.Lines {
		f.Longest = g
	}
}

func (f *figures) larger(g methods) {
	if g.Methods > f.Largest.Methods {
		f.Largest = g
	}
}

// count counts exported names. They count as documented if one of the comments exists.
func (f *figures) count(kind *int, n int, comments ...*ast.CommentGroup) {
	*kind += n
	for _, c := range comments {
		if c != nil && c.Text() != "" {
			f.Documented += n
			return
		}
	}
}

// pkg is a package.
type pkg struct {
	// Folder is the path from the root of the repository.
	Folder string `json:"folder"`
	figures
	// Cycles are the groups of files that use each other in a circle.
	Cycles [][]string `json:"cycles,omitempty"`
	// References are the uses that close the cycles.
	References []reference `json:"cycle_references,omitempty"`
	// TooLarge says which limits the package exceeds.
	TooLarge []string `json:"too_large,omitempty"`
	// Experimental are the files that import an experimental package of wazero. Unsafe are
	// the files that import "unsafe" in a package that imports wazero.
	Experimental []string `json:"wazero_experimental,omitempty"`
	Unsafe       []string `json:"wazero_unsafe,omitempty"`
}

// area returns the first folder of the path.
func (p *pkg) area() string {
	area, _, _ := strings.Cut(p.Folder, "/")
	return area
}

// measure counts the contents of a package.
func measure(folder string, fset *token.FileSet, sources []source) *pkg {
	uses := arrows(sources)
	groups := cycles(sources, uses)
	p := &pkg{Folder: folder, Cycles: groups, References: references(sources, uses, groups)}
	of := map[string]int{} // the methods of each type
	for _, s := range sources {
		p.Files++
		p.Lines += s.lines
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				p.function(fset, d)
				if t := receiverType(d); t != "" {
					of[t]++
					p.larger(methods{t, of[t]})
				}
			case *ast.GenDecl:
				p.declaration(d)
			}
		}
	}
	for _, c := range p.Cycles {
		p.InCycles += len(c)
	}
	p.imports(sources)
	return p
}

func (p *pkg) function(fset *token.FileSet, d *ast.FuncDecl) {
	name, receiver := d.Name.Name, receiverType(d)
	kind := &p.Functions
	if receiver != "" {
		name, kind = receiver+"."+name, &p.Methods
	}
	p.longer(function{name, fset.Position(d.End()).Line - fset.Position(d.Pos()).Line + 1})
	if d.Name.IsExported() && (receiver == "" || ast.IsExported(receiver)) {
		p.count(kind, 1, d.Doc)
	}
}

// receiverType returns the name of the type that a method belongs to, "" for a function.
func receiverType(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// declaration counts the exports of a declaration. The comment of a group of constants or
// variables counts for all of them.
func (p *pkg) declaration(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.ValueSpec:
			kind := &p.Variables
			if d.Tok == token.CONST {
				kind = &p.Constants
			}
			p.count(kind, exportedNames(s.Names), d.Doc, s.Doc, s.Comment)
		case *ast.TypeSpec:
			if !s.Name.IsExported() {
				continue
			}
			doc := s.Doc
			if !d.Lparen.IsValid() {
				doc = d.Doc
			}
			p.count(&p.Types, 1, doc)
			p.fields(s.Type)
		}
	}
}

// fields counts the exported fields of a struct, or the methods of an interface.
func (p *pkg) fields(t ast.Expr) {
	var list *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return
	}
	for _, f := range list.List {
		p.count(&p.Fields, exportedNames(f.Names), f.Doc, f.Comment)
	}
}

func exportedNames(names []*ast.Ident) int {
	n := 0
	for _, name := range names {
		if name.IsExported() {
			n++
		}
	}
	return n
}

const wazero = "github.com/tetratelabs/wazero"

// imports records the files that use more than wazero's stable interface.
func (p *pkg) imports(sources []source) {
	var withUnsafe []string
	usesWazero := false
	for _, s := range sources {
		experimental := false
		for _, spec := range s.file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
			usesWazero = usesWazero || within(path, wazero)
			experimental = experimental || within(path, wazero+"/experimental")
			if path == "unsafe" {
				withUnsafe = append(withUnsafe, s.name)
			}
		}
		if experimental {
			p.Experimental = append(p.Experimental, s.name)
		}
	}
	if usesWazero {
		p.Unsafe = withUnsafe
	}
}

// within reports whether a path is a package or below it.
func within(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}
