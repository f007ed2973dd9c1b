package pdk_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

// TestReadmeShowsThePluginThatTheTestsBuild keeps the README's plugin the one
// under testdata, which the tests build and call.
func TestReadmeShowsThePluginThatTheTestsBuild(t *testing.T) {
	readme := read(t, "README.md")
	if plugin := read(t, "testdata/keepbest/main.go"); !strings.Contains(readme, "```go\n"+plugin+"```") {
		t.Error("README.md does not show testdata/keepbest/main.go")
	}
}

func TestReadmeShowsATestThatPasses(t *testing.T) {
	readme := read(t, "README.md")
	if test := read(t, "testdata/keepbest/main_test.go"); !strings.Contains(readme, "```go\n"+test+"```") {
		t.Error("README.md does not show testdata/keepbest/main_test.go")
	}
	if testing.Short() {
		t.Skip("builds a test")
	}
	if out, err := exec.Command("go", "test", "./testdata/keepbest").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDocumentationListsEveryExport(t *testing.T) {
	doc := read(t, "doc.go")
	for _, e := range abi.Exports {
		if !strings.Contains(doc, e.Name) {
			t.Errorf("doc.go does not name %s", e.Name)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
