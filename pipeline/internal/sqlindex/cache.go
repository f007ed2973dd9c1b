package sqlindex

import (
	"context"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline/retrieve/segment"
)

// indexState is what an index keeps in memory.
type indexState struct {
	cache    indexCache
	merging  sync.Mutex
	mu       sync.Mutex            // of builders
	builders map[string]*sync.Pool // by the settings that change terms
}

// indexCache keeps the segments of collections in memory. Segments never change and their
// numbers are never given twice, so a search after a write, also one of another process, reads
// only what is new.
type indexCache struct {
	limit   int64    // in bytes
	current sync.Map // the collections whose segments are known to be of this version

	mu      sync.Mutex
	entries map[int64]*cached // by collection
	clock   int64
}

// maxCached bounds the number of collections in a cache.
const maxCached = 1024

// cached is the newest view of a collection that was read.
type cached struct {
	mu         sync.Mutex // held while the collection is read
	generation int64
	view       *segment.View
	segments   map[int64]*segment.Segment // of the view

	// Of the cache's mu:
	bytes int64
	used  int64
}

func (x *indexCache) entry(collection int64) *cached {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.entries[collection]
	if e == nil {
		e = &cached{}
		if x.entries == nil {
			x.entries = make(map[int64]*cached)
		}
		x.entries[collection] = e
	}
	x.clock++
	e.used = x.clock
	return e
}

// view returns the view of a collection as the connection sees it.
func (x *indexCache) view(ctx context.Context, c *conn, col collection) (*segment.View, error) {
	e := x.entry(col.id)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.view != nil && e.generation == col.generation {
		return e.view, nil
	}
	list, err := c.segments(col.id)
	if err != nil {
		return nil, err
	}
	dead, err := c.dead(col.id)
	if err != nil {
		return nil, err
	}
	parts := make([]*segment.Part, len(list))
	segments := make(map[int64]*segment.Segment, len(list))
	bytes := int64(0)
	for i, stored := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := e.segments[stored.id]
		if s == nil {
			if s, err = c.segment(stored.id, col.id); err != nil {
				return nil, err
			}
		}
		parts[i], segments[stored.id] = segment.NewPart(s, dead), s
		bytes += s.Bytes()
	}
	view := segment.NewView(parts)
	if col.generation > e.generation { // not that of a reader that began long ago
		e.generation, e.view, e.segments = col.generation, view, segments
		x.keep(col.id, e, bytes)
	}
	return view, nil
}

// keep notes the size of an entry, whose mu is held, and drops the entries that were not used
// longest until all are within the limit.
func (x *indexCache) keep(collection int64, e *cached, bytes int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e.bytes = bytes
	total := int64(0)
	for _, other := range x.entries {
		total += other.bytes
	}
	for (total > x.limit || len(x.entries) > maxCached) && len(x.entries) > 0 {
		oldest := collection
		for id, other := range x.entries {
			if other.used < x.entries[oldest].used {
				oldest = id
			}
		}
		total -= x.entries[oldest].bytes
		delete(x.entries, oldest)
		if oldest == collection {
			return
		}
	}
}
