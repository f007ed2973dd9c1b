// Package plugin has the logic of web-search: the address of a search, and the items of its
// results.
package plugin

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
)

// Settings configure the plugin.
type Settings struct {
	// URL is the address of the search page. Default "http://localhost:8888/search".
	URL string `json:"url"`
	// Language is the language of the pages, empty for any.
	Language string `json:"language"`
	// MinText is the fewest characters of an excerpt. Default 20.
	MinText int `json:"min_text"`
	// TimeoutMS is how long to wait, in milliseconds. Default 1500.
	TimeoutMS int `json:"timeout_ms"`
}

// Defaults sets the values that the settings leave out.
func (s *Settings) Defaults() {
	*s = Settings{URL: "http://localhost:8888/search", MinText: 20, TimeoutMS: 1500}
}

// TooMany is the HTTP status of a server that was asked too often.
const TooMany = 429

// Address returns the address of the search for a query, or "" for a blank query.
func (s *Settings) Address(query string) string {
	query = strings.TrimSpace(query)
	if query == "" {
		return ""
	}
	values := url.Values{"q": {query}, "format": {"json"}}
	if s.Language != "" {
		values.Set("language", s.Language)
	}
	gap := "?"
	if strings.Contains(s.URL, "?") {
		gap = "&"
	}
	return s.URL + gap + values.Encode()
}

// result is one page, as SearXNG writes it.
type result struct {
	URL     string  `json:"url"`
	Title   string  `json:"title"`
	Content string  `json:"content"`
	Score   float64 `json:"score"`
	Engine  string  `json:"engine"`
}

// Items returns the pages in an answer, at most topK, each address once. The best one has the
// score 1, and the others what they have in proportion, or by their place if the engine rates none.
func (s *Settings) Items(status int, body []byte, topK int) ([]abi.NewItem, error) {
	if status != 200 {
		return nil, fmt.Errorf("status %d (want 200; a SearXNG server answers in JSON only if its settings have search.formats: [html, json])", status)
	}
	var answer struct{ Results []result }
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("the answer is not the JSON of a search: %w", err)
	}
	var items []abi.NewItem
	seen := make(map[string]bool)
	best := 0.0
	for _, r := range answer.Results {
		best = max(best, r.Score)
	}
	for _, r := range answer.Results {
		text := strings.TrimSpace(r.Content)
		if len(items) == topK || seen[r.URL] || utf8.RuneCountInString(text) < s.MinText {
			continue
		}
		seen[r.URL] = true
		score := 1 / float64(len(items)+1)
		if best > 0 {
			score = max(0, r.Score/best)
		}
		items = append(items, abi.NewItem{
			Key: r.URL, Content: strings.TrimSpace(r.Title) + "\n" + text, Score: score,
			Metadata: abi.Metadata{"url": r.URL, "title": r.Title, "engine": r.Engine},
		})
	}
	return items, nil
}
