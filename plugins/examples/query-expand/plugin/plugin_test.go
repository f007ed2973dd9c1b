package plugin

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func settings(t testing.TB, change func(*Settings)) *Settings {
	t.Helper()
	s := new(Settings)
	s.Defaults()
	change(s)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

func ExampleVariants() {
	s := Settings{Synonyms: map[string][]string{"k8s": {"kubernetes"}}, MaxVariants: 4}
	if err := s.Validate(); err != nil {
		fmt.Println(err)
	}
	for _, v := range Variants("restart a K8s pod", &s) {
		fmt.Println(v)
	}
	// Output:
	// restart a K8s pod
	// restart a kubernetes pod
}

func TestVariants(t *testing.T) {
	table := map[string][]string{"car": {"automobile", "vehicle"}, "fast": {"quick"}, "sports car": {"roadster"}}
	for _, c := range []struct {
		name, query string
		change      func(*Settings)
		want        []string
	}{
		{"nothing", "", func(*Settings) {}, []string{""}},
		{"empty table", "a car", func(*Settings) {}, []string{"a car"}},
		{"empty query", "", func(s *Settings) { s.Synonyms = table }, []string{""}},
		{"one word", "a Car!", func(s *Settings) { s.Synonyms = table }, []string{"a Car!", "a automobile!", "a vehicle!"}},
		{"a part of a word is none", "carpet scar", func(s *Settings) { s.Synonyms = table }, []string{"carpet scar"}},
		{"the longest phrase", "old sports-car", func(s *Settings) { s.Synonyms = table }, []string{"old sports-car", "old roadster"}},
		{"several: all replaced first", "fast car", func(s *Settings) { s.Synonyms = table },
			[]string{"fast car", "quick automobile", "quick car", "fast automobile"}},
		{"several, with room", "fast car", func(s *Settings) { s.Synonyms, s.MaxVariants = table, 32 },
			[]string{"fast car", "quick automobile", "quick car", "fast automobile", "fast vehicle"}},
		{"at most one", "fast car", func(s *Settings) { s.Synonyms, s.MaxVariants = table, 1 }, []string{"fast car"}},
		{"both ways, siblings too", "a vehicle", func(s *Settings) { s.Synonyms = table }, []string{"a vehicle", "a car", "a automobile"}},
		{"one way", "a vehicle", func(s *Settings) { s.Synonyms, s.BothWays = table, false }, []string{"a vehicle"}},
		{"acronyms count as written", "it and IT", func(s *Settings) { s.Acronyms = map[string][]string{"IT": {"information technology"}} },
			[]string{"it and IT", "it and information technology"}},
		{"acronyms the other way", "Information Technology", func(s *Settings) { s.Acronyms = map[string][]string{"IT": {"information technology"}} },
			[]string{"Information Technology", "IT"}},
		{"plurals", "list of query flags", func(s *Settings) { s.Plurals = true },
			[]string{"list of query flags", "lists of query flags", "list of queries flags", "list of query flag"}},
		{"no variant twice", "car", func(s *Settings) { s.Synonyms = map[string][]string{"car": {"CAR", "auto", "Auto"}} }, []string{"car", "auto"}},
		{"other scripts", "東京 auto Ärger", func(s *Settings) { s.Synonyms = map[string][]string{"ärger": {"Verdruss"}, "東京": {"Tokyo"}} },
			[]string{"東京 auto Ärger", "Tokyo auto Verdruss", "Tokyo auto Ärger", "東京 auto Verdruss"}},
		{"invalid UTF-8", "\xffcar\xff", func(s *Settings) { s.Synonyms = map[string][]string{"car": {"auto"}} }, []string{"\xffcar\xff", "\xffauto\xff"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Variants(c.query, settings(t, c.change)); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestVariantsOfADocument(t *testing.T) {
	s := settings(t, func(s *Settings) {
		s.Synonyms = map[string][]string{"car": {"auto"}, "a b c d e f": {"g"}}
		s.Plurals, s.MaxVariants = true, MaxVariants
	})
	got := Variants(strings.Repeat("car a b c ", 100_000), s)
	if len(got) != MaxVariants {
		t.Errorf("%d variants, want %d", len(got), MaxVariants)
	}
}

func TestOtherNumber(t *testing.T) {
	for word, want := range map[string]string{
		"flags": "flag", "flag": "flags", "queries": "query", "query": "queries", "keys": "key", "delay": "delays",
		"classes": "class", "class": "classes", "boxes": "box", "patch": "patches", "bus": "", "status": "statuses",
		"caches": "cache", "patches": "patch", "approaches": "approach", "sizes": "size", "that": "", "the": "", "x86s": "", "größe": "",
	} {
		if got := otherNumber(word); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	for want, s := range map[string]Settings{
		"max_variants 0: not within 1..32":             {},
		"max_variants 33: not within 1..32":            {MaxVariants: 33},
		`synonyms: "…" of entry "…": without any word`: {MaxVariants: 4, Synonyms: map[string][]string{"…": {"dots"}}},
		`acronyms: "" of entry "IT": without any word`: {MaxVariants: 4, Acronyms: map[string][]string{"IT": {""}}},
	} {
		if err := s.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
