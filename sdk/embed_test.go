package sdk_test

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/sdk"
)

// Every source of every helper library is carried; what only serves their
// development is not.
func TestFilesAreComplete(t *testing.T) {
	left := []string{"testdata", "tests", "target", "node_modules", ".gitignore", "README.md", "Cargo.lock", "package.json", "pom.xml", "pyproject.toml"}
	n := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains(left, e.Name()):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir(), path.Dir(name) == ".", strings.HasSuffix(name, "_test.go"):
			return nil
		}
		n++
		if _, err := fs.Stat(sdk.Files, name); err != nil {
			t.Errorf("%s is not embedded (add it in embed.go)", name)
		}
		return nil
	})
	if err != nil || n < 50 {
		t.Errorf("%d files, %v", n, err)
	}
}
