package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// banned are words that a reader of errors, help and documents should not meet: programs do not
// know, want or tell, and what has a name in the trade is called by it.
var banned = []struct{ words, instead string }{
	{`knows|(does|do|did) not know|(is|are) not known`, "supports, has, is unknown"},
	{`whoever|who asks`, "the client, authentication"},
	{`mend|mends|mended|mending`, "fix"},
	{`the seed`, "the name of the program or format"},
	{`mistakes?`, "error"},
	{`other bytes`, "does not match its digest"},
	{`tells?|told`, "print, report, state"},
	{`wants`, "needs, expects"},
	{`anew`, "again"},
	{`lies`, "is"},
	{`in vain`, "fails"},
	{`(is|are) gone`, "was removed, no longer exists"},
	{`taken away|takes? away`, "removed"},
}

// allowed are the places of the texts that are not about programs.
var allowed = regexp.MustCompile(`^internal/testkit/agentdemo/|^internal/factmodel/|^testdata/|^docs/images/`)

// The literals of the product are its errors, its help, its log lines and the descriptions of its keys.
func TestWordsOfTheTrade(t *testing.T) {
	checked := 0
	for name, text := range markdown(t) {
		for i, line := range strings.Split(text, "\n") {
			checkWords(t, name, i+1, line)
		}
	}
	for _, area := range []string{"abi", "anchor", "cluster", "cmd", "host", "internal", "pipeline", "registry", "server", "store", "telemetry", "tokens", "usage"} {
		err := filepath.WalkDir(filepath.Join(root, area), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() && (e.Name() == "testdata" || e.Name() == "templates") {
				return orSkip(err)
			}
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				checked += checkLiterals(t, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked < 5000 {
		t.Errorf("checked %d literals, want those of the product", checked)
	}
}

// orSkip is the error, or that which leaves a folder out.
func orSkip(err error) error {
	if err == nil {
		err = fs.SkipDir
	}
	return err
}

// checkLiterals checks the literals of a file that are more than a word, and counts them.
func checkLiterals(t *testing.T, path string) (checked int) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	name, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil && strings.Contains(text, " ") {
				checked++
				checkWords(t, filepath.ToSlash(name), fset.Position(l.Pos()).Line, text)
			}
		}
		return true
	})
	return checked
}

var bannedWords = func() []*regexp.Regexp {
	out := make([]*regexp.Regexp, len(banned))
	for i, b := range banned {
		out[i] = regexp.MustCompile(`(?i)\b(` + b.words + `)\b`)
	}
	return out
}()

func checkWords(t *testing.T, name string, line int, text string) {
	t.Helper()
	if allowed.MatchString(name) {
		return
	}
	for i, re := range bannedWords {
		if found := re.FindString(text); found != "" {
			t.Errorf("%s:%d: %q: say %s instead\n%.200s", name, line, found, banned[i].instead, text)
		}
	}
}
