// Command keyword-filter is a plugin that keeps the items that contain any, or
// all, of some words.
package main

import (
	"strings"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/filter"
)

// Settings are the settings of a step; plugin.yaml has their schema.
type Settings struct {
	Keywords string `json:"keywords"`
	Match    string `json:"match"`

	words []string
}

// Validate prepares values that each call needs. The SDK calls it once for each settings.
func (s *Settings) Validate() error {
	keywords := []byte(s.Keywords)
	for i, c := range keywords {
		keywords[i] = lower(c)
	}
	s.words = strings.FieldsFunc(string(keywords), func(r rune) bool { return r == ' ' })
	return nil
}

func init() { filter.Handle(keep) }

func keep(r *pdk.Request, s *Settings) (rows []int, err error) {
	if len(s.words) == 0 {
		return nil, pdk.ErrNoChange
	}
	all := s.Match == "all"
	for i := range r.Items.Len() {
		if matches(r.Items.Text(i), s.words, all) {
			rows = append(rows, i)
		}
	}
	return rows, nil
}

func matches(text string, words []string, all bool) bool {
	for _, word := range words {
		if contains(text, word) != all {
			return !all
		}
	}
	return all
}

// contains reports whether a text contains a word, which must be in lower case. It does not
// copy the text.
func contains(text, word string) bool {
	head, tail := word[0], word[1:]
	for i := range len(text) - len(tail) {
		if lower(text[i]) == head && hasPrefix(text[i+1:], tail) {
			return true
		}
	}
	return false
}

// hasPrefix reports whether a text begins with a prefix. The text must be at least as long.
func hasPrefix(text, prefix string) bool {
	for i := range len(prefix) {
		if lower(text[i]) != prefix[i] {
			return false
		}
	}
	return true
}

// lower converts ASCII letters to lower case, and no others, unlike strings.ToLower.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func main() {}
