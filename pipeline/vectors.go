package pipeline

import (
	"context"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// maxVectorBytes is the size of the vectors that one build makes at most.
const maxVectorBytes = 256 << 20

// vectors makes the vectors of one build, each only once. It is safe for concurrent use.
type vectors struct {
	embedder retrieve.Embedder
	// free is empty while a goroutine uses the fields below.
	free  chan struct{}
	model retrieve.Model // the zero value before the embedder named it
	made  map[sided][]float32
}

// sided is a text on one side of a search. Some models embed questions and passages differently.
type sided struct {
	side retrieve.Side
	text string
}

type vectorsKey struct{}

// withVectors returns a context in which steps can ask the embedder for vectors.
func withVectors(ctx context.Context, e retrieve.Embedder) context.Context {
	if e == nil {
		return ctx
	}
	v := &vectors{embedder: e, free: make(chan struct{}, 1), made: map[sided][]float32{}}
	v.free <- struct{}{}
	return context.WithValue(ctx, vectorsKey{}, v)
}

// ItemVectors returns a vector for each item, all of one model, for steps that compare items by
// meaning. It takes those of the items themselves, and makes the missing ones with
// [Config.Embedder]. Without an embedder the model is that of the first item with a vector, and
// items of other models or without a vector have none: nil. So have items with a blank text. The
// vectors must not be changed.
func ItemVectors(ctx context.Context, items []*Item) ([][]float32, error) {
	out := make([][]float32, len(items))
	v, ok := ctx.Value(vectorsKey{}).(*vectors)
	if !ok {
		own := ""
		for i, it := range items {
			if model, values := it.Vector(); values != nil && (own == "" || model == own) {
				own, out[i] = model, values
			}
		}
		return sameDimension(out), nil
	}
	model, done, err := v.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var missing []string
	for i, it := range items {
		if from, values := it.Vector(); from == model.ID && len(values) == model.Dimension {
			out[i] = values
		} else {
			missing = append(missing, it.Content)
		}
	}
	if err := v.make(ctx, retrieve.SideDocument, missing); err != nil {
		return nil, fmt.Errorf("vectors of items: %w", err)
	}
	for i, it := range items {
		if out[i] == nil {
			out[i] = v.made[sided{retrieve.SideDocument, it.Content}]
		}
	}
	return out, nil
}

// sameDimension removes vectors whose dimension is not that of the first one.
func sameDimension(list [][]float32) [][]float32 {
	dimension := 0
	for i := range list {
		if dimension == 0 {
			dimension = len(list[i])
		}
		if len(list[i]) != dimension {
			list[i] = nil
		}
	}
	return list
}

// QueryVector returns the vector of a query: its Embedding, or one that [Config.Embedder] makes of
// its text. It is nil without an embedder, and for a blank text. An Embedding of another dimension
// than the embedder's is an error, because it cannot be compared with vectors of items.
func QueryVector(ctx context.Context, q *Query) ([]float32, error) {
	v, ok := ctx.Value(vectorsKey{}).(*vectors)
	if !ok {
		return q.Embedding, nil
	}
	model, done, err := v.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if n := len(q.Embedding); n > 0 && n != model.Dimension {
		return nil, fmt.Errorf("query: embedding has %d dimensions: %w (want %d, those of %s, or leave it out)", n, ErrInvalid, model.Dimension, model.ID)
	} else if n > 0 {
		return q.Embedding, nil
	}
	if err := v.make(ctx, retrieve.SideQuery, []string{q.Text}); err != nil {
		return nil, fmt.Errorf("vector of the query: %w", err)
	}
	return v.made[sided{retrieve.SideQuery, q.Text}], nil
}

// begin waits until no other goroutine uses v, and returns the model. The caller must call done.
func (v *vectors) begin(ctx context.Context) (model retrieve.Model, done func(), err error) {
	select {
	case <-v.free:
	case <-ctx.Done():
		return model, nil, ctx.Err()
	}
	release := func() { v.free <- struct{}{} }
	defer func() {
		if v.model == (retrieve.Model{}) { // an error, or a panic of the embedder
			release()
		}
	}()
	if v.model == (retrieve.Model{}) {
		if model, err = v.embedder.Model(ctx); err == nil {
			err = model.Validate()
		}
		if err != nil {
			return model, nil, fmt.Errorf("vectors: %w", err)
		}
		v.model = model
	}
	return v.model, release, nil
}

// make makes the vectors of those texts that have none yet and are not blank. The texts of one call
// go to the embedder together.
func (v *vectors) make(ctx context.Context, side retrieve.Side, texts []string) error {
	var missing []string
	seen := map[string]bool{}
	for _, text := range texts {
		if v.made[sided{side, text}] == nil && !seen[text] && strings.TrimSpace(text) != "" {
			missing, seen[text] = append(missing, text), true
		}
	}
	if n := 4 * int64(v.model.Dimension) * int64(len(v.made)+len(missing)); n > maxVectorBytes {
		return fmt.Errorf("%d texts: %w (their vectors take %d bytes, want at most %d in one build: show the step fewer items)", len(missing), ErrInvalid, n, maxVectorBytes)
	}
	if len(missing) == 0 {
		return nil
	}
	made, err := retrieve.Embed(ctx, v.embedder, side, missing)
	used := ledger.Amount{Calls: 1, Texts: int64(len(missing))}
	if err != nil {
		used.Failed = 1
	}
	_, l := ledger.Under(ctx)
	l.Note(ledger.Use{Service: "embed", Name: ledger.NameOf(v.embedder, v.model.ID)}, used)
	if err != nil {
		return err
	}
	for i, text := range missing {
		v.made[sided{side, text}] = made[i]
	}
	return nil
}
