package memory

import (
	"cmp"
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Action says what to do with a new fact.
type Action string

// The actions.
const (
	ActionAdd    Action = "add"    // it is stored
	ActionUpdate Action = "update" // it is merged into a stored fact
	ActionDelete Action = "delete" // a stored fact is deleted
	ActionNone   Action = "none"   // it is known already
)

// Decision is the answer of a consolidator about one new fact.
type Decision struct {
	Action Action
	// Entry is the entry to store, or the one to delete; nil with ActionNone.
	Entry *Entry
}

// Consolidator compares new facts with the stored ones. It returns one decision for each
// new fact. It does not change the entries that it receives, and must not write to the
// manager that calls it.
type Consolidator interface {
	Consolidate(ctx context.Context, fresh, existing []*Entry) ([]Decision, error)
}

// DefaultSimilarity is the similarity from which two facts are taken for the same fact.
const DefaultSimilarity = 0.85

// SimilarityConsolidator merges facts of one user and session whose texts are similar.
// It is safe for concurrent use and must not be copied once used.
type SimilarityConsolidator struct {
	// Embedder is required. An [EmbeddingCache] can be shared with others; any other embedder
	// gets its own.
	Embedder retrieve.Embedder
	// Threshold is the lowest cosine at which a new fact updates a stored one, 0 to 1. 0
	// means DefaultSimilarity.
	Threshold float64
	// CompareNew also compares new facts with each other, so that one batch does not add
	// the same fact twice.
	CompareNew bool
	// Rehash gives a merged fact the hash of its new content. Without Rehash, the fact
	// keeps the old hash, by which the old content is recognized.
	Rehash bool
	// Now is time.Now when nil.
	Now func() time.Time

	vectors lazyCache
}

// Validate checks the fields.
func (c *SimilarityConsolidator) Validate() error {
	switch {
	case c.Embedder == nil:
		return fmt.Errorf("consolidator: embedder: missing: %w", pipeline.ErrInvalid)
	case !(c.Threshold >= 0 && c.Threshold <= 1):
		return fmt.Errorf("consolidator: threshold %v: %w (want 0 to 1)", c.Threshold, pipeline.ErrInvalid)
	}
	return nil
}

// Consolidate implements [Consolidator]. A new fact with the hash of a stored fact gets
// ActionNone. Otherwise the most similar stored fact decides: if it is similar enough, it
// is updated; if not, the new fact gets ActionAdd. Several new facts may update the same
// stored fact. The entry of each decision then contains all merges up to it.
func (c *SimilarityConsolidator) Consolidate(ctx context.Context, fresh, existing []*Entry) ([]Decision, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	texts := append(contentsOf(existing), contentsOf(fresh)...)
	vectors, err := caching(c.Embedder, &c.vectors).embed(ctx, texts, len(texts))
	if err != nil {
		return nil, fmt.Errorf("consolidator: %w", err)
	}
	round := consolidation{c: c, vectors: vectors[:len(existing):len(existing)], now: c.now()}
	for _, e := range existing {
		round.known = append(round.known, e)
		round.hashes = append(round.hashes, e.ContentHash)
	}
	decisions := make([]Decision, len(fresh))
	for i, e := range fresh {
		decisions[i] = round.decide(e, vectors[len(existing)+i])
	}
	return decisions, nil
}

// prepare embeds entries before Consolidate needs their vectors.
func (c *SimilarityConsolidator) prepare(ctx context.Context, entries []*Entry) error {
	if err := c.Validate(); err != nil {
		return err
	}
	texts := contentsOf(entries)
	if _, err := caching(c.Embedder, &c.vectors).embed(ctx, texts, len(texts)); err != nil {
		return fmt.Errorf("consolidator: %w", err)
	}
	return nil
}

func (c *SimilarityConsolidator) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

// consolidation is one call of Consolidate.
type consolidation struct {
	c       *SimilarityConsolidator
	known   []*Entry // with the merges so far
	hashes  []string // before anything was merged
	vectors [][]float32
	now     time.Time
}

func (r *consolidation) decide(e *Entry, vector []float32) Decision {
	best, similarity := -1, 0.0
	for i, known := range r.known {
		if !sameOwner(known, e) {
			continue
		}
		if r.hashes[i] == e.ContentHash {
			return Decision{Action: ActionNone}
		}
		if s := cosine(vector, r.vectors[i]); s > similarity {
			best, similarity = i, s
		}
	}
	threshold := cmp.Or(r.c.Threshold, DefaultSimilarity)
	if best >= 0 && similarity >= threshold {
		r.known[best] = r.merge(r.known[best], e)
		return Decision{Action: ActionUpdate, Entry: r.known[best]}
	}
	if r.c.CompareNew {
		r.known, r.hashes, r.vectors = append(r.known, e), append(r.hashes, e.ContentHash), append(r.vectors, vector)
	}
	return Decision{Action: ActionAdd, Entry: e}
}

// merge returns the stored entry, merged with the new one. It has the longer of the two
// contents, or the new content if both are equally long.
func (r *consolidation) merge(existing, e *Entry) *Entry {
	out := existing.Clone()
	if utf8.RuneCountInString(e.Content) >= utf8.RuneCountInString(out.Content) {
		out.Content = e.Content
	}
	if r.c.Rehash {
		out.ContentHash = ContentHash(out.Content)
	}
	out.Tags = union(existing.Tags, e.Tags)
	out.Links = union(existing.Links, e.Links)
	out.SourceTurns = union(existing.SourceTurns, e.SourceTurns)
	fresh := e.Clone()
	out.Metadata = merged(out.Metadata, fresh.Metadata)
	out.AccessCount++
	out.Relevance = max(existing.Relevance, e.Relevance)
	out.UpdatedAt = r.now
	return &out
}
