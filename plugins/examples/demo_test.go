package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/testbuild"
	"github.com/anchor-host/anchor-host/pipeline"
)

// demoQuestions are questions about Go's library, each with the symbols that answer it.
var demoQuestions = map[string]string{
	"How do I decode JSON into a struct?":                      "encoding/json.Unmarshal",
	"How do I read a file line by line?":                       "bufio.Scanner bufio.NewScanner bufio.ScanLines",
	"How do I sort a slice with my own order?":                 "slices.SortFunc sort.Slice",
	"How do I format a time as text?":                          "time.Time.Format time.Layout",
	"How do I run an external command and capture its output?": "os/exec.Cmd.Output os/exec.Cmd.CombinedOutput os/exec.Cmd",
	"How do I set a timeout for HTTP requests?":                "net/http.Client net/http.Server net/http.TimeoutHandler",
	"How do I split a string at a separator?":                  "strings.Split strings.SplitN strings.Cut",
	"How do I wait for several goroutines to finish?":          "sync.WaitGroup sync.WaitGroup.Go sync.WaitGroup.Add sync.WaitGroup.Wait",
	"How do I convert a string to an integer?":                 "strconv.Atoi strconv.ParseInt",
	"How do I check whether an error wraps another one?":       "errors errors.Is errors.As",
	"How do I walk a directory tree?":                          "path/filepath.WalkDir io/fs.WalkDir path/filepath.Walk",
	"How do I compute the SHA-256 checksum of some data?":      "crypto/sha256.Sum256 crypto/sha256.New",
	"How do I parse a URL?":                                    "net/url.Parse net/url.URL",
	"How do I encode bytes as base64?":                         "encoding/base64.Encoding.EncodeToString encoding/base64.NewEncoder encoding/base64.StdEncoding",
	"How do I copy everything from a reader to a writer?":      "io.Copy io.CopyBuffer",
}

// The demo finds what answers a question among its first three items: always for its own
// question, and for four of five others, whichever release of Go the sources are from.
func TestDemoFindsAnswers(t *testing.T) {
	needGuests(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "demo", "anchor.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	config := strings.NewReplacer("@GOROOT_SRC@", filepath.Join(strings.TrimSpace(string(root)), "src"), "../plugins", testbuild.Examples(t)).Replace(string(text))
	file := filepath.Join(t.TempDir(), "anchor.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := anchor.Load(file, anchor.Options{CacheDir: testbuild.CacheDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(t.Context())
	answered := 0
	for question, answers := range demoQuestions {
		result, err := app.Build(t.Context(), pipeline.Query{Text: question}, anchor.BuildOptions{})
		if err != nil || len(result.Diagnostics.SkippedSteps) > 0 {
			t.Fatalf("%s: %v, %+v", question, err, result)
		}
		var first []string
		for _, it := range result.Window.Items {
			if it.Source == pipeline.SourceRetrieval && len(first) < 3 {
				name, _, _ := strings.Cut(strings.TrimPrefix(it.ID, "go-docs:"), "#") // a long comment has several parts
				first = append(first, name)
			}
		}
		if slices.ContainsFunc(first, func(name string) bool { return slices.Contains(strings.Fields(answers), name) }) {
			answered++
			continue
		}
		t.Logf("%s: %v", question, first)
		if strings.Contains(question, "JSON") {
			t.Errorf("the demo's own question: %v, want %s among them", first, answers)
		}
	}
	if answered*5 < len(demoQuestions)*4 {
		t.Errorf("%d of %d questions are answered by the first three items", answered, len(demoQuestions))
	}
}
