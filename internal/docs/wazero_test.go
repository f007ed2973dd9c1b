package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// No package but host/internal/wazerox uses what wazero calls experimental, and no file that knows
// wazero's types reflects on them.
func TestWazeroAlone(t *testing.T) {
	const wazero = "github.com/tetratelabs/wazero"
	users := 0
	walk(t, func(name string, e fs.DirEntry) error {
		switch {
		case e.IsDir() && (name == "tools" || name == "host/internal/wazerox" || strings.HasPrefix(e.Name(), ".")):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		imports := importsOf(t, filepath.Join(root, name))
		knows := slices.ContainsFunc(imports, func(p string) bool { return p == wazero || strings.HasPrefix(p, wazero+"/") })
		if knows {
			users++
		}
		for _, p := range imports {
			if strings.HasPrefix(p, wazero+"/experimental") || knows && (p == "reflect" || p == "unsafe") {
				t.Errorf("%s imports %s (put what needs it into host/internal/wazerox)", name, p)
			}
		}
		return nil
	})
	if users == 0 {
		t.Error("no file knows wazero")
	}
}

// importsOf are the paths that a file imports.
func importsOf(t *testing.T, path string) (imports []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, im := range f.Imports {
		p, err := strconv.Unquote(im.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		imports = append(imports, p)
	}
	return imports
}
