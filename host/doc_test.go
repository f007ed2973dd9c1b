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
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(doc), "\npackage host\n")
	var listed []string
	for _, group := range regexp.MustCompile(`(?m)^//\t\S.*?  +(.*)$`).FindAllStringSubmatch(list, -1) {
		for name := range strings.SplitSeq(group[1], ", ") {
			listed = append(listed, name+".go")
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(name string) bool { return name == "doc.go" || strings.HasSuffix(name, "_test.go") })
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
