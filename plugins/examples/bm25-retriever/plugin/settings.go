package plugin

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
	"github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin/bm25"
	"github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin/corpus"
)

// Settings configure the plugin. They take effect only once, when it starts.
type Settings struct {
	// Path is the folder to index, as the guest sees it. Default "/docs".
	Path string `json:"path"`
	// Include and Exclude are patterns of paths below Path, see corpus.Options. By
	// default texts and JSON Lines are included, and files of tests, of tools and of
	// other people's code are excluded.
	Include []string `json:"include"`
	Exclude []string `json:"exclude"`
	// K1 and B are the parameters of BM25. Defaults 0.9 and 0.4.
	K1 float64 `json:"k1"`
	B  float64 `json:"b"`
	// TitleWeight is how often each word of a title counts. Default 1.
	TitleWeight int `json:"title_weight"`
	// Feedback searches a second time with words of the best documents added. Default:
	// off; when it is on, the defaults are 3 documents, 40 terms and weight 0.6.
	Feedback Feedback `json:"feedback"`
	// StopWords are left out of index and queries. Default "lucene".
	StopWords StopWords `json:"stop_words"`
	// Stem reduces words to their Porter2 stem. Default true.
	Stem bool `json:"stem"`
	// SplitIdentifiers also indexes the parts of names such as ParseDuration.
	// Default false.
	SplitIdentifiers bool `json:"split_identifiers"`
	// ChunkChars is the length at which texts are cut. Default 1500.
	ChunkChars int `json:"chunk_chars"`
	// FileTimes gives items the time of their file. Default false.
	FileTimes bool `json:"file_times"`
	// MaxFileBytes is the largest file that is read. Default 64 MiB.
	MaxFileBytes int `json:"max_file_bytes"`
}

// Defaults sets the values that the settings leave out.
func (s *Settings) Defaults() {
	*s = Settings{
		Path:         "/docs",
		Include:      []string{"**/*.md", "**/*.markdown", "**/*.txt", "**/*.rst", "**/*.jsonl"},
		Exclude:      []string{"**/testdata/**", "**/vendor/**", "**/node_modules/**"},
		K1:           bm25.DefaultK1,
		B:            bm25.DefaultB,
		TitleWeight:  1,
		Feedback:     Feedback{Model: bm25.NoFeedback, Docs: 3, Terms: 40, Weight: 0.6},
		StopWords:    StopWords{Name: "lucene"},
		Stem:         true,
		ChunkChars:   corpus.DefaultChunkChars,
		MaxFileBytes: corpus.DefaultMaxFileBytes,
	}
}

// Validate refuses values out of their range.
func (s *Settings) Validate() error {
	switch {
	case s.Path == "":
		return errors.New("path: empty")
	case !(s.K1 >= 0 && s.K1 <= 100):
		return fmt.Errorf("k1 %v: not within 0..100", s.K1)
	case !(s.B >= 0 && s.B <= 1):
		return fmt.Errorf("b %v: not within 0..1", s.B)
	case s.TitleWeight < 1 || s.TitleWeight > 100:
		return fmt.Errorf("title_weight %d: not within 1..100", s.TitleWeight)
	case s.ChunkChars < 100:
		return fmt.Errorf("chunk_chars %d: below 100", s.ChunkChars)
	case s.MaxFileBytes < 1:
		return fmt.Errorf("max_file_bytes %d: below 1", s.MaxFileBytes)
	}
	if err := bm25.Feedback(s.Feedback).Validate(); err != nil {
		return fmt.Errorf("feedback: %w", err)
	}
	_, err := s.StopWords.Function()
	return err
}

// Feedback is [bm25.Feedback] in the form of the settings.
type Feedback struct {
	Model  bm25.Model `json:"model"`
	Docs   int        `json:"docs"`
	Terms  int        `json:"terms"`
	Weight float64    `json:"weight"`
}

// StopWords is the name of a list, or a list. In JSON it is a string or an
// array of strings.
type StopWords struct {
	// Name is lucene, english or none.
	Name string
	// Words is the list if Name is empty.
	Words []string
}

// UnmarshalJSON reads either form.
func (w *StopWords) UnmarshalJSON(data []byte) error {
	*w = StopWords{}
	if json.Unmarshal(data, &w.Name) == nil {
		return nil
	}
	if err := json.Unmarshal(data, &w.Words); err != nil {
		return errors.New("stop_words: neither a name nor a list of words")
	}
	return nil
}

// MarshalJSON writes the form that UnmarshalJSON reads.
func (w StopWords) MarshalJSON() ([]byte, error) {
	if w.Name != "" {
		return json.Marshal(w.Name)
	}
	return json.Marshal(w.Words)
}

// Function returns a function that reports stop words; nil keeps every word.
func (w StopWords) Function() (func(string) bool, error) {
	switch w.Name {
	case "lucene":
		return analysis.LuceneStopWord, nil
	case "english":
		return analysis.EnglishStopWord, nil
	case "none":
		return nil, nil
	case "":
		return analysis.StopList(w.Words), nil
	}
	return nil, fmt.Errorf("stop_words %q: unknown list (known: lucene, english, none, or a list of words)", w.Name)
}
