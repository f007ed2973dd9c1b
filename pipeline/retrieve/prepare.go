package retrieve

import (
	"context"
	"errors"
	"fmt"
)

// DefaultBy is how a collection is searched if nobody says it: ByHybrid if the collection has a model
// and the embedder is of that model, else ByWords. A question that has a vector needs no embedder.
// The errors are those of the index and of the embedder.
func DefaultBy(ctx context.Context, x Index, c Collection, e Embedder, hasVector bool) (By, error) {
	s, err := x.Settings(ctx, c)
	if err != nil {
		return "", err
	}
	return s.defaultBy(ctx, e, hasVector)
}

func (s Settings) defaultBy(ctx context.Context, e Embedder, hasVector bool) (By, error) {
	switch {
	case s.Model == (Model{}) || !hasVector && e == nil:
		return ByWords, nil
	case hasVector:
		return ByHybrid, nil
	}
	m, err := e.Model(ctx)
	if err != nil || m != s.Model {
		return ByWords, err
	}
	return ByHybrid, nil
}

// Prepare completes a query of a collection as all searches do: By, if it is empty, as [DefaultBy]
// says, or ByVectors without a text; and Vector with Model, if vectors are searched and it has none.
// The embedder may be nil.
//
// The error is [ErrEmpty] if the collection has no documents, and [ErrModel] if it has no vectors, or
// those of another model than the embedder or the query has. It wraps [ErrInvalid] if vectors are
// asked for and there is neither an embedder nor a vector.
func Prepare(ctx context.Context, x Index, c Collection, e Embedder, q Query) (Query, error) {
	s, err := x.Settings(ctx, c)
	if err != nil {
		return q, err
	}
	if q.By == "" && q.Text == "" && q.Vector != nil {
		q.By = ByVectors
	}
	if q.By == "" {
		if q.By, err = s.defaultBy(ctx, e, q.Vector != nil); err != nil {
			return q, err
		}
	}
	if q.By == ByWords {
		q.Vector, q.Model = nil, ""
		return q, nil
	}
	if err := q.fit(ctx, c, s.Model, e); err != nil {
		return q, sayEmpty(ctx, x, c, fmt.Errorf("collection %s: %w", c, err))
	}
	return q, nil
}

// fit holds the vector of a query against the model of a collection, or makes one.
func (q *Query) fit(ctx context.Context, c Collection, has Model, e Embedder) error {
	switch {
	case has == (Model{}) || q.Vector != nil:
		return q.CheckVector(c.Name, has)
	case e == nil:
		return fmt.Errorf("search by %s: %w: there is no embedder for it (name one under collections, such as collections: {%s: {embedder: NAME}}; give a vector; or search by words)", q.By, ErrInvalid, c.Name)
	}
	m, err := e.Model(ctx)
	if err != nil {
		return err
	}
	if m != has {
		return fmt.Errorf("%w: its vectors are of %s, the embedder makes those of %s (name the embedder of that model, or re-embed the collection: anchor-host collections reembed %s)", ErrModel, has, m, c.Name)
	}
	vectors, err := Embed(ctx, e, SideQuery, []string{q.Text})
	if err != nil {
		return err
	}
	q.Vector, q.Model = vectors[0], m.ID
	return nil
}

// CheckVector returns an error that wraps [ErrModel] unless the vector of a query fits the model of a
// collection: its dimension, and its model if the query names one. The error names both models and
// the remedy, which has the name of the collection. A number that is not finite is [ErrVectors].
func (q *Query) CheckVector(collection string, has Model) error {
	if has == (Model{}) {
		return noVectors(collection)
	}
	if q.Model != "" && q.Model != has.ID || len(q.Vector) != has.Dimension {
		of := "a model that the query does not name"
		if q.Model != "" {
			of = q.Model
		}
		return fmt.Errorf("%w: the query has a vector of %s (%d dimensions), the collection's are of %s (give a vector of that model, or none if the collection has an embedder; or re-embed the collection: anchor-host collections reembed %s)",
			ErrModel, of, len(q.Vector), has, collection)
	}
	return has.Check(1, [][]float32{q.Vector})
}

// noVectors is the error for a collection of that name without vectors. It is an [ErrModel].
type noVectors string

// Error says what is missing, with the remedy.
func (c noVectors) Error() string {
	return fmt.Sprintf("there are no vectors (make them with anchor-host collections reembed %s, or search by words)", string(c))
}

// Is makes it an [ErrModel].
func (noVectors) Is(target error) bool { return target == ErrModel }

// sayEmpty says of a collection that cannot be searched by vectors that it is empty, if it is.
func sayEmpty(ctx context.Context, x Index, c Collection, err error) error {
	if !errors.Is(err, ErrModel) {
		return err
	}
	info, failed := x.Collection(ctx, c)
	if failed != nil || info.Documents > 0 {
		return err
	}
	return empty(c)
}

func empty(c Collection) error {
	return fmt.Errorf("collection %s: %w (fill it with anchor-host ingest PATH --collection %s)", c, ErrEmpty, c.Name)
}
