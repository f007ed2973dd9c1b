package serving

import (
	"context"
	"errors"

	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Index serves embed and search with the embedders of a configuration and the collections of a
// store. It is safe for concurrent use.
type Index struct {
	// Embedder returns an embedder by its name. Of returns the one of a collection, nil if it
	// has none.
	Embedder func(name string) (retrieve.Embedder, error)
	Of       func(collection string) retrieve.Embedder
	// Open returns the index of the store.
	Open func(ctx context.Context) (retrieve.Index, error)
}

// Embed implements service.Embedder.
func (x *Index) Embed(ctx context.Context, name string, side services.Side, texts []string) (service.Vectors, error) {
	e, err := x.Embedder(name)
	if err != nil {
		return service.Vectors{}, err
	}
	m, err := e.Model(ctx)
	if err != nil {
		return service.Vectors{}, failed(err)
	}
	vectors, err := retrieve.Embed(ctx, e, retrieve.Side(side), texts)
	if err != nil {
		return service.Vectors{}, failed(err)
	}
	out := service.Vectors{Model: m.ID, Dimension: m.Dimension, Values: make([]float32, 0, len(vectors)*m.Dimension)}
	for _, v := range vectors {
		out.Values = append(out.Values, v...)
	}
	return out, nil
}

// Dimension implements service.Dimensioned.
func (x *Index) Dimension(ctx context.Context, name string) (int, error) {
	e, err := x.Embedder(name)
	if err != nil {
		return 0, err
	}
	m, err := e.Model(ctx)
	if err != nil {
		return 0, failed(err)
	}
	return m.Dimension, nil
}

// Search implements service.Searcher.
func (x *Index) Search(ctx context.Context, s service.Search) ([]services.SearchHit, error) {
	ctx = ledger.For(ctx, s.Plugin)
	index, err := x.Open(ctx)
	if err != nil {
		return nil, err
	}
	c := retrieve.Collection{Tenant: s.Tenant, Name: s.Collection}
	q := retrieve.Query{By: retrieve.By(s.By), Text: s.Text, Vector: s.Vector, K: s.K}
	for _, f := range s.Filter {
		q.Filter = append(q.Filter, retrieve.Condition{Field: f.Field, Op: retrieve.Op(f.Op), Values: f.Values})
	}
	q, err = retrieve.Prepare(ctx, index, c, x.Of(s.Collection), q)
	if errors.Is(err, retrieve.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, failed(err)
	}
	hits, err := index.Search(ctx, c, q)
	if err != nil {
		return nil, failed(err)
	}
	return hitsOf(hits, q.By), nil
}

// hitsOf are hits as guests get them. Scores of words are in proportion to the best.
func hitsOf(hits []retrieve.Hit, by retrieve.By) []services.SearchHit {
	out := make([]services.SearchHit, len(hits))
	best := 1.0
	if by == retrieve.ByWords && len(hits) > 0 {
		best = hits[0].Score
	}
	for i, h := range hits {
		out[i] = services.SearchHit{
			Document: h.Document, Chunk: h.Number, Score: min(1, max(0, h.Score/best)), Text: h.Text, Title: h.Title, Path: h.Path,
			Headings: h.Headings, Page: h.Page, LineFrom: h.Lines.From, LineTo: h.Lines.To, Metadata: h.Meta,
		}
	}
	return out
}

// failed is an error of the index or of an embedder with its word. The text, which may have the
// address of a server, is for the log.
func failed(err error) error {
	word, message := services.Unavailable, ""
	switch {
	case errors.Is(err, retrieve.ErrNotFound):
		word = services.NotFound
	case errors.Is(err, retrieve.ErrVectors):
		word = services.Invalid
	case errors.Is(err, context.DeadlineExceeded):
		word = services.Timeout
	case errors.Is(err, retrieve.ErrModel):
		word, message = services.Refused, "the collection has no vectors, or those of another model (search it by words)"
	case errors.Is(err, retrieve.ErrInvalid):
		word, message = services.Refused, "the collection cannot be searched like this (search it by words, or give a vector)"
	}
	return &service.Error{Word: word, Message: message, Err: err}
}
