package ask

import (
	"strings"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
)

// Variants returns the query and its variants with other texts, each text once, at most most of
// them. It returns nil, which stands for the query alone, if the model gave no answer: a search
// with the query is better than none. The log then says why.
func Variants(q *pdk.Query, keep bool, most int, texts []string, err error) []pdk.Query {
	if err != nil {
		pdk.Logf(pdk.LevelWarn, "the search goes on with the query alone: %v", err)
		return nil
	}
	var queries []pdk.Query
	seen := map[string]bool{"": true, plain(q.Text): true}
	if keep {
		queries = append(queries, *q)
	}
	for _, text := range texts {
		if text = strings.TrimSpace(text); !seen[plain(text)] && len(queries) < most {
			seen[plain(text)] = true
			variant := *q
			variant.Text, variant.Embedding = text, nil // the embedding is that of the query
			queries = append(queries, variant)
		}
	}
	if len(queries) == 0 || keep && len(queries) == 1 {
		return nil
	}
	return queries
}

// plain is a text without the differences that do not matter.
func plain(text string) string {
	return strings.ToLower(strings.Join(strings.Fields(text), " "))
}
