package memory

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Embedder turns texts into vectors of one length. It is safe for concurrent use.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// EmbedFunc makes a function an [Embedder].
type EmbedFunc func(ctx context.Context, texts []string) ([][]float32, error)

// Embed calls f.
func (f EmbedFunc) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return f(ctx, texts)
}

// vectorBytes bounds each of the two generations of vectors, to about ten thousand facts. A
// single call may exceed it.
const vectorBytes = 32 << 20

// vectors asks an embedder and caches its answers by text. So a fact with a new text is
// embedded again, and many users share the cache. When the young generation is full, it
// becomes the old one, and the old one is dropped.
type vectors struct {
	mu         sync.Mutex
	young, old map[string][]float32
	size       int // bytes of young
}

// of returns the vectors of texts. All numbers are finite, and all vectors have one length.
func (v *vectors) of(ctx context.Context, embedder Embedder, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	places := make(map[string][]int) // the indices of each text to embed
	var missing []string
	v.mu.Lock()
	for i, text := range texts {
		if out[i] = v.young[text]; out[i] == nil {
			out[i] = v.old[text]
		}
		if out[i] != nil {
			continue
		}
		if places[text] == nil {
			missing = append(missing, text)
		}
		places[text] = append(places[text], i)
	}
	v.mu.Unlock()
	if len(missing) > 0 {
		fresh, err := embed(ctx, embedder, missing)
		if err != nil {
			return nil, err
		}
		for i, text := range missing {
			for _, at := range places[text] {
				out[at] = fresh[i]
			}
		}
	}
	for i := range out {
		if len(out[i]) != len(out[0]) {
			return nil, fmt.Errorf("embedder: vectors of %d and %d numbers: %w (want one length)", len(out[0]), len(out[i]), pipeline.ErrInvalid)
		}
	}
	v.keep(texts, out)
	return out, nil
}

// keep caches the vectors of one call, all in one generation.
func (v *vectors) keep(texts []string, of [][]float32) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.young == nil || v.size >= vectorBytes {
		v.young, v.old, v.size = make(map[string][]float32, len(texts)), v.young, 0
	}
	for i, text := range texts {
		if v.young[text] == nil {
			v.young[text] = of[i]
			v.size += len(text) + 4*len(of[i])
		}
	}
}

// embed calls the embedder and checks its answer.
func embed(ctx context.Context, embedder Embedder, texts []string) (fresh [][]float32, err error) {
	err = core.Guard(func() (err error) {
		fresh, err = embedder.Embed(ctx, texts)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("embedder: %d texts: %w", len(texts), err)
	}
	if len(fresh) != len(texts) {
		return nil, fmt.Errorf("embedder: %d vectors for %d texts: %w", len(fresh), len(texts), pipeline.ErrInvalid)
	}
	for i, vector := range fresh {
		if len(vector) == 0 {
			return nil, fmt.Errorf("embedder: text %d: empty vector: %w", i, pipeline.ErrInvalid)
		}
		for _, x := range vector {
			if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
				return nil, fmt.Errorf("embedder: text %d: %v: %w (want finite numbers)", i, x, pipeline.ErrInvalid)
			}
		}
	}
	return fresh, nil
}

// cosine returns the cosine similarity of two vectors of one length. It is 0 if one of them
// is the zero vector.
func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot += x * y
		aa += x * x
		bb += y * y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / (math.Sqrt(aa) * math.Sqrt(bb))
}
