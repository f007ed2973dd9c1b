package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Extractor takes facts from turns, and merges, shortens and removes facts. It may call a
// model or a plugin. The manager calls it without a lock. It must not change its arguments.
type Extractor interface {
	// Extract takes facts from turns, oldest first. known are facts of the same owner that
	// matter to the turns. If there are no turns, known are the facts to merge, shorten or
	// remove.
	Extract(ctx context.Context, turns []pipeline.Turn, known []Entry) (Extraction, error)
}

// Extraction is the answer of an [Extractor].
type Extraction struct {
	// Add are new facts. Only their content is required; their owner is that of the turns.
	Add []Entry
	// Update are known facts with their new texts.
	Update []Edit
	// Remove are the IDs of known facts that are wrong, or that other facts contain.
	Remove []string
}

// Edit is the new text of a fact.
type Edit struct {
	ID      string
	Content string
	// Tags replace those of the fact. nil keeps them.
	Tags []string
}

// ExtractFunc makes a function an [Extractor].
type ExtractFunc func(ctx context.Context, turns []pipeline.Turn, known []Entry) (Extraction, error)

// Extract calls f.
func (f ExtractFunc) Extract(ctx context.Context, turns []pipeline.Turn, known []Entry) (Extraction, error) {
	return f(ctx, turns, known)
}

// check refuses changes to facts that the extractor did not receive.
func (x *Extraction) check(known []Entry) error {
	given := make(map[string]bool, len(known))
	for i := range known {
		given[known[i].ID] = true
	}
	var ids []string
	for _, e := range x.Update {
		if strings.TrimSpace(e.Content) == "" {
			return fmt.Errorf("fact %.100q: no content: %w", e.ID, pipeline.ErrInvalid)
		}
		ids = append(ids, e.ID)
	}
	for _, id := range append(ids, x.Remove...) {
		if !given[id] {
			return fmt.Errorf("fact %.100q: %w (only known facts can be changed, each once)", id, pipeline.ErrInvalid)
		}
		delete(given, id)
	}
	return nil
}

// of returns the edited fact.
func (d *Edit) of(e *Entry, sources []string, now time.Time) *Entry {
	c := e.Clone()
	c.Content = strings.ToValidUTF8(d.Content, "\uFFFD")
	c.ContentHash, c.UpdatedAt = ContentHash(c.Content), now
	if d.Tags != nil {
		c.Tags = slices.Clone(d.Tags)
	}
	c.SourceTurns = union(c.SourceTurns, sources)
	return &c
}
