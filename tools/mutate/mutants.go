package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// mutant is a change of one place of a file.
type mutant struct {
	file       string // relative to the repository
	line       int
	start, end int // of what is replaced, in bytes
	text       string
	// key names the change by the function and the text, so that it keeps its name when lines are
	// added above it.
	key string
}

// mutantsOf returns the mutants of a file, or of the files of a folder, without its tests.
func mutantsOf(root, name string) (list []mutant, err error) {
	files, _ := filepath.Glob(filepath.Join(root, name, "*.go")) // the only error is that of a bad pattern
	if len(files) == 0 {
		files = []string{filepath.Join(root, name)}
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if file, err = filepath.Rel(root, file); err != nil {
			return nil, err
		}
		found, err := mutate(filepath.ToSlash(file), source)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// mutator collects the mutants of a file.
type mutator struct {
	file     string
	source   []byte
	set      *token.FileSet
	function string
	seen     map[string]int
	list     []mutant
}

func mutate(file string, source []byte) ([]mutant, error) {
	m := &mutator{file: file, source: source, set: token.NewFileSet(), seen: map[string]int{}}
	parsed, err := parser.ParseFile(m.set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			m.function = f.Name.Name
			ast.Inspect(f.Body, m.visit)
		}
	}
	return m.list, nil
}

func (m *mutator) offset(p token.Pos) int { return m.set.Position(p).Offset }

func (m *mutator) text(n ast.Node) string {
	return string(m.source[m.offset(n.Pos()):m.offset(n.End())])
}

// add enters a change of a part of a node. The key shows the node before and after it.
func (m *mutator) add(node ast.Node, from, to token.Pos, text string) {
	start, end := m.offset(from), m.offset(to)
	first, last := m.offset(node.Pos()), m.offset(node.End())
	oneLine := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	before := oneLine(string(m.source[first:last]))
	after := oneLine(string(m.source[first:start]) + text + string(m.source[end:last]))
	if after == "" {
		after = "nothing"
	}
	key := fmt.Sprintf("%s %s: %s => %s", m.file, m.function, before, after)
	if m.seen[key]++; m.seen[key] > 1 {
		key += fmt.Sprintf(" (%d)", m.seen[key])
	}
	m.list = append(m.list, mutant{m.file, m.set.Position(from).Line, start, end, text, key})
}

// operators are what an operator becomes.
var operators = map[token.Token][]string{
	token.LSS: {"<=", ">="}, token.LEQ: {"<", ">"}, token.GTR: {">=", "<="}, token.GEQ: {">", "<"},
	token.EQL: {"!="}, token.NEQ: {"=="}, token.LAND: {"||"}, token.LOR: {"&&"},
	token.ADD: {"-"}, token.SUB: {"+"}, token.MUL: {"/"}, token.QUO: {"*"},
}

var (
	assignments = map[token.Token]string{token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+="}
	// words are names and numbers that become others.
	words = map[string]string{"true": "false", "false": "true", "min": "max", "max": "min", "0": "1", "1": "0"}
)

func (m *mutator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		for _, op := range operators[n.Op] {
			m.add(n, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op)
		}
	case *ast.AssignStmt:
		if op := assignments[n.Tok]; op != "" {
			m.add(n, n.TokPos, n.TokPos+2, op)
		}
	case *ast.IfStmt:
		if b, ok := n.Cond.(*ast.BinaryExpr); !ok || b.Op == token.LAND || b.Op == token.LOR {
			m.add(n.Cond, n.Cond.Pos(), n.Cond.End(), "!("+m.text(n.Cond)+")")
		}
	case *ast.BasicLit:
		if n.Kind == token.INT && words[n.Value] != "" {
			m.add(n, n.Pos(), n.End(), words[n.Value])
		}
	case *ast.Ident:
		if words[n.Name] != "" {
			m.add(n, n.Pos(), n.End(), words[n.Name])
		}
	case *ast.ReturnStmt:
		m.result(n)
	case *ast.BlockStmt:
		m.remove(n.List)
	case *ast.CaseClause:
		m.remove(n.Body)
	case *ast.CommClause:
		m.remove(n.Body)
	}
	return true
}

// result returns nil in the place of an error.
func (m *mutator) result(n *ast.ReturnStmt) {
	if len(n.Results) == 0 {
		return
	}
	last := n.Results[len(n.Results)-1]
	name := m.text(last)
	if call, ok := last.(*ast.CallExpr); ok {
		name = m.text(call.Fun)
	}
	switch lower := strings.ToLower(name); {
	case strings.HasSuffix(lower, "err"), strings.Contains(lower, "errorf"), strings.HasPrefix(lower, "errors."):
		m.add(n, last.Pos(), last.End(), "nil")
	}
}

// remove removes statements that others can do without: calls whose results nobody uses, and
// assignments to what is declared elsewhere.
func (m *mutator) remove(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || m.text(s.Lhs[0]) == "_" {
				continue
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt:
		default:
			continue
		}
		m.add(s, s.Pos(), s.End(), "")
	}
}
