package plugin

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
	"github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin/bm25"
	"github.com/anchor-host/anchor-host/plugins/examples/bm25-retriever/plugin/corpus"
)

// defaultTopK is the number of documents for a request without a bound.
const defaultTopK = 10

// Retriever answers queries from an index. It is immutable and safe for
// concurrent use.
type Retriever struct {
	index *bm25.Index
	docs  []corpus.Document
	stats corpus.Stats

	method string // the retrieval_method of its items
}

// Open reads the files of fsys, which is the folder that the settings name, and
// indexes them.
func Open(fsys fs.FS, s *Settings) (*Retriever, error) {
	stop, err := s.StopWords.Function()
	if err != nil {
		return nil, err
	}
	builder := bm25.NewBuilder(bm25.Options{
		K1:          s.K1,
		B:           s.B,
		TitleWeight: s.TitleWeight,
		Feedback:    bm25.Feedback(s.Feedback),
		Analyzer:    analysis.New(analysis.Options{Stop: stop, Stem: s.Stem, SplitIdentifiers: s.SplitIdentifiers}),
	})
	r := &Retriever{method: "bm25"}
	if s.Feedback.Model != bm25.NoFeedback && s.Feedback.Model != "" {
		r.method += "+" + string(s.Feedback.Model)
	}
	r.stats, err = corpus.Read(fsys, corpus.Options{
		Include:      s.Include,
		Exclude:      s.Exclude,
		ChunkChars:   s.ChunkChars,
		FileTimes:    s.FileTimes,
		MaxFileBytes: s.MaxFileBytes,
	}, func(d corpus.Document) {
		builder.Add(d.Title, d.Text)
		r.docs = append(r.docs, d)
	})
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", s.Path, err)
	}
	r.index = builder.Build()
	return r, nil
}

// Stats counts what was indexed.
func (r *Retriever) Stats() corpus.Stats { return r.stats }

// Retrieve returns the documents that match best, at most topK; 0 means 10. The best has the
// score 1, and the scores of the others are in proportion to their BM25 scores. The metadata
// has the BM25 score itself.
func (r *Retriever) Retrieve(query string, topK int) []abi.NewItem {
	if topK <= 0 {
		topK = defaultTopK
	}
	hits := r.index.Search(query, topK)
	items := make([]abi.NewItem, len(hits))
	for i, hit := range hits {
		items[i] = r.newItem(&r.docs[hit.Doc], hit.Score, hits[0].Score)
	}
	return items
}

func (r *Retriever) newItem(d *corpus.Document, score, top float64) abi.NewItem {
	metadata := abi.Metadata{"retrieval_method": r.method, "bm25": score, "doc_id": d.ID}
	for key, value := range map[string]string{
		"title": d.Title, "path": d.Path, "package": d.Package, "symbol": d.Symbol, "kind": d.Kind,
	} {
		if value != "" {
			metadata[key] = value
		}
	}
	content := d.Text
	if d.Title != "" {
		content = strings.TrimSpace(d.Title + "\n\n" + d.Text)
	}
	return abi.NewItem{Key: d.ID, Content: content, Score: score / top, Metadata: metadata, CreatedAt: d.Modified}
}
