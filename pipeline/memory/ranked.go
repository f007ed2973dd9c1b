package memory

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// ranked returns the facts that the filter selects and that matter most to a query, with their
// scores. An owner that is not nil must be that of each fact. It returns at most topK facts; 0
// means DefaultTopK.
func (m *Manager) ranked(ctx context.Context, q *pipeline.Query, filter Filter, owner *Entry, topK int) ([]scoredEntry, error) {
	now, s := m.cfg.Now(), m.cfg.Scorer
	entries, embedder, err := m.candidates(ctx, q, &filter, owner, topK, now)
	if err != nil {
		return nil, err
	}
	ranked, err := s.rank(m.storing(ctx), embedder, q, entries, now)
	if err != nil && embedder != nil && s.OnError != nil && ctx.Err() == nil {
		s.OnError(err)
		ranked, err = s.rank(ctx, nil, q, entries, now)
	}
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	return first(ranked, topK), nil
}

// candidates returns the facts among which the scorer chooses: those that an index finds, or all
// that the filter selects. embedder is that of the scorer, or nil if it has just failed.
func (m *Manager) candidates(ctx context.Context, q *pipeline.Query, filter *Filter, owner *Entry, topK int, now time.Time) (entries []*Entry, embedder retrieve.Embedder, err error) {
	embedder = m.cfg.Scorer.Embedder
	f, ok := m.cfg.Facts.(*StoreFacts)
	found := false
	if ok && f.index != nil && filter.searchable() {
		question := filter.question(now)
		question.Text, question.Most = q.Text[:min(len(q.Text), maxQuestion)], min(max(leastFound, 2*topK), maxFound)
		if owner != nil {
			question.Users, question.Sessions = []string{owner.UserID}, []string{owner.SessionID}
		}
		if embedder, err = m.setVector(ctx, f, q, &question); err == nil {
			entries, found, err = f.find(ctx, question)
		}
	}
	if err == nil && !found && m.cfg.Facts != nil {
		entries, err = m.cfg.Facts.List(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	entries = filter.apply(entries, now)
	if owner != nil {
		entries = slices.DeleteFunc(entries, func(e *Entry) bool { return !sameOwner(e, owner) })
	}
	return entries, embedder, nil
}

// setVector embeds the question, and facts that have no vector yet. It returns the embedder, nil
// if there is none or if it fails and the scorer goes on without.
func (m *Manager) setVector(ctx context.Context, f *StoreFacts, q *pipeline.Query, question *store.FactQuery) (retrieve.Embedder, error) {
	s := m.cfg.Scorer
	if s.Embedder == nil {
		return nil, nil
	}
	c := caching(s.Embedder, &s.vectors)
	model, err := c.Model(ctx)
	question.Model, question.Vector = model.ID, q.Embedding
	if err == nil && len(q.Embedding) == 0 {
		var vectors [][]float32
		if vectors, err = c.Embed(ctx, retrieve.SideQuery, []string{q.Text}); err == nil {
			question.Vector = vectors[0]
		}
	}
	if err == nil {
		_, err = m.embedFacts(ctx, f, model, embedLater)
	}
	switch {
	case err == nil:
		return s.Embedder, nil
	case s.OnError == nil || ctx.Err() != nil:
		return nil, fmt.Errorf("memory: scorer: %w", err)
	}
	s.OnError(err)
	question.Vector = nil
	return nil, nil
}

// embedLater is how many facts without a vector a query embeds before it searches. The others
// wait for the next queries.
const embedLater = 256

// EmbedFacts makes the vectors that facts lack, if the scorer has an embedder and the store of the
// facts has an index, and returns how many facts it embedded. Queries do this too, for some facts
// at a time.
func (m *Manager) EmbedFacts(ctx context.Context) (int, error) {
	f, ok := m.cfg.Facts.(*StoreFacts)
	if !ok || f.index == nil || m.cfg.Scorer.Embedder == nil {
		return 0, nil
	}
	model, err := caching(m.cfg.Scorer.Embedder, &m.cfg.Scorer.vectors).Model(ctx)
	if err != nil {
		return 0, fmt.Errorf("memory: embed facts: %w", err)
	}
	for total := 0; ; {
		n, err := m.embedFacts(ctx, f, model, embedLater)
		if total += n; err != nil || n == 0 {
			return total, err
		}
	}
}

// embedFacts embeds at most n facts that have no vector, and returns how many got one.
func (m *Manager) embedFacts(ctx context.Context, f *StoreFacts, model retrieve.Model, n int) (int, error) {
	records, err := f.index.FactsWithoutVector(ctx, f.key.Tenant, model.ID, n)
	var entries []*Entry
	for _, r := range records {
		if e, err := decodeRecord(r); err == nil {
			entries = append(entries, e)
		}
	}
	if errors.Is(err, store.ErrReadOnly) {
		return 0, nil
	}
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	vectors, err := caching(m.cfg.Scorer.Embedder, &m.cfg.Scorer.vectors).embed(ctx, contentsOf(entries), 0)
	if err != nil {
		return 0, err
	}
	made := make(map[[32]byte][]float32, len(entries))
	for i, e := range entries {
		made[sha256.Sum256([]byte(e.Content))] = vectors[i]
	}
	err = f.index.SetFactVectors(ctx, f.key.Tenant, model.ID, made)
	if errors.Is(err, store.ErrReadOnly) {
		return 0, nil
	}
	return len(entries), err
}
