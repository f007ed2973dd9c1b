package memory

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/abandon"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// DefaultVectorBytes is the default of EmbeddingCache.MaxBytes, room for about ten thousand
// vectors of 1,536 numbers.
const DefaultVectorBytes = 64 << 20

// EmbeddingCache is an embedder that keeps the vectors of another one by text. Several users,
// scorers and consolidators can share it. A text that is asked for by several at the same time is
// embedded once. It must not be copied once used, and its fields must not change.
//
// The vectors of facts in a store with an index are stored in the index: see [StoreFacts].
type EmbeddingCache struct {
	// Embedder is required. A call that goes on after its context has ended is abandoned.
	Embedder retrieve.Embedder
	// MaxBytes bounds the texts and vectors that are kept in memory, in bytes. Those that were
	// not asked for longest are dropped first. 0 means DefaultVectorBytes.
	MaxBytes int

	mu      sync.Mutex
	pending map[passage]*embedding // the texts that are being embedded
	// When the young generation is full, it becomes the old one, and the old one is dropped.
	young, old map[passage][]float32
	size       int // bytes of young
}

var _ retrieve.Embedder = (*EmbeddingCache)(nil)

// passage is a text with its side.
type passage struct {
	side retrieve.Side
	text string
}

// passages are texts of one side.
func passages(side retrieve.Side, texts []string) []passage {
	out := make([]passage, len(texts))
	for i, text := range texts {
		out[i] = passage{side, text}
	}
	return out
}

// contentsOf are the contents of entries.
func contentsOf(entries []*Entry) []passage {
	out := make([]passage, len(entries))
	for i, e := range entries {
		out[i] = passage{retrieve.SideDocument, e.Content}
	}
	return out
}

// embedding is a text that is being embedded. Its other fields may be read once done is closed.
type embedding struct {
	done   chan struct{}
	vector []float32 // nil if the text was not embedded
}

// Model returns that of the embedder.
func (c *EmbeddingCache) Model(ctx context.Context) (m retrieve.Model, err error) {
	if c.Embedder == nil {
		return m, errNoEmbedder
	}
	return abandon.Call(ctx, c.Embedder, func() (m retrieve.Model, err error) {
		err = core.Guard(func() (err error) {
			m, err = c.Embedder.Model(ctx)
			return err
		})
		return m, err
	})
}

var errNoEmbedder = fmt.Errorf("embedder: missing: %w", pipeline.ErrInvalid)

// Embed implements [retrieve.Embedder]. All numbers are finite, and all vectors have one length.
// They are shared: do not change them.
func (c *EmbeddingCache) Embed(ctx context.Context, side retrieve.Side, texts []string) ([][]float32, error) {
	return c.embed(ctx, passages(side, texts), 0)
}

// embed returns the vectors of texts. The first texts, as many as facts says, are those of facts:
// their vectors are stored.
func (c *EmbeddingCache) embed(ctx context.Context, texts []passage, facts int) ([][]float32, error) {
	if c.Embedder == nil {
		return nil, errNoEmbedder
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
func (c *EmbeddingCache) collect(ctx context.Context, texts []passage, facts int) (map[passage][]float32, error) {
	vectors := make(map[passage][]float32, len(texts))
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
func lengths(vectors map[passage][]float32) int {
	all := make(map[int]bool)
	for _, vector := range vectors {
		all[len(vector)] = true
	}
	return len(all)
}

// forget drops the kept vectors of texts.
func (c *EmbeddingCache) forget(vectors map[passage][]float32) {
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
func (c *EmbeddingCache) claim(texts []passage, vectors map[passage][]float32) (own, others map[passage]*embedding) {
	own, others = make(map[passage]*embedding), make(map[passage]*embedding)
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
				c.pending = make(map[passage]*embedding)
			}
			c.pending[text] = own[text]
		}
	}
	return own, others
}

// fetch gets the vectors of claimed texts from the store or the embedder, and hands them to those
// who wait for them. Vectors of facts are stored.
func (c *EmbeddingCache) fetch(ctx context.Context, own map[passage]*embedding, texts []passage, facts int, vectors map[passage][]float32) (err error) {
	if len(own) == 0 {
		return nil
	}
	defer func() {
		got := make(map[passage][]float32, len(own))
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
	m, err := c.Model(ctx)
	if err != nil {
		return fmt.Errorf("embedder: %w", err)
	}
	stored := storedVectors(ctx)
	fresh := make(map[string][]float32) // of facts, to be stored
	if stored != nil {
		var known []string
		for _, p := range texts[:facts] {
			if own[p] != nil {
				known, fresh[p.text] = append(known, p.text), nil
			}
		}
		for text, vector := range stored.loadVectors(ctx, m, known) {
			vectors[passage{retrieve.SideDocument, text}] = vector
			delete(fresh, text)
		}
	}
	for _, side := range []retrieve.Side{retrieve.SideDocument, retrieve.SideQuery} {
		if err := c.embedOwn(ctx, m.ID, side, own, texts, vectors); err != nil {
			return err
		}
	}
	for text := range fresh {
		fresh[text] = vectors[passage{retrieve.SideDocument, text}]
	}
	if len(fresh) > 0 {
		stored.saveVectors(ctx, m, fresh)
	}
	return nil
}

// embedOwn embeds the claimed texts of one side that have no vector yet, and notes the use of the
// model.
func (c *EmbeddingCache) embedOwn(ctx context.Context, model string, side retrieve.Side, own map[passage]*embedding, texts []passage, vectors map[passage][]float32) error {
	var missing []string
	seen := make(map[passage]bool)
	for _, p := range texts {
		if p.side == side && own[p] != nil && vectors[p] == nil && !seen[p] {
			missing, seen[p] = append(missing, p.text), true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	fresh, err := embed(ctx, c.Embedder, side, missing)
	used := ledger.Amount{Calls: 1, Texts: int64(len(missing))}
	if err != nil {
		used = ledger.Amount{Calls: 1, Failed: 1}
	}
	_, l := ledger.Under(ctx)
	l.Note(ledger.Use{Service: "embed", Name: ledger.NameOf(c.Embedder, model)}, used)
	if err != nil {
		return err
	}
	for i, text := range missing {
		vectors[passage{side, text}] = fresh[i]
	}
	return nil
}

// await waits for texts that others embed. It returns those that were not embedded: the caller
// embeds them itself. The other call may have been cancelled, or may have failed because of
// another text.
func await(ctx context.Context, others map[passage]*embedding, vectors map[passage][]float32) (again []passage, err error) {
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
func (c *EmbeddingCache) keep(vectors map[passage][]float32) {
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
			c.young = make(map[passage][]float32)
		}
		c.young[text] = vector
		c.size += n
	}
}

// vectorOverhead is about what a map needs for an entry, in bytes.
const vectorOverhead = 64

// sizeOf returns the bytes of an entry.
func sizeOf(p passage, vector []float32) int { return len(p.text) + 4*len(vector) + vectorOverhead }

// vectorStore stores the vectors of the texts of facts.
type vectorStore interface {
	// loadVectors returns the stored vectors of texts that a model made.
	loadVectors(ctx context.Context, m retrieve.Model, texts []string) map[string][]float32
	// saveVectors stores vectors of a model by text.
	saveVectors(ctx context.Context, m retrieve.Model, vectors map[string][]float32)
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

func (freshVectors) loadVectors(context.Context, retrieve.Model, []string) map[string][]float32 {
	return nil
}

func (f freshVectors) saveVectors(ctx context.Context, m retrieve.Model, vectors map[string][]float32) {
	if f.vectorStore != nil {
		f.vectorStore.saveVectors(ctx, m, vectors)
	}
}

// caching returns an embedder with a cache, which is own unless the embedder has one.
func caching(e retrieve.Embedder, own *lazyCache) *EmbeddingCache {
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
func embed(ctx context.Context, embedder retrieve.Embedder, side retrieve.Side, texts []string) (fresh [][]float32, err error) {
	fresh, err = abandon.Call(ctx, embedder, func() (fresh [][]float32, err error) {
		err = core.Guard(func() (err error) {
			fresh, err = embedder.Embed(ctx, side, texts)
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
