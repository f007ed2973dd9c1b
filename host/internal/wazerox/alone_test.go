package wazerox

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

// No other package uses what wazero calls experimental, and no file that knows wazero's
// types reflects on them.
func TestAlone(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	users := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == "build" || rel == "tools" || rel == filepath.Join("host", "internal", "wazerox") || rel != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		imports := importsOf(t, path)
		knows := slices.ContainsFunc(imports, func(p string) bool { return p == Path || strings.HasPrefix(p, Path+"/") })
		if knows {
			users++
		}
		for _, p := range imports {
			if strings.HasPrefix(p, Path+"/experimental") || knows && (p == "reflect" || p == "unsafe") {
				t.Errorf("%s imports %s (put what needs it into host/internal/wazerox)", rel, p)
			}
		}
		return nil
	})
	if err != nil || users == 0 {
		t.Errorf("%d files know wazero, error %v", users, err)
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
