// Package plugin condenses turns without a model. Of each turn it keeps the sentence whose
// words occur most often in the conversation.
package plugin

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/words"
)

// Settings are the settings of the plugin.
type Settings struct {
	// MaxChars bounds the summary in characters, 100 to 100000. Default 2000.
	MaxChars int `json:"max_chars"`
	// MaxLine bounds a line in characters, 20 to 10000. Default 160.
	MaxLine int `json:"max_line"`
	// Tools says whether to summarize the results of tools as well. Default true.
	Tools bool `json:"tools"`
}

// Defaults sets the values that the settings leave out.
func (s *Settings) Defaults() { *s = Settings{MaxChars: 2000, MaxLine: 160, Tools: true} }

// Validate refuses values out of their range.
func (s *Settings) Validate() error {
	switch {
	case s.MaxChars < 100 || s.MaxChars > 100_000:
		return fmt.Errorf("max_chars %d: not within 100..100000", s.MaxChars)
	case s.MaxLine < 20 || s.MaxLine > 10_000:
		return fmt.Errorf("max_line %d: not within 20..10000", s.MaxLine)
	case s.MaxLine > s.MaxChars:
		return errors.New("max_line is larger than max_chars (raise max_chars)")
	}
	return nil
}

// Summarize returns the lines of the previous summary and one line for each turn that has
// text. When the summary is too long, it drops the oldest lines, and a first line says how
// many were dropped.
func Summarize(turns []abi.Turn, previous string, s *Settings) string {
	left, lines := split(previous)
	known := count(turns)
	for i := range turns {
		t := &turns[i]
		if t.Role == "tool" && !s.Tools {
			continue
		}
		if best := known.best(t.Content); best != "" {
			lines = append(lines, cut("- "+t.Role+": "+best, s.MaxLine))
		}
	}
	room := s.MaxChars - utf8.RuneCountInString(leftOut(max(left, 1)+len(lines))) - 1
	first := len(lines)
	for first > 0 {
		if room -= utf8.RuneCountInString(lines[first-1]) + 1; room < 0 {
			break
		}
		first--
	}
	if left += first; left > 0 {
		lines = append([]string{leftOut(left)}, lines[first:]...)
	}
	return strings.Join(lines, "\n")
}

const (
	leftPrefix = "("
	leftSuffix = " earlier turns left out)"
)

func leftOut(n int) string { return leftPrefix + strconv.Itoa(n) + leftSuffix }

// split returns the number of dropped turns that a summary states, and its other lines.
func split(summary string) (left int, lines []string) {
	for line := range strings.SplitSeq(summary, "\n") {
		if n, ok := strings.CutSuffix(strings.TrimPrefix(line, leftPrefix), leftSuffix); ok && lines == nil {
			if number, err := strconv.Atoi(n); err == nil && number > 0 && number < 1<<40 {
				left = number
				continue
			}
		}
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return left, lines
}

// counts is how often each word occurs in all turns.
type counts map[string]int

func count(turns []abi.Turn) counts {
	c := counts{}
	for i := range turns {
		s := words.Scanner{Text: turns[i].Content}
		for s.Next() {
			c[string(s.Word())]++
		}
	}
	return c
}

// shortWord is the largest length of a word that does not count. Articles and similar words
// are short in most languages.
const shortWord = 3

// best returns the sentence whose longer words occur most often on average, the first among
// equals. A sentence of few words counts less.
func (c counts) best(text string) string {
	best, most := "", -1.0
	for _, sentence := range sentences(text) {
		sum, n := 0, 0
		s := words.Scanner{Text: sentence}
		for s.Next() {
			if word := s.Word(); utf8.RuneCount(word) > shortWord {
				sum += c[string(word)]
				n++
			}
		}
		if score := float64(sum) / float64(n+shortWord); score > most {
			best, most = sentence, score
		}
	}
	return best
}

// sentences cuts a text at the ends of sentences and lines. Each result is on one line.
func sentences(text string) (list []string) {
	start := 0
	add := func(end int) {
		if s := strings.Join(strings.FieldsFunc(text[start:end], blank), " "); s != "" {
			list = append(list, s)
		}
		start = end
	}
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		switch r {
		case '\n', '\r', '。', '！', '？':
			add(end)
		case '.', '!', '?':
			if next, _ := utf8.DecodeRuneInString(text[end:]); end == len(text) || unicode.IsSpace(next) {
				add(end)
			}
		}
	}
	add(len(text))
	return list
}

func blank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// cut shortens a line to a number of characters.
func cut(line string, most int) string {
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	runes := []rune(line)
	return strings.TrimRightFunc(string(runes[:most-1]), unicode.IsSpace) + "…"
}
