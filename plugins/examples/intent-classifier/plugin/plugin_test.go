package plugin

import (
	"fmt"
	"strings"
	"testing"
)

var rules = []Rule{
	{Label: "code", Keywords: []string{"stack trace", "panic", "func", "compil*"}},
	{Label: "billing", Keywords: []string{"invoice", "refund*", "credit card"}, Weight: 2},
	{Label: "code", Keywords: []string{"error"}, Weight: 0.5},
}

func settings(t testing.TB, change func(*Settings)) *Settings {
	t.Helper()
	s := new(Settings)
	s.Defaults()
	s.Rules = rules
	if change != nil {
		change(s)
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

func ExampleClassify() {
	s := Settings{Default: "general", MinScore: 1, Rules: []Rule{{Label: "code", Keywords: []string{"stack trace", "compil*"}}}}
	if err := s.Validate(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(Classify("What does this stack trace mean?", &s))
	fmt.Println(Classify("What is for lunch?", &s))
	// Output:
	// code 2
	// general 0
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		name, query string
		label       string
		points      float64
	}{
		{"nothing", "", "general", 0},
		{"no keyword", "What is for lunch?", "general", 0},
		{"a word, in any case", "PANIC!", "code", 1},
		{"a part of a word is none", "panicked function", "general", 0},
		{"a phrase counts its words", "a stack-trace", "code", 2},
		{"half a phrase counts nothing", "stack of traces trace stack", "general", 0},
		{"a beginning", "it does not compile", "code", 1},
		{"the whole beginning", "compil", "code", 1},
		{"one keyword counts once", "panic panic panic", "code", 1},
		{"two words with one beginning too", "compiler compiles", "code", 1},
		{"rules of one label add up", "panic error", "code", 1.5},
		{"below the least score", "error", "general", 0},
		{"more points win", "invoice shows a panic", "billing", 2},
		{"equal points: mentioned first", "stack trace invoice", "code", 2},
		{"other scripts around it", "エラー panic です", "code", 1},
		{"invalid UTF-8", "\xffpanic\xff", "code", 1},
		{"a document", strings.Repeat("word ", 100_000) + "panic", "general", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			label, points := Classify(c.query, settings(t, nil))
			if label != c.label || points != c.points {
				t.Errorf("got %s %v, want %s %v", label, points, c.label, c.points)
			}
		})
	}
}

func TestMinScore(t *testing.T) {
	s := settings(t, func(s *Settings) { s.MinScore, s.Default = 0.5, "other" })
	if label, _ := Classify("error", s); label != "code" {
		t.Errorf("got %s, want code", label)
	}
	if label, _ := Classify("lunch", s); label != "other" {
		t.Errorf("got %s, want other", label)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		change func(*Settings)
		want   string
	}{
		{func(s *Settings) { s.Rules = nil }, "rules: none (give at least one label with keywords)"},
		{func(s *Settings) { s.Default = "" }, "default: empty (name the label of everything else)"},
		{func(s *Settings) { s.Rules = []Rule{{Label: "a"}} }, "rules: rule 1: without label or keywords"},
		{func(s *Settings) { s.Rules = []Rule{{Label: "a", Keywords: []string{"x"}, Weight: -1}} }, "rules: rule 1 (a): weight -1 is negative"},
		{func(s *Settings) { s.Rules = []Rule{{Label: "a", Keywords: []string{"…"}}} }, `rules: rule 1 (a): keyword "…": without any word`},
		{func(s *Settings) { s.Rules = []Rule{{Label: "a", Keywords: []string{"x y*"}}} }, `rules: rule 1 (a): keyword "x y*": * is for single words`},
	} {
		var s Settings
		s.Defaults()
		s.Rules = rules
		c.change(&s)
		if err := s.Validate(); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
