package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	testName = regexp.MustCompile(`^Test[A-Z]\w+$`)
	fileName = regexp.MustCompile(`^[a-z_]\w*\.go$|^(abi|cmd|docs|host|internal|pipeline|plugins|sdk|testdata|tools)/[a-z\d_./-]+$`)
)

// TestContributingNamesWhatIsThere holds the files, folders and tests that
// CONTRIBUTING.md names against those of the repository. A path may begin at a folder
// that the sentence names.
func TestContributingNamesWhatIsThere(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	paths, tests := repository(t)
	checked := 0
	for _, m := range regexp.MustCompile("`([^`\\s]+)`").FindAllStringSubmatch(string(text), -1) {
		name := m[1]
		switch {
		case testName.MatchString(name):
			checked++
			if !strings.Contains(tests, "func "+name+"(") {
				t.Errorf("%s is no test", name)
			}
		case fileName.MatchString(name):
			checked++
			if !slices.ContainsFunc(paths, func(p string) bool { return strings.HasSuffix(p, "/"+name) }) {
				t.Errorf("%s is not there", name)
			}
		}
	}
	if checked < 100 {
		t.Errorf("found %d names of files and tests, want those of the lists", checked)
	}
}

// repository returns the files and folders of the repository, and the text of its tests.
func repository(t *testing.T) (paths []string, tests string) {
	t.Helper()
	var text strings.Builder
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (name == ".git" || name == "build") {
			return fs.SkipDir
		}
		paths = append(paths, "/"+name)
		if strings.HasSuffix(name, "_test.go") {
			b, err := os.ReadFile(filepath.Join(root, name))
			text.Write(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths, text.String()
}
