package httpembed

import (
	"container/list"
	"crypto/sha256"
	"slices"
	"sync"
)

// cache keeps the vectors of texts that came last, in memory.
type cache struct {
	most int // bytes

	mu    sync.Mutex
	used  int
	byKey map[cacheKey]*list.Element
	last  *list.List // of *cached, the latest first
}

// cacheKey is the digest of a text with its prefix.
type cacheKey [sha256.Size]byte

type cached struct {
	key    cacheKey
	vector []float32
}

// entryBytes is about what an entry takes besides its vector.
const entryBytes = 200

func newCache(most int) *cache {
	return &cache{most: most, byKey: map[cacheKey]*list.Element{}, last: list.New()}
}

func keyOf(prefix, text string) cacheKey { return sha256.Sum256([]byte(prefix + text)) }

// lookup puts the vectors that it has into their places, and returns the other texts with theirs.
// The vectors are copies.
func (c *cache) lookup(prefix string, texts []string, vectors [][]float32) (missing []string, places []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, text := range texts {
		e, ok := c.byKey[keyOf(prefix, text)]
		if !ok {
			missing, places = append(missing, text), append(places, i)
			continue
		}
		c.last.MoveToFront(e)
		vectors[i] = slices.Clone(e.Value.(*cached).vector)
	}
	return missing, places
}

// store keeps copies of vectors, and drops those that were not used for longest.
func (c *cache) store(prefix string, texts []string, vectors [][]float32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, text := range texts {
		key := keyOf(prefix, text)
		if _, ok := c.byKey[key]; ok {
			continue
		}
		c.byKey[key] = c.last.PushFront(&cached{key, slices.Clone(vectors[i])})
		c.used += entryBytes + 4*len(vectors[i])
	}
	for c.used > c.most && c.last.Len() > 0 {
		old := c.last.Remove(c.last.Back()).(*cached)
		delete(c.byKey, old.key)
		c.used -= entryBytes + 4*len(old.vector)
	}
}
