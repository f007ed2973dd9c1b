package memory

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Action is what becomes of a new fact.
type Action string

// The actions.
const (
	ActionAdd    Action = "add"    // it is stored
	ActionUpdate Action = "update" // it is merged into one that exists
	ActionDelete Action = "delete" // one that exists is deleted
	ActionNone   Action = "none"   // it is known already
)

// Decision is what a consolidator says about a new fact.
type Decision struct {
	Action Action
	// Entry is the entry to store, or the one to delete; nil with ActionNone.
	Entry *Entry
}

// Consolidator compares new facts with those that exist. It returns one decision for
// each new fact, does not change the entries it is given, and must not write to the
// manager that calls it.
type Consolidator interface {
	Consolidate(ctx context.Context, fresh, existing []*Entry) ([]Decision, error)
}

// DefaultSimilarity is the similarity from which facts are taken for one another.
const DefaultSimilarity = 0.85

// SimilarityConsolidator merges facts of one user and session whose texts are similar.
// It is safe for concurrent use and must not be copied once used.
type SimilarityConsolidator struct {
	// Embedder is required.
	Embedder Embedder
	// Threshold is the least cosine at which a new fact updates one that exists, 0 to
	// 1. 0 means DefaultSimilarity.
	Threshold float64
	// CompareNew compares new facts also with each other, so that one batch does not
	// add the same twice.
	CompareNew bool
	// Rehash gives a merged fact the hash of its new content. Without, it keeps the
	// old one, by which the old content is still recognized, as in the seed.
	Rehash bool
	// Now is time.Now when nil.
	Now func() time.Time

	vectors vectors
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

// Consolidate implements [Consolidator]. A new fact with the hash of one that exists
// is ActionNone. Otherwise the most similar one that exists decides: if it is similar
// enough, it is updated, and ActionAdd otherwise. Several new facts may update the
// same one; each decision then has all up to it merged.
func (c *SimilarityConsolidator) Consolidate(ctx context.Context, fresh, existing []*Entry) ([]Decision, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	texts := make([]string, 0, len(existing)+len(fresh))
	for _, e := range existing {
		texts = append(texts, e.Content)
	}
	for _, e := range fresh {
		texts = append(texts, e.Content)
	}
	vectors, err := c.vectors.of(ctx, c.Embedder, texts)
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

func (c *SimilarityConsolidator) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

// consolidation is one call of Consolidate.
type consolidation struct {
	c       *SimilarityConsolidator
	known   []*Entry // as merged so far
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
	threshold := r.c.Threshold
	if threshold == 0 {
		threshold = DefaultSimilarity
	}
	if best >= 0 && similarity >= threshold {
		r.known[best] = r.merge(r.known[best], e)
		return Decision{Action: ActionUpdate, Entry: r.known[best]}
	}
	if r.c.CompareNew {
		r.known, r.hashes, r.vectors = append(r.known, e), append(r.hashes, e.ContentHash), append(r.vectors, vector)
	}
	return Decision{Action: ActionAdd, Entry: e}
}

// merge returns the existing entry with what the new one brings: the longer content,
// the new one if they are equally long.
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
