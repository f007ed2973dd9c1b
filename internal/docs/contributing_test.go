package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

var (
	testName = regexp.MustCompile(`^Test[A-Z]\w+$`)
	fileName = regexp.MustCompile(`^[a-z_]\w*\.go$|^(abi|anchor|cmd|docs|host|internal|pipeline|plugins|sdk|testdata|tools)/[a-z\d_./-]+$`)
)

// The files, folders and tests that these documents name are in the repository. A path may
// begin at a folder that the sentence names.
func TestContributingNamesWhatIsThere(t *testing.T) {
	paths, tests := repository(t)
	for document, least := range map[string]int{"CONTRIBUTING.md": 50, "ARCHITECTURE.md": 40} {
		t.Run(document, func(t *testing.T) { checkNames(t, document, least, paths, tests) })
	}
}

func checkNames(t *testing.T, document string, least int, paths []string, tests string) {
	text, err := os.ReadFile(filepath.Join(root, document))
	if err != nil {
		t.Fatal(err)
	}
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
	if checked < least {
		t.Errorf("found %d names of files and tests, want those of the lists", checked)
	}
}

// repository returns the files and folders of the repository, and the text of its tests.
func repository(t *testing.T) (paths []string, tests string) {
	t.Helper()
	var text strings.Builder
	walk(t, func(name string, e fs.DirEntry) error {
		paths = append(paths, "/"+name)
		if strings.HasSuffix(name, "_test.go") {
			b, err := os.ReadFile(filepath.Join(root, name))
			text.Write(b)
			return err
		}
		return nil
	})
	return paths, text.String()
}

// walk calls f for each file and folder of the repository, as [fs.WalkDir] does.
func walk(t *testing.T, f func(name string, e fs.DirEntry) error) {
	t.Helper()
	for _, top := range testbuild.Top() {
		err := fs.WalkDir(os.DirFS(root), top, func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return f(name, e)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The route of a build is that of the code: each function that a table of ARCHITECTURE.md names beside a file is
// declared in it.
func TestArchitectureNamesFunctions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, row := range regexp.MustCompile("(?m)^\\| `([\\w/]+\\.go)` \\| ([^|]+) \\|").FindAllStringSubmatch(string(text), -1) {
		code, err := os.ReadFile(filepath.Join(root, row[1]))
		if err != nil {
			t.Error(err)
		}
		for _, f := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[2], -1) {
			checked++
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + f[1] + `[\[(]`).Match(code) {
				t.Errorf("%s: there is no function %s", row[1], f[1])
			}
		}
	}
	if checked < 15 {
		t.Errorf("%d functions are named, want 15 or more", checked)
	}
}
