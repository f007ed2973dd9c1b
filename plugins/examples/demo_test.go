package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
	"github.com/anchor-host/anchor-host/pipeline"
)

// demoQuestions are questions about Go's library, each with the symbols that answer it. The synonyms of the demo were
// chosen for them and for those that "make demo" prints.
var demoQuestions = map[string]string{
	"How do I format a time as text?":                     "time.Time.Format time.Layout",
	"How do I compute the SHA-256 checksum of some data?": "crypto/sha256.Sum256 crypto/sha256.New",
	"How do I parse a URL?":                               "net/url.Parse net/url.URL",
	"How do I encode bytes as base64?":                    "encoding/base64.Encoding.EncodeToString encoding/base64.NewEncoder encoding/base64.StdEncoding",
	"How do I copy everything from a reader to a writer?": "io.Copy io.CopyBuffer",
}

// otherQuestions are questions for which nothing was chosen. Choose nothing for them: they show what the demo does with
// a question that it has not seen.
var otherQuestions = map[string]string{
	"How do I generate a random number?":                     "math/rand.Intn math/rand.Int math/rand math/rand/v2 math/rand/v2.IntN math/rand/v2.N math/rand/v2.Int math/rand.Rand math/rand/v2.Rand",
	"How do I compress data with gzip?":                      "compress/gzip.Writer compress/gzip.NewWriter compress/gzip compress/gzip.Writer.Write",
	"How do I start a web server?":                           "net/http.ListenAndServe net/http.Server net/http.Server.ListenAndServe net/http net/http.Serve",
	"How do I replace all matches of a regular expression?":  "regexp.Regexp.ReplaceAll regexp.Regexp.ReplaceAllString regexp.Regexp.ReplaceAllLiteral regexp.Regexp.ReplaceAllLiteralString regexp.Regexp.ReplaceAllStringFunc regexp.Regexp.ReplaceAllFunc",
	"How do I delete a file?":                                "os.Remove os.RemoveAll os.Root.Remove",
	"How do I get an environment variable?":                  "os.Getenv os.LookupEnv os.Environ",
	"How do I measure how long something takes?":             "time.Since time.Now time",
	"How do I create a temporary file?":                      "os.CreateTemp os.MkdirTemp io/ioutil.TempFile",
	"How do I lock a variable against concurrent access?":    "sync.Mutex sync.RWMutex sync.Mutex.Lock sync",
	"How do I find the largest element of a list?":           "slices.Max slices.MaxFunc",
	"How do I turn a number into a string?":                  "strconv.Itoa strconv.FormatInt fmt.Sprint fmt.Sprintf",
	"How do I read CSV?":                                     "encoding/csv.Reader encoding/csv.NewReader encoding/csv encoding/csv.Reader.Read encoding/csv.Reader.ReadAll",
	"How do I cancel an operation after a while?":            "context.WithTimeout context.WithDeadline context context.WithCancel",
	"How do I print to standard error?":                      "os.Stderr fmt.Fprintf fmt.Fprintln fmt.Fprint os",
	"How do I parse command-line flags?":                     "flag flag.Parse flag.FlagSet.Parse",
	"How do I remove whitespace from both ends of a string?": "strings.TrimSpace strings.Trim",
	"How do I listen for TCP connections?":                   "net.Listen net.Listener net.ListenTCP net.TCPListener net",
	"How do I catch an interrupt signal?":                    "os/signal.Notify os/signal.NotifyContext os/signal",
	"How do I write XML?":                                    "encoding/xml.Marshal encoding/xml.Encoder encoding/xml.NewEncoder encoding/xml encoding/xml.MarshalIndent encoding/xml.Encoder.Encode",
	"How do I unzip an archive?":                             "archive/zip.OpenReader archive/zip.Reader archive/zip.NewReader archive/zip archive/zip.File.Open archive/zip.ReadCloser",
}

// printedQuestions are the questions that "make demo" prints to try.
func printedQuestions(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "demo", "questions.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	questions := map[string]string{}
	for line := range strings.Lines(string(data)) {
		question, answers, _ := strings.Cut(strings.TrimSpace(line), "\t")
		questions[question] = answers
	}
	if len(questions) != 10 {
		t.Fatalf("%d questions", len(questions))
	}
	return questions
}

// The demo finds what answers a question among its first three items: for each that it prints,
// and for most of the others that its synonyms are for, whichever release of Go the sources are from. For
// those that nothing was chosen for it finds less, which README.md says.
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
	for _, tt := range []struct {
		questions map[string]string
		least     int
	}{{printedQuestions(t), 10}, {demoQuestions, 3}, {otherQuestions, 7}} {
		answered := 0
		for question, answers := range tt.questions {
			first := firstFound(t, app, question)
			if slices.ContainsFunc(first, func(name string) bool { return slices.Contains(strings.Fields(answers), name) }) {
				answered++
				continue
			}
			t.Logf("%s: %v", question, first)
		}
		if answered < tt.least {
			t.Errorf("%d of %d questions are answered by the first three items, want %d", answered, len(tt.questions), tt.least)
		}
	}
}

// firstFound are the names of the first three items that were found for a question.
func firstFound(t *testing.T, app *anchor.App, question string) (first []string) {
	t.Helper()
	result, err := app.Build(t.Context(), pipeline.Query{Text: question}, anchor.BuildOptions{})
	if err != nil || len(result.Diagnostics.SkippedSteps) > 0 {
		t.Fatalf("%s: %v, %+v", question, err, result)
	}
	for _, it := range result.Window.Items {
		if it.Source == pipeline.SourceRetrieval && len(first) < 3 {
			name, _, _ := strings.Cut(strings.TrimPrefix(it.ID, "go-docs:"), "#") // a long comment has several parts
			first = append(first, name)
		}
	}
	return first
}
