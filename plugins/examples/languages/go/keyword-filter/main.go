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

// Validate derives what each call needs. The SDK calls it once per settings.
func (s *Settings) Validate() error {
	s.words = strings.FieldsFunc(lower(s.Keywords), func(r rune) bool { return r == ' ' })
	return nil
}

func init() { filter.Handle(keep) }

func keep(r *pdk.Request, s *Settings) (rows []int, err error) {
	if len(s.words) == 0 {
		return nil, pdk.ErrNoChange
	}
	all := s.Match == "all"
	for i := range r.Items.Len() {
		if matches(lower(r.Items.Text(i)), s.words, all) {
			rows = append(rows, i)
		}
	}
	return rows, nil
}

func matches(text string, words []string, all bool) bool {
	for _, word := range words {
		if strings.Contains(text, word) != all {
			return !all
		}
	}
	return all
}

// lower lowers the letters of ASCII and no others, as strings.ToLower would.
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func main() {}
