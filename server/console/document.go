package console

import (
	"fmt"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/builtdoc"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/promptcache"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// document reads the record of a build. Without the scope content there are digests in the place of
// texts.
func (v *visit) document(id string) (*anchor.BuildRecord, *builtdoc.Doc, error) {
	r, err := v.c.o.App.BuildRecord(v.ctx, v.tenant, id)
	if err != nil {
		return nil, nil, err
	}
	d, err := v.c.docs.get(docKey{v.tenant, r.ID, r.Time.UnixNano(), v.content()}, func() (*builtdoc.Doc, error) { return decode(r, v.content()) })
	return r, d, err
}

func decode(r *anchor.BuildRecord, content bool) (*builtdoc.Doc, error) {
	d, err := builtdoc.DecodeKept(r.ID, r.Detail.Result)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w: %w", r.ID, store.ErrCorrupt, err)
	}
	d.Hidden = !r.Content
	if !content {
		conceal(d)
	}
	return d, nil
}

// conceal takes all texts out of a document.
func conceal(d *builtdoc.Doc) {
	for i := range d.Window.Items {
		it := &d.Window.Items[i]
		it.Metadata = nil
		if !d.Hidden {
			it.Content = digest(it.Content)
		}
	}
	for i := range d.Overflow {
		o := &d.Overflow[i]
		o.Metadata = nil
		if !d.Hidden {
			o.Content = digest(o.Content)
		}
	}
	for i := range d.Traces {
		d.Traces[i].Excerpt = ""
	}
	for i := range d.Failures {
		d.Failures[i].Message = ""
	}
	if d.Cache != nil && d.Cache.BrokenBy != nil {
		cache, by := *d.Cache, *d.Cache.BrokenBy
		by.Text = explain.Change[string]{}
		cache.BrokenBy = &by
		d.Cache = &cache
	}
	d.Window.Query, d.Output, d.Hidden = "", nil, true
}

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

// breakOf says what ended the part of a prompt that a cache has. Empty: nothing did.
func breakOf(c *promptcache.Report) string {
	if c == nil || c.BrokenBy == nil {
		return ""
	}
	b := c.BrokenBy
	s := fmt.Sprintf("block %d: ", b.Block)
	if b.How == "format" {
		s += "the format differs"
	} else {
		s += fmt.Sprintf("item %s (%s) was %s", short(b.Item), b.Source, b.How)
	}
	if b.Origin != nil {
		s += " by " + builtdoc.Actor(*b.Origin)
	}
	return s
}
