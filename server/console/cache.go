package console

import (
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/internal/builtdoc"
)

// docCache keeps the documents that were read last, because the pages of one build follow each other.
type docCache struct {
	mu   sync.Mutex
	list []cachedDoc // the one that was used last is at the end
}

type docKey struct {
	tenant, id string
	time       int64
	content    bool
}

type cachedDoc struct {
	key docKey
	doc *builtdoc.Doc
}

// maxDocs is how many documents are kept.
const maxDocs = 4

// get returns the document of a key, which must not be changed.
func (c *docCache) get(key docKey, read func() (*builtdoc.Doc, error)) (*builtdoc.Doc, error) {
	if d := c.find(key); d != nil {
		return d, nil
	}
	d, err := read()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == maxDocs {
		c.list = slices.Delete(c.list, 0, 1)
	}
	c.list = append(c.list, cachedDoc{key, d})
	return d, nil
}

func (c *docCache) find(key docKey) *builtdoc.Doc {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.list, func(d cachedDoc) bool { return d.key == key })
	if i < 0 {
		return nil
	}
	found := c.list[i]
	c.list = append(slices.Delete(c.list, i, i+1), found)
	return found.doc
}
