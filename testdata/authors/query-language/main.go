// Command query-language is a plugin that labels a query with its language: German, French or
// English, by their commonest words.
package main

import (
	"strings"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/classify"
)

var common = []struct{ label, words string }{
	{"de", " der die das und ist wie nicht ein eine mit "},
	{"fr", " le la les et est que pas un une avec "},
}

// Settings are the settings of a step; plugin.yaml has their schema.
type Settings struct {
	Fallback string `json:"fallback"`
}

func init() { classify.Handle(label) }

func label(q *pdk.Query, s *Settings) (string, error) {
	best, most := s.Fallback, 0
	for _, l := range common {
		n := 0
		for _, w := range strings.Fields(strings.ToLower(q.Text)) {
			if strings.Contains(l.words, " "+w+" ") {
				n++
			}
		}
		if n > most {
			best, most = l.label, n
		}
	}
	return best, nil
}

func main() {}
