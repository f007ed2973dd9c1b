package retrieve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Retriever finds items of a collection. It has the method of a pipeline.Retriever and is safe
// for concurrent use.
type Retriever struct {
	// Index and Collection say where to search.
	Index      Index
	Collection Collection
	// Embedder makes the vector of a question. nil means that only questions that have a
	// vector are searched by vectors. A question that has one is not embedded again.
	Embedder Embedder
	// Query has the settings of every search: By, Filter, K1, B, Fusion, VectorWeight,
	// Neighbours and Depth. An empty By means what [DefaultBy] says. Model, if it is not
	// empty, is the ID of the model of the vectors that questions have. Its other fields are
	// not used.
	Query Query
}

// Retrieve returns the chunks that match a question best, at most topK; 0 means [DefaultK].
// Scores are 0 to 1: for words in proportion to the best, for vectors the cosine. The metadata
// of an item say where its text comes from. Errors are those of [Prepare] and of the index; if By
// asks for vectors and no chunk has one, it is [ErrModel], but [ErrEmpty] if there are no documents.
func (r *Retriever) Retrieve(ctx context.Context, question *core.Query, topK int) ([]core.Item, error) {
	q := r.Query
	q.Text, q.K, q.Vector = question.Text, topK, question.Embedding
	q, err := Prepare(ctx, r.Index, r.Collection, r.Embedder, q)
	if err != nil {
		return nil, err
	}
	hits, err := r.Index.Search(ctx, r.Collection, q)
	if err != nil {
		return nil, err
	}
	if err := r.missing(ctx, q.By, hits); err != nil {
		return nil, err
	}
	items := make([]core.Item, len(hits))
	for i := range hits {
		items[i] = hits[i].Item()
		best := 1.0
		if q.By == ByWords {
			best = hits[0].Score
		}
		items[i].Score = min(1, max(0, hits[i].Score/best))
		items[i].Metadata["retrieval_method"] = string(q.By)
		items[i].Metadata["collection"] = r.Collection.Name
	}
	return items, nil
}

// missing says what the collection lacks if a search found nothing by words, or nothing by
// vectors.
func (r *Retriever) missing(ctx context.Context, by By, hits []Hit) error {
	found := len(hits) > 0
	if by == ByHybrid && r.Query.By != "" { // by default, words alone are enough
		found = slices.ContainsFunc(hits, func(h Hit) bool { return h.Cosine != 0 })
	}
	if found {
		return nil
	}
	info, err := r.Index.Collection(ctx, r.Collection)
	switch {
	case err != nil:
		return err
	case info.Documents == 0:
		return empty(r.Collection)
	case r.Query.By != "" && by != ByWords && info.Vectors == 0:
		return fmt.Errorf("collection %s: %w", r.Collection, noVectors(r.Collection.Name))
	}
	return nil
}

// Item returns an item with the text of a hit after its title and headings, and with its vector.
// Its score is that of the hit, which may be above 1 for words and below 0 for vectors.
func (h *Hit) Item() core.Item {
	var above []string
	if h.Title != "" {
		above = append(above, h.Title)
	}
	for _, heading := range h.Headings {
		if heading != h.Title {
			above = append(above, heading)
		}
	}
	content := h.Text
	if len(above) > 0 {
		content = strings.TrimSpace(strings.Join(above, " > ") + "\n\n" + h.Text)
	}
	metadata := map[string]any{"doc_id": h.Document, "path": h.Path}
	for k, v := range h.Meta {
		metadata[k] = v
	}
	for k, v := range map[string]string{"title": h.Title, "hash": h.Hash, "heading": strings.Join(h.Headings, " > ")} {
		if v != "" {
			metadata[k] = v
		}
	}
	if len(h.Copies) > 0 {
		paths := make([]string, len(h.Copies))
		for i, c := range h.Copies {
			paths[i] = c.Path
		}
		metadata["copies"] = strings.Join(paths, ListSeparator)
	}
	for k, n := range map[string]int{"page": h.Page, "page_end": h.PageEnd, "line": h.Lines.From, "line_end": h.Lines.To} {
		if n > 0 {
			metadata[k] = int64(n)
		}
	}
	it := core.Item{ID: h.ID, Content: content, Source: core.SourceRetrieval, Priority: core.SourceRetrieval.DefaultPriority(), Score: h.Score, Metadata: metadata, CreatedAt: h.Time}
	it.SetVector(h.Model, h.Vector)
	return it
}
