package plugin

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/plugins/examples/internal/testkit/goenv"
)

func settings(t testing.TB, document string) *Settings {
	t.Helper()
	s := new(Settings)
	s.Defaults()
	if err := json.Unmarshal([]byte(document), s); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

func ExampleRetriever_Retrieve() {
	var s Settings
	s.Defaults()
	r, err := Open(fstest.MapFS{
		"guide.md": {Data: []byte("# Flags\n\nParse the command line.\n\n# Colors\n\nSet the palette.\n")},
	}, &s)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, item := range r.Retrieve("parsing flags", 5) {
		fmt.Printf("%s %.1f %q\n", item.Key, item.Score, item.Content)
	}
	// Output: guide.md 1.0 "Flags\n\nParse the command line."
}

var modified = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)

var files = fstest.MapFS{
	"a.txt":          {Data: []byte("Apples are red. Apples are sweet."), ModTime: modified},
	"b.txt":          {Data: []byte("Some apples are green, as limes are."), ModTime: modified},
	"data/c.jsonl":   {Data: []byte(`{"_id": "r1", "title": "Pears", "text": "Pears are no apples."}` + "\n"), ModTime: modified},
	"pkg/d.go":       {Data: []byte("// Package pkg counts apples.\npackage pkg\n\n// CountApples counts.\nfunc CountApples() int { return 0 }\n")},
	"testdata/e.txt": {Data: []byte("apples")},
	"image.png":      {Data: []byte("apples")},
	".hidden/f.txt":  {Data: []byte("apples")},
}

func keys(t *testing.T, r *Retriever, query string, topK int) string {
	t.Helper()
	var found []string
	last := 1.0
	for _, item := range r.Retrieve(query, topK) {
		if item.Score > last || item.Score <= 0 || len(found) == 0 && item.Score != 1 {
			t.Errorf("%s has the score %v after %v", item.Key, item.Score, last)
		}
		last = item.Score
		found = append(found, item.Key)
	}
	return strings.Join(found, " ")
}

func TestRetrieve(t *testing.T) {
	for _, c := range []struct {
		name, settings, query string
		topK                  int
		want                  string
	}{
		{"by default texts and records", `{}`, "apple", 0, "a.txt r1 b.txt"},
		{"at most top_k", `{}`, "apple", 1, "a.txt"},
		{"no match", `{}`, "bananas", 5, ""},
		{"an empty query", `{}`, "", 5, ""},
		{"nothing but stop words", `{}`, "the and of", 5, ""},
		{"all words are searched without stop words", `{"stop_words": "none"}`, "are", 5, "a.txt b.txt r1"},
		{"own stop words", `{"stop_words": ["Apples"]}`, "apples green", 5, "b.txt"},
		{"without stems", `{"stem": false}`, "apple", 5, ""},
		{"without length and repetition the first comes first", `{"k1": 0, "b": 0}`, "apple", 5, "a.txt b.txt r1"},
		{"Go", `{"include": ["**/*.go"]}`, "apples", 5, "pkg"},
		{"Go with names", `{"include": ["**/*.go"], "split_identifiers": true}`, "apples", 5, "pkg.CountApples pkg"},
		{"everything that is not hidden", `{"include": ["**"], "exclude": []}`, "apples", 9, "a.txt image.png testdata/e.txt r1 b.txt pkg"},
		{"excluded", `{"exclude": ["data/**", "b.*"]}`, "apples", 9, "a.txt testdata/e.txt"},
		{"nothing included", `{"include": ["*.pdf"]}`, "apples", 9, ""},
		{"feedback finds what shares no word with the query", `{"feedback": {"model": "rm3"}}`, "limes", 5, "b.txt a.txt r1"},
		{"Bo1 too", `{"feedback": {"model": "bo1", "docs": 1, "terms": 5}}`, "limes", 5, "b.txt a.txt r1"},
		{"invalid UTF-8 in the query", `{}`, "\xffapples\xff", 1, "a.txt"},
		{"a huge query", `{}`, strings.Repeat("apples green ", 50_000), 1, "b.txt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Open(files, settings(t, c.settings))
			if err != nil {
				t.Fatal(err)
			}
			if got := keys(t, r, c.query, c.topK); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestItem(t *testing.T) {
	r, err := Open(files, settings(t, `{"include": ["**/*.jsonl", "**/*.go"], "file_times": true}`))
	if err != nil {
		t.Fatal(err)
	}
	item := r.Retrieve("pears", 1)[0]
	bm25 := item.Metadata["bm25"]
	delete(item.Metadata, "bm25")
	want := abi.Metadata{"retrieval_method": "bm25", "doc_id": "r1", "title": "Pears", "path": "data/c.jsonl"}
	if !reflect.DeepEqual(item.Metadata, want) {
		t.Errorf("metadata\n got %v\nwant %v", item.Metadata, want)
	}
	if score, ok := bm25.(float64); !ok || score <= 0 {
		t.Errorf("bm25 is %v", bm25)
	}
	if item.Content != "Pears\n\nPears are no apples." || !item.CreatedAt.Equal(modified) {
		t.Errorf("content %q, created %v", item.Content, item.CreatedAt)
	}
	item = r.Retrieve("CountApples", 1)[0]
	for key, want := range map[string]any{"package": "pkg", "symbol": "CountApples", "kind": "func"} {
		if item.Metadata[key] != want {
			t.Errorf("%s is %v, want %v", key, item.Metadata[key], want)
		}
	}
}

func TestFeedbackIsNamed(t *testing.T) {
	r, err := Open(files, settings(t, `{"feedback": {"model": "rm3"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Retrieve("pears", 1)[0].Metadata["retrieval_method"]; got != "bm25+rm3" {
		t.Errorf("retrieval_method is %v", got)
	}
}

func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		settings string
		files    fstest.MapFS
		want     string
	}{
		{`{"include": ["[a"]}`, files, `index /docs: pattern "[a": malformed`},
		{`{"max_file_bytes": 10}`, files, "index /docs: read a.txt: larger than 10 bytes (raise max_file_bytes"},
		{`{}`, fstest.MapFS{"x.jsonl": {Data: []byte("{}\n\nno json\n")}}, "index /docs: read x.jsonl line 3: invalid character"},
	} {
		if _, err := Open(c.files, settings(t, c.settings)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestEmptyFolder(t *testing.T) {
	r, err := Open(fstest.MapFS{}, settings(t, `{}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Retrieve("anything", 5); len(got) != 0 {
		t.Errorf("found %v", got)
	}
}

func TestValidate(t *testing.T) {
	for document, want := range map[string]string{
		`{"path": ""}`:                 "path: empty",
		`{"k1": -1}`:                   "k1 -1: not within 0..100",
		`{"b": 2}`:                     "b 2: not within 0..1",
		`{"title_weight": 0}`:          "title_weight 0: not within 1..100",
		`{"feedback": {"model": "x"}}`: `feedback: model "x": unknown (known: none, rm3, bo1)`,
		`{"feedback": {"model": "rm3", "docs": 0}}`:     "feedback: docs 0: not within 1..100",
		`{"feedback": {"model": "bo1", "weight": 2.5}}`: "feedback: weight 2.5: not within 0..1",
		`{"chunk_chars": 10}`:                           "chunk_chars 10: below 100",
		`{"max_file_bytes": 0}`:                         "max_file_bytes 0: below 1",
		`{"stop_words": "german"}`:                      `stop_words "german": unknown list`,
	} {
		var s Settings
		s.Defaults()
		if err := json.Unmarshal([]byte(document), &s); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", document, err, want)
		}
	}
	var s Settings
	if err := json.Unmarshal([]byte(`{"stop_words": 7}`), &s); err == nil {
		t.Error("a number passes for stop words")
	}
}

func TestStopWordsRoundTrip(t *testing.T) {
	for _, w := range []StopWords{{Name: "english"}, {Words: []string{"a", "b"}}} {
		data, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		var got StopWords
		if err := json.Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, w) {
			t.Errorf("%v became %s, then %v (%v)", w, data, got, err)
		}
	}
}

// TestStandardLibrary asks what newcomers to Go ask, and wants the package that
// answers among the first five.
func TestStandardLibrary(t *testing.T) {
	src := goenv.Sources(t)
	r, err := Open(os.DirFS(src), settings(t, `{
		"include": ["**/*.go"], "exclude": ["cmd/**", "**/internal/**", "**/testdata/**", "**/vendor/**"],
		"stop_words": "english", "split_identifiers": true, "title_weight": 2}`))
	if err != nil {
		t.Fatal(err)
	}
	for query, packages := range map[string]string{
		"How do I parse command line flags?":                    "flag",
		"How do I decode JSON into a struct?":                   "encoding/json encoding/json/v2",
		"How do I cancel work with a context deadline?":         "context",
		"How do I sort a slice?":                                "sort slices",
		"How do I make an HTTP client request with a timeout?":  "net/http",
		"How do I write structured logs?":                       "log/slog",
		"How do I format a time as a string?":                   "time",
		"How do I run an external command and read its output?": "os/exec",
		"How do I read a file line by line?":                    "bufio",
		"How do I compute a SHA-256 checksum?":                  "crypto/sha256",
		"How do I match a regular expression?":                  "regexp",
		"How do I wait for several goroutines to finish?":       "sync",
	} {
		var found []string
		rank := 0
		for i, item := range r.Retrieve(query, 5) {
			found = append(found, item.Key)
			if pkg, _ := item.Metadata["package"].(string); rank == 0 && strings.Contains(" "+packages+" ", " "+pkg+" ") {
				rank = i + 1
			}
		}
		t.Logf("%s %v", query, found)
		if rank == 0 {
			t.Errorf("%s none of %v is of %s", query, found, packages)
		}
	}
}
