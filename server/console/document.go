package console

import (
	"fmt"

	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/builtdoc"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/promptcache"
	"github.com/anchor-host/anchor-host/store"
)

// document reads the record of a build. Without the scope content there are digests in the place of
// texts.
func (v *visit) document(id string) (*builds.Record, *builtdoc.Doc, error) {
	r, err := v.c.o.App.BuildRecord(v.ctx, v.tenant, id)
	if err != nil {
		return nil, nil, err
	}
	d, err := v.c.docs.get(docKey{v.tenant, r.ID, r.Time.UnixNano(), v.content()}, func() (*builtdoc.Doc, error) { return decode(r, v.content()) })
	return r, d, err
}

func decode(r *builds.Record, content bool) (*builtdoc.Doc, error) {
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
		_ = it.SetParts(nil) // no parts are always valid
		if !d.Hidden {
			it.Content = digest(it.Content)
		}
	}
	for i := range d.Overflow {
		o := &d.Overflow[i]
		o.Metadata = nil
		_ = o.SetParts(nil)
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
