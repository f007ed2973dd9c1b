package tokens

import (
	"hash/maphash"
	"sync"
)

// cacheEntries bounds each of the two generations of a count cache, which then
// takes about 1 MiB.
const cacheEntries = 8192

// cacheKey names a text by two seeded hashes and its length, so that the cache
// holds no texts. Seeds differ from process to process: a sender of texts cannot
// look for collisions.
type cacheKey struct {
	a, b uint64
	n    int
}

// countCache remembers recent counts in two generations: when the young one is
// full it becomes the old one, and the old one is forgotten.
type countCache struct {
	limit        int
	seedA, seedB maphash.Seed

	mu         sync.RWMutex
	young, old map[cacheKey]int32
}

func newCountCache(limit int) *countCache {
	return &countCache{limit: limit, seedA: maphash.MakeSeed(), seedB: maphash.MakeSeed()}
}

func (c *countCache) key(text string) cacheKey {
	return cacheKey{maphash.String(c.seedA, text), maphash.String(c.seedB, text), len(text)}
}

// lookup fills in the counts it knows and returns the places of the others.
func (c *countCache) lookup(texts []string, counts []int) (misses []int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for i, text := range texts {
		if text == "" {
			continue
		}
		key := c.key(text)
		n, ok := c.young[key]
		if !ok {
			n, ok = c.old[key]
		}
		if !ok {
			misses = append(misses, i)
		}
		counts[i] = int(n)
	}
	return misses
}

// store remembers the counts at the given places.
func (c *countCache) store(texts []string, counts, places []int) {
	if len(places) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range places {
		if c.young == nil || len(c.young) >= c.limit {
			c.young, c.old = make(map[cacheKey]int32), c.young
		}
		c.young[c.key(texts[i])] = int32(counts[i])
	}
}
