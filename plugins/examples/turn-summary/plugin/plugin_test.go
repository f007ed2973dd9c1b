package plugin

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
)

func settings(change func(*Settings)) *Settings {
	s := new(Settings)
	s.Defaults()
	if change != nil {
		change(s)
	}
	return s
}

func ExampleSummarize() {
	s := new(Settings)
	s.Defaults()
	turns := []abi.Turn{
		{Role: "user", Content: "Hello. The deploy of the billing service fails."},
		{Role: "tool", Content: "exit 1\nbilling service: port taken"},
		{Role: "assistant", Content: "The billing service cannot bind its port. Sorry."},
	}
	fmt.Println(Summarize(turns, "- user: first of all", s))
	// Output:
	// - user: first of all
	// - user: The deploy of the billing service fails.
	// - tool: billing service: port taken
	// - assistant: The billing service cannot bind its port.
}

func TestSummarize(t *testing.T) {
	turns := []abi.Turn{{Role: "user", Content: "one"}, {Role: "tool", Content: "two"}, {Role: "user", Content: " \n "}}
	for _, tt := range []struct {
		name, previous string
		change         func(*Settings)
		want           string
	}{
		{"first", "", nil, "- user: one\n- tool: two"},
		{"more", "- user: zero", nil, "- user: zero\n- user: one\n- tool: two"},
		{"no tools", "", func(s *Settings) { s.Tools = false }, "- user: one"},
		{"left out before", "(3 earlier turns left out)\n- user: zero", nil, "(3 earlier turns left out)\n- user: zero\n- user: one\n- tool: two"},
		{"what only looks like it", "- user: zero\n(x earlier turns left out)", nil, "- user: zero\n(x earlier turns left out)\n- user: one\n- tool: two"},
		{"oldest leave", "(3 earlier turns left out)\n- user: " + strings.Repeat("z", 80), func(s *Settings) { s.MaxChars = 100 },
			"(4 earlier turns left out)\n- user: one\n- tool: two"},
	} {
		if got := Summarize(turns, tt.previous, settings(tt.change)); got != tt.want {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// The summary never grows beyond its bound, however often it is made anew, and
// every turn is in it or counted.
func TestBounds(t *testing.T) {
	s, summary := settings(func(s *Settings) { s.MaxChars, s.MaxLine = 300, 40 }), ""
	for round := range 50 {
		var turns []abi.Turn
		for i := range 7 {
			turns = append(turns, abi.Turn{Role: "user", Content: fmt.Sprintf("turn %d of round %d: %s.", i, round, strings.Repeat("ü", i*10))})
		}
		summary = Summarize(turns, summary, s)
		if n := utf8.RuneCountInString(summary); n > s.MaxChars || !utf8.ValidString(summary) {
			t.Fatalf("round %d: %d characters:\n%s", round, n, summary)
		}
		left, lines := split(summary)
		if left+len(lines) != 7*(round+1) {
			t.Fatalf("round %d: %d turns left out and %d lines:\n%s", round, left, len(lines), summary)
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > s.MaxLine {
				t.Fatalf("a line is too long: %s", line)
			}
		}
	}
}

func TestSentences(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "[]",
		"v1.2 is out. Get it!\nNow": `["v1.2 is out." "Get it!" "Now"]`,
		"終わり。始め":                    `["終わり。" "始め"]`,
		"a\x00b\t c":                `["a b c"]`,
	} {
		if got := fmt.Sprintf("%q", sentences(text)); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, change := range []func(*Settings){
		func(s *Settings) { s.MaxChars = 99 }, func(s *Settings) { s.MaxLine = 10_001 },
		func(s *Settings) { s.MaxChars, s.MaxLine = 100, 101 },
	} {
		if err := settings(change).Validate(); err == nil {
			t.Error("accepted")
		}
	}
	if err := settings(nil).Validate(); err != nil {
		t.Error(err)
	}
}

func FuzzSummarize(f *testing.F) {
	f.Add("One. Two!", "(1 earlier turns left out)\nx")
	f.Fuzz(func(t *testing.T, content, previous string) {
		s := settings(func(s *Settings) { s.MaxChars, s.MaxLine = 200, 50 })
		turns := []abi.Turn{{Role: "user", Content: content}, {Role: "tool", Content: previous}}
		summary := Summarize(turns, previous, s)
		if n := utf8.RuneCountInString(summary); n > s.MaxChars {
			t.Fatalf("%d characters", n)
		}
		if again := Summarize(turns, previous, s); again != summary {
			t.Fatal("two summaries differ")
		}
	})
}
