package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/agents/learned"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// chunkTokens is what [Text] writes around a chunk, in tokens.
const chunkTokens = 20

// Search returns the chunks that fit a question best, the best first, that have at most so many tokens together. Files
// that were never read are no error: there is nothing then.
func (s *Source) Search(ctx context.Context, question string, tokens int) ([]Chunk, error) {
	if question = strings.ToValidUTF8(question, " "); strings.TrimSpace(question) == "" {
		return nil, nil
	}
	question = question[:min(len(question), 16<<10)]
	q := retrieve.Query{Text: strings.ToValidUTF8(question, ""), K: 40}
	if s.o.Words {
		q.By, q.K = retrieve.ByWords, 16
	}
	q, err := retrieve.Prepare(ctx, s.index, s.collection, s.o.Embedder, q)
	var hits []retrieve.Hit
	if err == nil {
		hits, err = s.index.Search(ctx, s.collection, q)
	}
	if errors.Is(err, retrieve.ErrNotFound) || errors.Is(err, retrieve.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("search files: %w", err)
	}
	rank(hits)
	var out []Chunk
	of := make(map[string]int)
	for i := range hits {
		h := &hits[i]
		if of[h.Path] == maxOfFile {
			continue
		}
		cost := learned.Tokens(h.Text) + learned.Tokens(h.Path) + chunkTokens
		if cost > tokens {
			continue
		}
		tokens -= cost
		of[h.Path]++
		out = append(out, Chunk{Path: h.Path, From: h.Lines.From, To: h.Lines.To, Text: h.Text, Score: h.Score})
	}
	return out, nil
}

// maxOfFile is how many chunks of one file a search returns, so that a large file does not hide the others.
const maxOfFile = 3

// rank orders hits by their scores, those of tests and lists of changes behind what they speak of.
func rank(hits []retrieve.Hit) {
	for i := range hits {
		if aside(hits[i].Path) {
			hits[i].Score *= 0.8
		}
	}
	slices.SortStableFunc(hits, func(a, b retrieve.Hit) int { return cmp.Compare(b.Score, a.Score) })
}

// aside reports whether a path is that of a test or of a list of changes.
func aside(path string) bool {
	for part := range strings.FieldsFuncSeq(strings.ToLower(path), func(r rune) bool { return strings.ContainsRune("/._-", r) }) {
		switch part {
		case "test", "tests", "spec", "specs", "testdata", "fixtures", "changelog", "changes", "history", "license":
			return true
		}
	}
	return false
}
