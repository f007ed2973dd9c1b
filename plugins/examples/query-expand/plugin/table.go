package plugin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/words"
)

// match is a range of the query, and the alternatives for it.
type match struct {
	start, end int
	other      []string
}

// table maps phrases to alternatives. A phrase is a list of words joined by single spaces.
type table struct {
	folded  map[string][]string // by phrase in lower case
	exact   map[string][]string // by phrase as written
	longest int                 // words in the longest phrase
}

func newTable() table {
	return table{folded: make(map[string][]string), exact: make(map[string][]string)}
}

// add adds an entry. With bothWays, comparing alternatives always ignores case.
func (t *table) add(key string, others []string, exact, bothWays bool) error {
	family := append([]string{key}, others...)
	for i, member := range family {
		lower, written := phrase(member)
		if lower == "" {
			return fmt.Errorf("%q of entry %q: without any word", member, key)
		}
		if i > 0 && !bothWays {
			continue
		}
		t.longest = max(t.longest, 1+strings.Count(lower, " "))
		into, as := t.folded, lower
		if i == 0 && exact {
			into, as = t.exact, written
		}
		for j, other := range family {
			if j != i && !slices.Contains(into[as], other) {
				into[as] = append(into[as], other)
			}
		}
	}
	return nil
}

// phrase returns the words of a text joined by spaces: in lower case, and as written.
func phrase(text string) (lower, written string) {
	var ls, ws []string
	for s := (words.Scanner{Text: text}); s.Next(); {
		ls = append(ls, string(s.Word()))
		ws = append(ws, text[s.Start():s.End()])
	}
	return strings.Join(ls, " "), strings.Join(ws, " ")
}

// matches returns the phrases of the query that are in the table: the longest at each place,
// without overlaps.
func (t *table) matches(query string) (found []match) {
	places := scan(query)
	for i := 0; i < len(places); {
		m, n := t.longestAt(query, places[i:])
		if n == 0 {
			i++
			continue
		}
		found = append(found, m)
		i += n
	}
	return found
}

// longestAt returns the longest phrase of the table that begins at the first of places, and
// its number of words, 0 when there is none.
func (t *table) longestAt(query string, places []place) (match, int) {
	for n := min(t.longest, len(places)); n > 0; n-- {
		var lower, written []string
		for _, p := range places[:n] {
			lower = append(lower, p.lower)
			written = append(written, query[p.start:p.end])
		}
		others := t.exact[strings.Join(written, " ")]
		if others == nil {
			others = t.folded[strings.Join(lower, " ")]
		}
		if len(others) > 0 {
			return match{places[0].start, places[n-1].end, others}, n
		}
	}
	return match{}, 0
}

// place is the range of a word in the query.
type place struct {
	lower      string
	start, end int
}

// maxQueryWords bounds the work on a query that is a whole document.
const maxQueryWords = 1000

func scan(query string) (places []place) {
	for s := (words.Scanner{Text: query}); s.Next() && len(places) < maxQueryWords; {
		places = append(places, place{string(s.Word()), s.Start(), s.End()})
	}
	return places
}
