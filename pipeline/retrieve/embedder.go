package retrieve

import (
	"context"
	"fmt"
	"math"

	"github.com/anchor-host/anchor-host/internal/observe"
)

// Side says what a text is for a model. Some models embed questions and passages differently.
type Side string

// The sides.
const (
	SideQuery    Side = "query"
	SideDocument Side = "document"
)

// MaxDimension is the greatest number of dimensions of a vector.
const MaxDimension = 1 << 14

// Model names what makes vectors. Vectors of different models cannot be compared.
type Model struct {
	// ID names the model with its version and every setting that changes vectors, such as
	// "text-embedding-3-small" or "static:wordllama-256". It must not be empty.
	ID string `json:"id"`
	// Dimension is the number of numbers in each vector, 1 to [MaxDimension].
	Dimension int `json:"dimension"`
}

// String returns the ID and the dimension, for messages.
func (m Model) String() string { return fmt.Sprintf("%s (%d dimensions)", m.ID, m.Dimension) }

// Embedder turns texts into vectors. It is safe for concurrent use. It splits many texts into
// batches itself. It keeps neither texts nor vectors of a caller, and does not change texts.
// A failure is best told as an [EmbedError].
type Embedder interface {
	// Model names the model. An embedder that learns the dimension from its server asks
	// the server here, once.
	Model(ctx context.Context) (Model, error)
	// Embed returns one vector for each text, in the order of the texts. The length of a
	// vector does not matter, because the index scales every vector to length 1.
	Embed(ctx context.Context, side Side, texts []string) ([][]float32, error)
}

// EmbedError says which model failed at which place.
type EmbedError struct {
	// Model is the ID of the model.
	Model string
	// Place is the server or the file of the model, without secrets. It may be empty.
	Place string
	// Err is the cause. It wraps [ErrUnavailable] if a later call may succeed.
	Err error
}

// Error names the model, its place and the cause.
func (e *EmbedError) Error() string {
	if e.Place == "" {
		return fmt.Sprintf("embed with %s: %v", e.Model, e.Err)
	}
	return fmt.Sprintf("embed with %s at %s: %v", e.Model, e.Place, e.Err)
}

// Public names the model and the cause, without the place and what a server has said.
func (e *EmbedError) Public() string {
	return fmt.Sprintf("embed with %s: %s", e.Model, observe.Public(e.Err))
}

// Unwrap returns the cause.
func (e *EmbedError) Unwrap() error { return e.Err }

// Embed calls an embedder and checks what it returns: one vector for each text, of the
// dimension of the model, with finite numbers. Without texts it does not call the embedder.
func Embed(ctx context.Context, e Embedder, side Side, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	m, err := e.Model(ctx)
	if err != nil {
		return nil, err
	}
	ctx, span := observe.Begin(ctx, observe.Work{Kind: observe.Embed, Name: m.ID, Count: len(texts)})
	vectors, err := e.Embed(ctx, side, texts)
	span.End(observe.Result{Err: err, Items: len(vectors)})
	if err != nil {
		return nil, err
	}
	if err := m.Check(len(texts), vectors); err != nil {
		return nil, &EmbedError{Model: m.ID, Err: err}
	}
	return vectors, nil
}

// Validate returns an error that wraps [ErrInvalid] if the model has no ID or no valid
// dimension.
func (m Model) Validate() error {
	if err := checkName("model", m.ID); err != nil {
		return err
	}
	if m.Dimension < 1 || m.Dimension > MaxDimension {
		return fmt.Errorf("model %s: dimension %d: %w (want 1 to %d)", m.ID, m.Dimension, ErrInvalid, MaxDimension)
	}
	return nil
}

// Check returns an error that wraps [ErrVectors] unless there are n vectors of finite numbers
// with the dimension of the model.
func (m Model) Check(n int, vectors [][]float32) error {
	if len(vectors) != n {
		return fmt.Errorf("%w: %d vectors for %d texts", ErrVectors, len(vectors), n)
	}
	for i, v := range vectors {
		if len(v) != m.Dimension {
			return fmt.Errorf("%w: vector %d has %d dimensions, want %d", ErrVectors, i+1, len(v), m.Dimension)
		}
		for _, x := range v {
			if x64 := float64(x); math.IsNaN(x64) || math.IsInf(x64, 0) {
				return fmt.Errorf("%w: vector %d has a number that is not finite", ErrVectors, i+1)
			}
		}
	}
	return nil
}
