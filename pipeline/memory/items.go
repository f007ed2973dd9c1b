package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Items returns the facts, followed by the items of the conversation. Facts have the source
// memory and priority 8; expired ones are left out. MaxFacts, Filter and FactsFirst of
// [Config] choose the facts and their place. q may be nil.
func (m *Manager) Items(ctx context.Context, q *pipeline.Query) ([]pipeline.Item, error) {
	if q == nil {
		q = new(pipeline.Query)
	}
	facts, err := m.offered(ctx, q)
	if err != nil {
		return nil, err
	}
	counts, err := m.count(ctx, facts)
	if err != nil {
		return nil, err
	}
	turns, err := m.cfg.Conversation.Items(ctx, q)
	if err != nil {
		return nil, err
	}
	items := make([]pipeline.Item, 0, len(facts)+len(turns))
	for i, f := range facts {
		items = append(items, f.entry.item(factPriority, f.score, counts[i]))
	}
	if m.cfg.FactsFirst {
		placeBefore(items, turns)
	}
	return append(items, turns...), nil
}

// offered returns the facts for a query, with the scores of their items.
func (m *Manager) offered(ctx context.Context, q *pipeline.Query) ([]scoredEntry, error) {
	filter := m.cfg.Filter
	if m.cfg.FilterBy != nil {
		if err := core.Guard(func() error { filter = m.cfg.FilterBy(q); return nil }); err != nil {
			return nil, fmt.Errorf("memory: filter: %w", err)
		}
	}
	filter.Expired = false
	if m.cfg.MaxFacts == 0 {
		entries, err := m.list(ctx, filter, m.cfg.Now())
		return plainScores(entries), err
	}
	ranked, err := m.ranked(ctx, q, filter, nil, m.cfg.MaxFacts)
	if err != nil {
		return nil, err
	}
	for i := range ranked {
		if ranked[i].score < m.cfg.MinScore {
			return ranked[:i], nil
		}
	}
	return ranked, nil
}

// plainScores scores each entry by its own relevance.
func plainScores(entries []*Entry) []scoredEntry {
	out := make([]scoredEntry, len(entries))
	for i, e := range entries {
		out[i] = scoredEntry{e, e.Relevance}
	}
	return out
}

// item returns the entry as an item of source memory.
func (e *Entry) item(priority int, score float64, tokens int) pipeline.Item {
	tags := make([]any, len(e.Tags))
	for i, tag := range e.Tags {
		tags[i] = tag
	}
	return pipeline.Item{
		ID:         "fact-" + e.ID,
		Content:    e.Content,
		Source:     pipeline.SourceMemory,
		Score:      score,
		Priority:   priority,
		TokenCount: tokens,
		Metadata:   map[string]any{"memory_entry_id": e.ID, "memory_type": string(e.Type), "tags": tags},
		CreatedAt:  e.CreatedAt,
	}
}

// placeBefore sets the times of facts so that none is after a turn. At equal times a fact,
// which has no sequence number, comes first.
func placeBefore(facts, turns []pipeline.Item) {
	var earliest time.Time
	for i := range turns {
		if earliest.IsZero() || turns[i].CreatedAt.Before(earliest) {
			earliest = turns[i].CreatedAt
		}
	}
	for i := range facts {
		if !earliest.IsZero() && facts[i].CreatedAt.After(earliest) {
			facts[i].CreatedAt = earliest
		}
	}
}

// count returns the tokens of facts. It remembers the counts until the next call.
func (m *Manager) count(ctx context.Context, facts []scoredEntry) ([]int, error) {
	counts := make([]int, len(facts))
	kept := make(map[string]int, len(facts))
	var texts []string
	var places []int
	m.counting.Lock()
	for i, f := range facts {
		n, ok := m.counts[f.entry.Content]
		if !ok {
			texts, places = append(texts, f.entry.Content), append(places, i)
			continue
		}
		counts[i], kept[f.entry.Content] = n, n
	}
	m.counting.Unlock()
	if len(texts) > 0 {
		fresh, err := core.CountTexts(ctx, m.cfg.Tokenizer, texts)
		if err != nil {
			return nil, fmt.Errorf("memory: %w", err)
		}
		for i, at := range places {
			counts[at], kept[texts[i]] = fresh[i], fresh[i]
		}
	}
	m.counting.Lock()
	defer m.counting.Unlock()
	m.counts = kept
	return counts, nil
}
