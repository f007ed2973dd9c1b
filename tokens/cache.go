package tokens

import (
	"hash/maphash"
	"sync"
)

// cacheEntries bounds each of the two generations of a count cache. The cache then takes
// less than 1 MiB.
const cacheEntries = 8192

// cacheEntry is a count under the hash of its text. A second hash and the length show
// whether a text is the same, so that the cache holds no texts. The seeds of the hashes
// differ from process to process, so nobody can prepare texts that collide.
type cacheEntry struct {
	check  uint64
	length uint32 // modulo 1 << 32
	count  int32
}

// countCache remembers recent counts in two generations. When the young generation is full,
// it replaces the old one, which is dropped.
type countCache struct {
	limit        int
	seedA, seedB maphash.Seed

	mu         sync.RWMutex
	young, old map[uint64]cacheEntry
}

func newCountCache(limit int) *countCache {
	return &countCache{limit: limit, seedA: maphash.MakeSeed(), seedB: maphash.MakeSeed()}
}

// is reports whether the entry belongs to text, whose hash is that of the entry.
func (c *countCache) is(e cacheEntry, text string) bool {
	return e.length == uint32(len(text)) && e.check == maphash.String(c.seedB, text)
}

// lookup sets the counts that it knows and returns the indices of the other texts.
func (c *countCache) lookup(texts []string, counts []int) (misses []int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for i, text := range texts {
		if text == "" {
			continue
		}
		hash := maphash.String(c.seedA, text)
		e, ok := c.young[hash]
		if !ok {
			e, ok = c.old[hash]
		}
		if ok && c.is(e, text) {
			counts[i] = int(e.count)
		} else {
			misses = append(misses, i)
		}
	}
	return misses
}

// store remembers the counts at the given indices.
func (c *countCache) store(texts []string, counts, places []int) {
	if len(places) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range places {
		text := texts[i]
		if c.young == nil || len(c.young) >= c.limit {
			c.young, c.old = make(map[uint64]cacheEntry), c.young
		}
		c.young[maphash.String(c.seedA, text)] = cacheEntry{maphash.String(c.seedB, text), uint32(len(text)), int32(counts[i])}
	}
}
