package pipeline

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// "go doc" shows an alias without fields and methods, so its comment says where they are.
func TestAliasesSayWhereTheirFieldsAre(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "core.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.TypeSpec)
		if !ok || !s.Assign.IsValid() {
			return true
		}
		looked++
		if text := strings.ReplaceAll(s.Doc.Text(), "\n", " "); !strings.Contains(text, "go doc pipeline/") && !strings.Contains(text, "Its values: ") {
			t.Errorf("%s: the comment names no place: %s", s.Name, text)
		}
		return true
	})
	if looked < 10 {
		t.Errorf("%d aliases", looked)
	}
}
