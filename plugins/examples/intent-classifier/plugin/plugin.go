// Package plugin finds the intent of a query by keywords.
package plugin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/words"
)

// Settings are the settings of a step.
type Settings struct {
	// Rules give points to labels. Required.
	Rules []Rule `json:"rules"`
	// Default is the label when no other reaches MinScore. Default "general".
	Default string `json:"default"`
	// MinScore is the least number of points a label needs. Default 1.
	MinScore float64 `json:"min_score"`

	labels   []string            // by first mention
	phrases  map[string][]credit // words joined by spaces → what they are worth
	prefixes map[string][]credit
	longest  int // words in the longest phrase
	shortest int // bytes in the shortest prefix
}

// Rule gives points to a label for keywords.
type Rule struct {
	Label string `json:"label"`
	// Keywords are words (error), phrases (stack trace), or beginnings of words
	// (deploy*), compared without regard to case and punctuation.
	Keywords []string `json:"keywords"`
	// Weight is the number of points for each word of a keyword that occurs,
	// however often it does. Default 1.
	Weight float64 `json:"weight"`
}

// credit is the points that a keyword gives to a label.
type credit struct {
	label  int
	points float64
}

// Defaults sets the values that the settings leave out.
func (s *Settings) Defaults() { *s = Settings{Default: "general", MinScore: 1} }

// Validate refuses rules that can never apply, and prepares the settings for use.
func (s *Settings) Validate() error {
	if len(s.Rules) == 0 {
		return errors.New("rules: none (give at least one label with keywords)")
	}
	if s.Default == "" {
		return errors.New("default: empty (name the label of everything else)")
	}
	s.labels, s.longest, s.shortest = nil, 0, 0
	s.phrases, s.prefixes = make(map[string][]credit), make(map[string][]credit)
	numbers := make(map[string]int)
	for i, r := range s.Rules {
		if r.Label == "" || len(r.Keywords) == 0 {
			return fmt.Errorf("rules: rule %d: without label or keywords", i+1)
		}
		if r.Weight < 0 {
			return fmt.Errorf("rules: rule %d (%s): weight %v is negative", i+1, r.Label, r.Weight)
		}
		if r.Weight == 0 {
			r.Weight = 1
		}
		if _, known := numbers[r.Label]; !known {
			numbers[r.Label] = len(s.labels)
			s.labels = append(s.labels, r.Label)
		}
		for _, keyword := range r.Keywords {
			if err := s.addKeyword(keyword, credit{numbers[r.Label], r.Weight}); err != nil {
				return fmt.Errorf("rules: rule %d (%s): %w", i+1, r.Label, err)
			}
		}
	}
	return nil
}

// addKeyword adds a keyword that gives the points of c for each of its words.
func (s *Settings) addKeyword(keyword string, c credit) error {
	var ws []string
	for scan := (words.Scanner{Text: keyword}); scan.Next(); {
		ws = append(ws, string(scan.Word()))
	}
	phrase := strings.Join(ws, " ")
	switch prefix := strings.HasSuffix(keyword, "*"); {
	case len(ws) == 0:
		return fmt.Errorf("keyword %q: without any word", keyword)
	case prefix && len(ws) > 1:
		return fmt.Errorf("keyword %q: * is for single words", keyword)
	case prefix:
		s.prefixes[phrase] = append(s.prefixes[phrase], c)
		if s.shortest == 0 || len(phrase) < s.shortest {
			s.shortest = len(phrase)
		}
	default:
		c.points *= float64(len(ws))
		s.phrases[phrase] = append(s.phrases[phrase], c)
		s.longest = max(s.longest, len(ws))
	}
	return nil
}

// maxWords bounds the work on a query that is a whole document.
const maxWords = 5_000

// Classify returns the label with the most points, and its points. Among equals it returns
// the label that the rules mention first. Below MinScore it returns the default and 0.
func Classify(query string, s *Settings) (label string, points float64) {
	sums := make([]float64, len(s.labels))
	paid := make(map[string]bool) // keywords that have been counted
	pay := func(kind, keyword string, credits []credit) {
		if len(credits) == 0 || paid[kind+keyword] {
			return
		}
		paid[kind+keyword] = true
		for _, c := range credits {
			sums[c.label] += c.points
		}
	}
	var last []string // the words up to here, as many as the longest phrase has
	n := 0
	for scan := (words.Scanner{Text: query}); scan.Next() && n < maxWords; n++ {
		word := string(scan.Word())
		if last = append(last, word); len(last) > max(s.longest, 1) {
			last = last[1:]
		}
		for from := range last {
			phrase := strings.Join(last[from:], " ")
			pay("", phrase, s.phrases[phrase])
		}
		if s.shortest > 0 {
			for end := s.shortest; end <= len(word); end++ {
				pay("*", word[:end], s.prefixes[word[:end]])
			}
		}
	}
	label = s.Default
	for i, sum := range sums {
		if sum > points && sum >= s.MinScore {
			label, points = s.labels[i], sum
		}
	}
	return label, points
}
