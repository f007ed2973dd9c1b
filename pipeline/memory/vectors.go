package memory

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/abandon"
)

// Embedder turns texts into vectors of one length. It is safe for concurrent use. A call that goes
// on after its context has ended is abandoned, so it must not change texts.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// EmbedFunc makes a function an [Embedder].
type EmbedFunc func(ctx context.Context, texts []string) ([][]float32, error)

// Embed calls f.
func (f EmbedFunc) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return f(ctx, texts)
}

// IdentifiedEmbedder is an [Embedder] that says which vectors it makes. Only its vectors are
// stored, because those of different embedders cannot be compared.
type IdentifiedEmbedder interface {
	Embedder
	// Identity names the model with its version and all settings that change vectors, such as
	// "text-embedding-3-small/1536". Embedders with one identity make the same vectors. An
	// empty identity means that vectors are not stored.
	Identity() string
}

// DefaultVectorBytes is the default of EmbeddingCache.MaxBytes, room for about ten thousand
// vectors of 1,536 numbers.
const DefaultVectorBytes = 64 << 20

// EmbeddingCache is an [Embedder] that keeps the vectors of another one by text. Several users,
// scorers and consolidators can share it. A text that is asked for by several at the same time is
// embedded once. It must not be copied once used, and its fields must not change.
//
// The vectors of facts in a store are stored with them if the embedder is an
// [IdentifiedEmbedder]: see [StoreFacts].
type EmbeddingCache struct {
	// Embedder is required.
	Embedder Embedder
	// MaxBytes bounds the texts and vectors that are kept in memory, in bytes. Those that were
	// not asked for longest are dropped first. 0 means DefaultVectorBytes.
	MaxBytes int

	mu      sync.Mutex
	pending map[string]*embedding // the texts that are being embedded
	// When the young generation is full, it becomes the old one, and the old one is dropped.
	young, old map[string][]float32
	size       int // bytes of young
}

var _ IdentifiedEmbedder = (*EmbeddingCache)(nil)

// embedding is a text that is being embedded. Its other fields may be read once done is closed.
type embedding struct {
	done   chan struct{}
	vector []float32 // nil if the text was not embedded
}

// Identity returns that of the embedder, or "" if it has none.
func (c *EmbeddingCache) Identity() string {
	if e, ok := c.Embedder.(IdentifiedEmbedder); ok {
		return e.Identity()
	}
	return ""
}

// Embed implements [Embedder]. All numbers are finite, and all vectors have one length. They are
// shared: do not change them.
func (c *EmbeddingCache) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return c.embed(ctx, texts, 0)
}

// embed returns the vectors of texts. The first texts, as many as facts says, are those of facts:
// their vectors are stored.
func (c *EmbeddingCache) embed(ctx context.Context, texts []string, facts int) ([][]float32, error) {
	if c.Embedder == nil {
		return nil, fmt.Errorf("embedder: missing: %w", pipeline.ErrInvalid)
	}
	vectors, err := c.collect(ctx, texts, facts)
	if err == nil && lengths(vectors) > 1 {
		// The embedder now makes vectors of another length than those that are kept.
		c.forget(vectors)
		vectors, err = c.collect(context.WithValue(ctx, vectorsKey{}, freshVectors{storedVectors(ctx)}), texts, facts)
	}
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if out[i] = vectors[text]; len(out[i]) != len(out[0]) {
			return nil, fmt.Errorf("embedder: vectors of %d and %d numbers: %w (want one length)", len(out[0]), len(out[i]), pipeline.ErrInvalid)
		}
	}
	c.keep(vectors)
	return out, nil
}

// collect returns the vectors of texts from the cache, the store, other callers and the embedder.
func (c *EmbeddingCache) collect(ctx context.Context, texts []string, facts int) (map[string][]float32, error) {
	vectors := make(map[string][]float32, len(texts))
	for missing := texts; len(missing) > 0; {
		own, others := c.claim(missing, vectors)
		err := c.fetch(ctx, own, texts, facts, vectors)
		if err != nil {
			return nil, err
		}
		if missing, err = await(ctx, others, vectors); err != nil {
			return nil, err
		}
	}
	return vectors, nil
}

// lengths returns how many lengths vectors have.
func lengths(vectors map[string][]float32) int {
	all := make(map[int]bool)
	for _, vector := range vectors {
		all[len(vector)] = true
	}
	return len(all)
}

// forget drops the kept vectors of texts.
func (c *EmbeddingCache) forget(vectors map[string][]float32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for text := range vectors {
		if vector := c.young[text]; vector != nil {
			c.size -= sizeOf(text, vector)
			delete(c.young, text)
		}
		delete(c.old, text)
	}
}

// claim puts the vectors that the cache has into vectors. It returns the other texts: those that
// the caller now has to embed, and those that somebody else is embedding.
func (c *EmbeddingCache) claim(texts []string, vectors map[string][]float32) (own, others map[string]*embedding) {
	own, others = make(map[string]*embedding), make(map[string]*embedding)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, text := range texts {
		switch {
		case vectors[text] != nil || own[text] != nil:
		case c.young[text] != nil:
			vectors[text] = c.young[text]
		case c.old[text] != nil:
			vectors[text] = c.old[text]
		case c.pending[text] != nil:
			others[text] = c.pending[text]
		default:
			own[text] = &embedding{done: make(chan struct{})}
			if c.pending == nil {
				c.pending = make(map[string]*embedding)
			}
			c.pending[text] = own[text]
		}
	}
	return own, others
}

// fetch gets the vectors of claimed texts from the store or the embedder, and hands them to those
// who wait for them. Vectors of facts are stored.
func (c *EmbeddingCache) fetch(ctx context.Context, own map[string]*embedding, texts []string, facts int, vectors map[string][]float32) (err error) {
	if len(own) == 0 {
		return nil
	}
	defer func() {
		got := make(map[string][]float32, len(own))
		for text := range own {
			if vectors[text] != nil {
				got[text] = vectors[text]
			}
		}
		c.keep(got) // before nobody is embedding them any more: else the next caller would
		c.mu.Lock()
		defer c.mu.Unlock()
		for text, e := range own {
			e.vector = vectors[text]
			delete(c.pending, text)
			close(e.done)
		}
	}()
	stored, model := storedVectors(ctx), c.Identity()
	var known []string // claimed texts of facts
	for _, text := range texts[:facts] {
		if own[text] != nil {
			known = append(known, text)
		}
	}
	if stored != nil && model != "" {
		for text, vector := range stored.loadVectors(ctx, model, known) {
			vectors[text] = vector
		}
	}
	var missing []string
	embedded := make(map[string]bool)
	for _, text := range texts {
		if own[text] != nil && vectors[text] == nil && !embedded[text] {
			missing, embedded[text] = append(missing, text), true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	fresh, err := embed(ctx, c.Embedder, missing)
	if err != nil {
		return err
	}
	for i, text := range missing {
		vectors[text] = fresh[i]
	}
	if stored != nil && model != "" {
		stored.saveVectors(ctx, model, known, vectors, embedded)
	}
	return nil
}

// await waits for texts that others embed. It returns those that were not embedded: the caller
// embeds them itself. The other call may have been cancelled, or may have failed because of
// another text.
func await(ctx context.Context, others map[string]*embedding, vectors map[string][]float32) (again []string, err error) {
	for text, e := range others {
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("embedder: %w", ctx.Err())
		}
		if e.vector == nil {
			again = append(again, text)
			continue
		}
		vectors[text] = e.vector
	}
	return again, ctx.Err()
}

// keep caches the vectors of one call. A call begins a new generation at most once, and what then
// does not fit is not kept: if the texts of each call were more than the cache can hold, none of
// them would otherwise still be there at the next call.
func (c *EmbeddingCache) keep(vectors map[string][]float32) {
	most := cmp.Or(c.MaxBytes, DefaultVectorBytes) / 2
	c.mu.Lock()
	defer c.mu.Unlock()
	begun := false
	for text, vector := range vectors {
		if c.young[text] != nil {
			continue
		}
		n := sizeOf(text, vector)
		if c.size+n > most && !begun {
			c.young, c.old, c.size, begun = nil, c.young, 0, true
		}
		if c.size+n > most {
			continue
		}
		if c.young == nil {
			c.young = make(map[string][]float32)
		}
		c.young[text] = vector
		c.size += n
	}
}

// vectorOverhead is about what a map needs for an entry, in bytes.
const vectorOverhead = 64

// sizeOf returns the bytes of an entry.
func sizeOf(text string, vector []float32) int { return len(text) + 4*len(vector) + vectorOverhead }

// vectorStore stores the vectors of the texts of facts.
type vectorStore interface {
	// loadVectors returns the stored vectors of texts that a model made.
	loadVectors(ctx context.Context, model string, texts []string) map[string][]float32
	// saveVectors stores the vectors of those facts that were embedded.
	saveVectors(ctx context.Context, model string, facts []string, vectors map[string][]float32, embedded map[string]bool)
}

// vectorsKey is the key of a vectorStore in a context.
type vectorsKey struct{}

// storedVectors returns where vectors of facts are stored, or nil.
func storedVectors(ctx context.Context) vectorStore {
	s, _ := ctx.Value(vectorsKey{}).(vectorStore)
	return s
}

// freshVectors stores vectors, but loads none.
type freshVectors struct{ vectorStore }

func (freshVectors) loadVectors(context.Context, string, []string) map[string][]float32 { return nil }

func (f freshVectors) saveVectors(ctx context.Context, model string, facts []string, vectors map[string][]float32, embedded map[string]bool) {
	if f.vectorStore != nil {
		f.vectorStore.saveVectors(ctx, model, facts, vectors, embedded)
	}
}

// caching returns an embedder with a cache, which is own unless the embedder has one.
func caching(e Embedder, own *lazyCache) *EmbeddingCache {
	if c, ok := e.(*EmbeddingCache); ok {
		return c
	}
	own.once.Do(func() { own.cache.Embedder = e })
	return &own.cache
}

// lazyCache is a cache that gets its embedder when it is first used.
type lazyCache struct {
	once  sync.Once
	cache EmbeddingCache
}

// embed calls the embedder and checks its answer.
func embed(ctx context.Context, embedder Embedder, texts []string) (fresh [][]float32, err error) {
	fresh, err = abandon.Call(ctx, embedder, func() (fresh [][]float32, err error) {
		err = core.Guard(func() (err error) {
			fresh, err = embedder.Embed(ctx, texts)
			return err
		})
		return fresh, err
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
