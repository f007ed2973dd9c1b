// Package plugin has the logic of cross-encoder: the requests to a rerank API, and the scores that
// follow from the answers.
package plugin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/anchor-host/anchor-host/plugins/examples/internal/ask"
)

// The forms of rerank APIs.
const (
	Jina   = "jina"   // also Cohere, llama.cpp, vLLM
	Voyage = "voyage" // top_k instead of top_n, data instead of results
	TEI    = "tei"    // texts instead of documents, a list of scores
)

// Settings are the settings of a step.
type Settings struct {
	// URL is the address of the rerank API. Default "http://localhost:8080/rerank".
	URL string `json:"url"`
	// API is the form: jina, voyage or tei. Default jina.
	API string `json:"api"`
	// Model is the name of the model, as the server knows it. Empty: the request names none.
	Model string `json:"model"`
	// Candidates is the number of best items that are sent, 1 to 1000. Default 50.
	Candidates int `json:"candidates"`
	// Batch is the number of items in one request, 1 to 1000. Default 32.
	Batch int `json:"batch"`
	// PassageBytes is how much of each item is sent, 100 to 50000. Default 4000.
	PassageBytes int `json:"passage_bytes"`
	// TimeoutMS is how long to wait for the server, in milliseconds. Default 5000.
	TimeoutMS int `json:"timeout_ms"`
}

// Defaults sets the values that the settings leave out.
func (s *Settings) Defaults() {
	*s = Settings{URL: "http://localhost:8080/rerank", API: Jina, Candidates: 50, Batch: 32, PassageBytes: 4000, TimeoutMS: 5000}
}

// maxBatches is how many requests the host sends at the same time.
const maxBatches = 32

// Validate refuses values that do not go together.
func (s *Settings) Validate() error {
	if n := (s.Candidates + s.Batch - 1) / max(1, s.Batch); n > maxBatches {
		return fmt.Errorf("batch %d: %d candidates need %d requests, at most %d are sent (raise batch)", s.Batch, s.Candidates, n, maxBatches)
	}
	if s.API == Voyage && s.Model == "" {
		return fmt.Errorf("model: the API of voyage needs one")
	}
	return nil
}

// Rows are the items to rate; a batch is one.
type Rows interface {
	Len() int
	Text(i int) string
	Score(i int) float64
}

// Batches returns the rows of the best items, in batches.
func (s *Settings) Batches(rows Rows) [][]int {
	best := make([]int, rows.Len())
	for i := range best {
		best[i] = i
	}
	slices.SortStableFunc(best, func(a, b int) int { return cmp.Compare(rows.Score(b), rows.Score(a)) })
	return slices.Collect(slices.Chunk(best[:min(s.Candidates, len(best))], s.Batch))
}

// Body returns the body of the request for a batch.
func (s *Settings) Body(query string, rows Rows, batch []int) ([]byte, error) {
	texts := make([]string, len(batch))
	for i, row := range batch {
		if texts[i] = ask.Cut(rows.Text(row), s.PassageBytes); texts[i] == "" {
			texts[i] = " " // servers refuse an empty text
		}
	}
	body := map[string]any{"query": ask.Cut(query, s.PassageBytes)}
	if s.Model != "" {
		body["model"] = s.Model
	}
	switch s.API {
	case TEI:
		body["texts"], body["truncate"] = texts, true
	case Voyage:
		body["documents"], body["top_k"], body["return_documents"] = texts, len(texts), false
	default:
		body["documents"], body["top_n"] = texts, len(texts)
	}
	return json.Marshal(body)
}

// rated is the score of one text of a request, as the APIs write it.
type rated struct {
	Index     *int     `json:"index"`
	Relevance *float64 `json:"relevance_score"` // Cohere, Jina, Voyage
	Score     *float64 `json:"score"`           // TEI
}

// Read reads the answer to a request with n texts: the score of each, as the server rates it. A
// text that the server left out has NaN.
func Read(status int, body []byte, n int) ([]float64, error) {
	if status != 200 {
		return nil, fmt.Errorf("status %d: %.200q (want 200; a key is added by grants.http.headers)", status, body)
	}
	var list []rated
	var doc struct{ Results, Data []rated }
	var err error
	if body = bytes.TrimSpace(body); len(body) > 0 && body[0] == '[' {
		err = json.Unmarshal(body, &list)
	} else if err = json.Unmarshal(body, &doc); err == nil {
		list = append(doc.Results, doc.Data...)
	}
	if err != nil {
		return nil, fmt.Errorf("the answer is not that of a rerank API: %w", err)
	}
	scores := make([]float64, n)
	for i := range scores {
		scores[i] = math.NaN()
	}
	for _, r := range list {
		score := cmp.Or(r.Relevance, r.Score)
		switch {
		case r.Index == nil || score == nil:
			return nil, fmt.Errorf("the answer is not that of a rerank API: a result lacks index or score")
		case *r.Index < 0 || *r.Index >= n:
			return nil, fmt.Errorf("the answer rates text %d of %d", *r.Index, n)
		case !math.IsNaN(scores[*r.Index]):
			return nil, fmt.Errorf("the answer rates text %d twice", *r.Index)
		}
		scores[*r.Index] = *score
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the answer has no results (is api %s, %s or %s?)", Jina, Voyage, TEI)
	}
	return scores, nil
}

// Apply sets the new scores of all rows from those of the batches. Scores outside of 0 to 1 are the
// raw ones of a model, and go through the logistic function. Rows that were not rated come after
// all others, in the order of their scores.
func Apply(batches [][]int, rated [][]float64, scores []float64) {
	raw, lowest, isRated := false, 1.0, make([]bool, len(scores))
	for _, list := range rated {
		raw = raw || slices.ContainsFunc(list, func(f float64) bool { return f < 0 || f > 1 })
	}
	for b, list := range rated {
		for i, f := range list {
			if math.IsNaN(f) {
				continue
			}
			if raw {
				f = 1 / (1 + math.Exp(-f))
			}
			row := batches[b][i]
			scores[row], isRated[row], lowest = f, true, min(lowest, f)
		}
	}
	for row := range scores {
		if !isRated[row] {
			scores[row] *= lowest
		}
	}
}
