package llm

import (
	"container/list"
	"crypto/sha256"
	"fmt"
	"sync"
)

// overhead is what a kept answer counts for beyond its text, in bytes.
const overhead = 256

// Cache keeps answers in memory by the content of their requests, those used last. It is safe for
// concurrent use, and several models may share one.
type Cache struct {
	most int64

	mu    sync.Mutex
	used  int64
	order *list.List // of *kept, the one used last at the front
	found map[[32]byte]*list.Element
}

// kept is an answer in a cache.
type kept struct {
	key    [32]byte
	answer Answer
}

func (k *kept) size() int64 { return int64(len(k.answer.Text)) + overhead }

// NewCache returns a cache for at most that many bytes.
func NewCache(bytes int64) *Cache {
	return &Cache{most: bytes, order: list.New(), found: map[[32]byte]*list.Element{}}
}

// keyOf is the key of a request.
func keyOf(scope, address string, body []byte) [32]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s %d %s ", len(scope), scope, len(address), address)
	h.Write(body)
	return [32]byte(h.Sum(nil))
}

func (c *Cache) get(key [32]byte) (Answer, bool) {
	if c == nil {
		return Answer{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.found[key]
	if e == nil {
		return Answer{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*kept).answer, true
}

func (c *Cache) put(key [32]byte, a Answer) {
	k := &kept{key, a}
	if c == nil || k.size() > c.most {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found[key] != nil { // two asked the same at the same time
		return
	}
	c.found[key] = c.order.PushFront(k)
	c.used += k.size()
	for c.used > c.most {
		last := c.order.Back()
		old := c.order.Remove(last).(*kept)
		delete(c.found, old.key)
		c.used -= old.size()
	}
}
