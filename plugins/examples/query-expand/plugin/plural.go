package plugin

import "strings"

// minPlural is the length from which a word may be a noun. Shorter words mostly are not.
const minPlural = 4

// plurals returns the words of the query that have a singular or a plural.
func plurals(query string) (found []match) {
	for _, p := range scan(query) {
		if other := otherNumber(p.lower); other != "" {
			found = append(found, match{p.start, p.end, []string{other}})
		}
	}
	return found
}

// otherNumber returns the singular of a regular English plural, or the plural of a word that
// may be a singular noun. It returns "" for short words and for words with characters other
// than plain letters.
func otherNumber(word string) string {
	if len(word) < minPlural || functionWord[word] {
		return ""
	}
	for _, c := range []byte(word) {
		if c < 'a' || c > 'z' {
			return ""
		}
	}
	for _, ending := range []struct{ plural, singular string }{
		{"ies", "y"}, {"sses", "ss"}, {"shes", "sh"}, {"xes", "x"},
		{"tches", "tch"}, {"nches", "nch"}, {"rches", "rch"}, {"eaches", "each"}, {"oaches", "oach"}, {"zes", "ze"},
	} {
		if stem, ok := strings.CutSuffix(word, ending.plural); ok {
			return stem + ending.singular
		}
	}
	switch {
	case hasAnySuffix(word, "ss", "us", "is"):
		return word + "es"
	case strings.HasSuffix(word, "s"):
		return word[:len(word)-1]
	case hasAnySuffix(word, "x", "z", "ch", "sh"):
		return word + "es"
	case strings.HasSuffix(word, "y") && !hasAnySuffix(word, "ay", "ey", "oy", "uy"):
		return word[:len(word)-1] + "ies"
	}
	return word + "s"
}

func hasAnySuffix(word string, endings ...string) bool {
	for _, ending := range endings {
		if strings.HasSuffix(word, ending) {
			return true
		}
	}
	return false
}

// functionWord has the common words of at least minPlural letters that are not nouns.
var functionWord = func() map[string]bool {
	known := make(map[string]bool)
	for _, w := range strings.Fields(`about above after again against also although always among another
		because been before being below between both cannot could does doing done down during each even ever
		every from further have having here hers into itself just less like made make many might more most
		much must never only other ought ours over same several shall should since some such than that their
		theirs them then there these they this those through under until upon using very want were what when
		where whether which while whom whose will with within without would your yours`) {
		known[w] = true
	}
	return known
}()
