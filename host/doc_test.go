package host_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The list at the end of doc.go names every other file of the package once.
func TestFilesAreListed(t *testing.T) {
	for folder, list := range map[string]*regexp.Regexp{
		".":              regexp.MustCompile(`(?s)\npackage host\n(.*)`),
		"internal/guest": regexp.MustCompile(`(?s)\npackage guest\n(.*)`),
	} {
		t.Run(folder, func(t *testing.T) { checkList(t, folder, list) })
	}
}

func checkList(t *testing.T, folder string, list *regexp.Regexp) {
	doc, err := os.ReadFile(filepath.Join(folder, "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, group := range regexp.MustCompile(`(?m)^//\t\S.*?  +(.*)$`).FindAllSubmatch(list.Find(doc), -1) {
		for name := range strings.SplitSeq(string(group[1]), ", ") {
			listed = append(listed, name+".go")
		}
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, path := range paths {
		if name := filepath.Base(path); name != "doc.go" && !strings.HasSuffix(name, "_test.go") {
			files = append(files, name)
		}
	}
	if len(files) == 0 {
		t.Fatal("the package has no files")
	}
	for _, name := range files {
		if n := len(slices.DeleteFunc(slices.Clone(listed), func(l string) bool { return l != name })); n != 1 {
			t.Errorf("%s is listed %d times (list it once in doc.go, with the files of its part)", name, n)
		}
	}
	for _, name := range listed {
		if !slices.Contains(files, name) {
			t.Errorf("%s is listed in doc.go and is no file", name)
		}
	}
}
