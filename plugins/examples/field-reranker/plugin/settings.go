package plugin

import (
	"errors"
	"fmt"

	retriever "github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin"
	"github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin/corpus"
)

// The sources of statistics.
const (
	FromFolder = "folder"
	FromItems  = "items"
)

// Settings configure the plugin. They take effect only once, when it starts.
type Settings struct {
	// Statistics says which texts determine the rarity of words: the documents in Path
	// (FromFolder) or the items of each request (FromItems). Default folder.
	Statistics string `json:"statistics"`
	// Path, Include, Exclude, ChunkChars, MaxFileBytes, StopWords, Stem and
	// SplitIdentifiers have the same meaning as in bm25-retriever. They should have the
	// same values, except for StopWords, whose default is "english".
	Path             string              `json:"path"`
	Include          []string            `json:"include"`
	Exclude          []string            `json:"exclude"`
	ChunkChars       int                 `json:"chunk_chars"`
	MaxFileBytes     int                 `json:"max_file_bytes"`
	StopWords        retriever.StopWords `json:"stop_words"`
	Stem             bool                `json:"stem"`
	SplitIdentifiers bool                `json:"split_identifiers"`
	// Weight is the share of the rating in the new score, 0 to 1. Default 1.
	Weight float64 `json:"weight"`
	// K1 and B are the parameters of BM25 over title and text. Defaults 2 and 0.75.
	K1 float64 `json:"k1"`
	B  float64 `json:"b"`
	// Title, Proximity and Grams are the weights of the other parts of the rating, 0 to
	// 100. Defaults 1, 2 and 0.5.
	Title     float64 `json:"title"`
	Proximity float64 `json:"proximity"`
	Grams     float64 `json:"grams"`
}

// Defaults sets the values that the settings leave out; README.md says how the weights
// were found.
func (s *Settings) Defaults() {
	*s = Settings{
		Statistics:   FromFolder,
		Path:         "/docs",
		Include:      []string{"**/*.md", "**/*.markdown", "**/*.txt", "**/*.rst", "**/*.jsonl"},
		Exclude:      []string{"**/testdata/**", "**/vendor/**", "**/node_modules/**"},
		ChunkChars:   corpus.DefaultChunkChars,
		MaxFileBytes: corpus.DefaultMaxFileBytes,
		StopWords:    retriever.StopWords{Name: "english"},
		Stem:         true,
		Weight:       1,
		K1:           2,
		B:            0.75,
		Title:        1,
		Proximity:    2,
		Grams:        0.5,
	}
}

// Validate refuses values out of their range.
func (s *Settings) Validate() error {
	for _, c := range []struct {
		name     string
		value    float64
		min, max float64
	}{
		{"weight", s.Weight, 0, 1},
		{"k1", s.K1, 0, 100},
		{"b", s.B, 0, 1},
		{"title", s.Title, 0, 100},
		{"proximity", s.Proximity, 0, 100},
		{"grams", s.Grams, 0, 100},
	} {
		if !(c.value >= c.min && c.value <= c.max) {
			return fmt.Errorf("%s %v: not within %v..%v", c.name, c.value, c.min, c.max)
		}
	}
	switch {
	case s.Statistics != FromFolder && s.Statistics != FromItems:
		return fmt.Errorf("statistics %q: unknown source (known: folder, items)", s.Statistics)
	case s.Path == "":
		return errors.New("path: empty")
	case s.ChunkChars < 100:
		return fmt.Errorf("chunk_chars %d: below 100", s.ChunkChars)
	case s.MaxFileBytes < 1:
		return fmt.Errorf("max_file_bytes %d: below 1", s.MaxFileBytes)
	}
	_, err := s.StopWords.Function()
	return err
}
