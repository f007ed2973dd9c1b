package host_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
)

var updateLanguages = flag.Bool("update-languages", false, "write testdata/languages anew from the reference in Go")

// languageCase is what the examples of every language must answer to a request.
type languageCase struct {
	Name    string            `json:"name"`
	Request *abi.ItemsRequest `json:"request"`
	// Keep are the rows that stay, for a filter; all rows where nothing changes.
	Keep []int `json:"keep,omitzero"`
	// Scores are the scores by row, to the bit; absent where nothing changes.
	Scores []float64 `json:"scores,omitempty"`
	// Order are the rows that the host has after the step: sorted and cut, unless
	// nothing changes.
	Order []int `json:"order,omitzero"`
}

func languageFile(plugin string) string {
	return filepath.Join("..", "testdata", "languages", plugin+".json")
}

// languageCases reads the cases of a plugin.
func languageCases(t *testing.T, plugin string) (cases []languageCase) {
	t.Helper()
	b, err := os.ReadFile(languageFile(plugin))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatalf("no cases for %s", plugin)
	}
	return cases
}

// TestLanguageCases holds the committed cases to the reference.
func TestLanguageCases(t *testing.T) {
	for plugin, answer := range map[string]func(*languageCase){"keyword-filter": answerFilter, "lexical-rerank": answerRerank} {
		cases := languageRequests(plugin)
		for i := range cases {
			answer(&cases[i])
		}
		want := new(bytes.Buffer)
		enc := json.NewEncoder(want)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		if err := enc.Encode(cases); err != nil {
			t.Fatal(err)
		}
		if *updateLanguages {
			if err := os.WriteFile(languageFile(plugin), want.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(languageFile(plugin))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s differs from the reference (go test ./host -run LanguageCases -update-languages)", languageFile(plugin))
		}
	}
}

// answerFilter is keyword-filter, in other words than the plugins use.
func answerFilter(c *languageCase) {
	var s struct{ Keywords, Match string }
	if err := json.Unmarshal(c.Request.Settings, &s); err != nil {
		panic(err)
	}
	words := strings.FieldsFunc(asciiLower(s.Keywords), func(r rune) bool { return r == ' ' })
	c.Keep = []int{}
	for row, it := range c.Request.Items {
		found := 0
		for _, w := range words {
			if strings.Contains(asciiLower(it.Content), w) {
				found++
			}
		}
		if len(words) == 0 || found == len(words) || found > 0 && s.Match != "all" {
			c.Keep = append(c.Keep, row)
		}
	}
}

// asciiLower lowers the letters A to Z and leaves all other bytes.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// lexicalTokens are the runs of ASCII letters and digits and of bytes from 0x80.
func lexicalTokens(s string) (tokens []string) {
	s = asciiLower(s)
	for s != "" {
		n := 0
		for n < len(s) && (s[n] >= 0x80 || s[n] >= 'a' && s[n] <= 'z' || s[n] >= '0' && s[n] <= '9') {
			n++
		}
		if n > 0 {
			tokens = append(tokens, s[:n])
		}
		s = s[min(n+1, len(s)):]
	}
	return tokens
}

// lexicalTerms are the distinct tokens of a query, at most 32.
func lexicalTerms(query string) (terms []string) {
	for _, t := range lexicalTokens(query) {
		if len(terms) < 32 && !slices.Contains(terms, t) {
			terms = append(terms, t)
		}
	}
	return terms
}

// answerRerank is lexical-rerank. The conversion keeps compilers from fusing a
// product and a sum, which would round once instead of twice.
func answerRerank(c *languageCase) {
	terms, items := lexicalTerms(c.Request.Query.Text), c.Request.Items
	counts, df, lens := make([][]float64, len(items)), make([]float64, len(terms)), make([]float64, len(items))
	total := 0.0
	for row, it := range items {
		counts[row] = make([]float64, len(terms))
		for _, token := range lexicalTokens(it.Content) {
			lens[row]++
			if i := slices.Index(terms, token); i >= 0 {
				counts[row][i]++
			}
		}
		total += lens[row]
		for i, tf := range counts[row] {
			df[i] += min(tf, 1)
		}
	}
	c.Order = make([]int, len(items))
	for row := range c.Order {
		c.Order[row] = row
	}
	if len(terms) > 0 && total > 0 {
		n := float64(len(items))
		avg := total / n
		for row := range items {
			norm := float64(1.2 * (0.25 + 0.75*lens[row]/avg))
			var score, sum float64
			for i, tf := range counts[row] {
				w := 1 - df[i]/(n+1)
				score += w * tf / (tf + norm)
				sum += w
			}
			c.Scores = append(c.Scores, score/sum)
		}
		slices.SortStableFunc(c.Order, func(a, b int) int {
			if c.Scores[a] == c.Scores[b] {
				return 0
			} else if c.Scores[a] > c.Scores[b] {
				return -1
			}
			return 1
		})
	}
	if k := c.Request.TopK; c.Scores != nil && k > 0 && k < len(c.Order) {
		c.Order = c.Order[:k]
	}
}

// languageRequests are the requests that the examples are tried with.
func languageRequests(plugin string) (cases []languageCase) {
	add := func(name, query, settings string, topK int, texts ...string) {
		r := &abi.ItemsRequest{Query: abi.Query{Text: query}, Columns: []string{"text"}, TopK: topK, Settings: json.RawMessage(settings)}
		r.Items = []abi.Item{}
		for _, text := range texts {
			r.Items = append(r.Items, abi.Item{Content: text})
		}
		cases = append(cases, languageCase{Name: name, Request: r})
	}
	if plugin == "keyword-filter" {
		addFilterCases(add)
	} else {
		addRerankCases(add)
	}
	return cases
}

var animals = []string{"The quick brown Fox", "a lazy dog", "foxes and DOGS", "", "nothing here"}

func addFilterCases(add func(name, query, settings string, topK int, texts ...string)) {
	add("any of two", "", `{"keywords": "fox dog"}`, 0, animals...)
	add("all of two", "", `{"keywords": "fox dog", "match": "all"}`, 0, animals...)
	add("case", "", `{"keywords": "FOX", "match": "any"}`, 0, animals...)
	add("no keywords", "", `{}`, 0, animals...)
	add("only spaces", "", `{"keywords": "   "}`, 0, animals...)
	add("many spaces", "", `{"keywords": "  fox    lazy "}`, 0, animals...)
	add("none stays", "", `{"keywords": "zebra"}`, 0, animals...)
	add("all stay", "", `{"keywords": "a e", "match": "any"}`, 0, "a", "e", "ae")
	add("no items", "", `{"keywords": "fox"}`, 0)
	add("letters beyond ASCII are exact", "", `{"keywords": "Épée straße", "match": "any"}`, 0, "épée", "Épée", "une ÉpéE", "STRAßE", "STRASSE")
	add("other scripts", "", `{"keywords": "水 вода 😀", "match": "any"}`, 0, "飲み水です", "Вода", "вода", "a\U0001F600b", "мокрая")
	add("characters that JSON escapes", "", `{"keywords": "ab"}`, 0, "a\"b", "\"ab\"", "a\\b\\ab", "a\nb\tab", "a\u0000b", "\u0000ab\u001f", "</ab>&", "a\u2028ab")
	add("combining marks", "", `{"keywords": "e`+"\u0301"+`"}`, 0, "cafe\u0301", "caf\u00e9", "\u0301e", "E\u0301")
	add("around the letters", "", `{"keywords": "@[`+"`"+`{"}`, 0, "@[`{", "`{@[", "@[`", "x@[`{x")
	add("repeated beginnings", "", `{"keywords": "aab"}`, 0, "aaab", "aaaaab", "aab", "aaaa", "ababaab")
	add("long", "", `{"keywords": "needle"}`, 0, strings.Repeat("hay ", 500)+"Needle", strings.Repeat("needl ", 300), "needle"+strings.Repeat(" hay", 500))
}

func addRerankCases(add func(name, query, settings string, topK int, texts ...string)) {
	add("two terms", "quick fox?", `{}`, 0, animals...)
	add("cut", "fox dog", `{}`, 2, "a dog", "fox, dog and fox", "fox", "dogs")
	add("no terms", "?! --", `{}`, 0, animals...)
	add("no query", "", `{}`, 3, animals...)
	add("no items", "fox", `{}`, 0)
	add("one item", "fox", `{}`, 0, "fox")
	add("empty items", "fox", `{}`, 1, "", "...", " \n\t")
	add("ties keep their order", "fox", `{}`, 0, "one fox", "two fox", "no", "fox red", "dog red")
	add("repeated terms", "Fox fox FOX dog fox", `{}`, 0, "fox fox fox", "FOX dog", "dog dog dog dog", "Dog fox, fox dog")
	add("beyond ASCII", "Épée 水を 42", `{}`, 0, "épée 42", "Épée", "水を飲む 42", "水を-飲む", "a42 42b 42")
	add("escapes", "a\"b c\\d", `{}`, 0, "a\nb", "\"c\" \\d", "a\u0000c", "b\tb/d", "\u2028a")
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("t%d", i))
	}
	add("more than 32 terms", strings.Join(many, " "), `{}`, 0, strings.Join(many[30:], " "), strings.Join(many[:4], " "), "t31 t32 t33", "t39 t31")
	add("long text", "needle in hay", `{}`, 0, strings.Repeat("hay ", 700)+"needle", "needle", strings.Repeat("in ", 90)+"hay")
	add("sixty items", "alpha beta gamma delta", `{}`, 7, sixty()...)
}

// sixty are texts of words drawn by a fixed recurrence.
func sixty() (texts []string) {
	words := strings.Fields("alpha beta gamma delta one two three four five six")
	x := uint32(1)
	for range 60 {
		var text []string
		x = x*1664525 + 1013904223
		for range 1 + x>>28 {
			x = x*1664525 + 1013904223
			text = append(text, words[(x>>16)%uint32(len(words))])
		}
		texts = append(texts, strings.Join(text, " "))
	}
	return texts
}
