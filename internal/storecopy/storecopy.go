// Package storecopy copies a store into another, which may be of another form, and compares both record
// by record.
package storecopy

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

const (
	// page is how many records are read at a time. Even the largest must fit into memory.
	page = 100
	// batchBytes is about how much one write has.
	batchBytes = 8 << 20
	// documents is how many documents one write has at most.
	documents = 500
)

// Store is a store that can be copied, or copied to.
type Store interface {
	store.Store
	store.Counter
	store.Sizer
	store.Lister
}

// End is one of the two stores.
type End struct {
	Store Store
	// Index has the collections of the store.
	Index retrieve.Index
}

// Result counts what TO has of FROM.
type Result struct {
	Tenants     int   `json:"tenants" yaml:"tenants"`
	Records     int64 `json:"records" yaml:"records"`
	Bytes       int64 `json:"bytes" yaml:"bytes"`
	Collections int   `json:"collections" yaml:"collections"`
	Documents   int64 `json:"documents" yaml:"documents"`
	// Copied are the records and documents that TO did not have before.
	Copied int64 `json:"copied" yaml:"copied"`
}

type copier struct {
	from, to End
	total    int64
	done     Result
	progress func(done, total int64)
}

// Copy copies all records and collections, and reads back what it has written. What TO has already is
// compared and not written again, so a copy that was ended goes on where it was. It calls progress with the
// records that are done.
//
// What both have and differs is an error, and so is what only TO has, a document or a tenant too: nothing of TO is
// replaced or deleted. Vectors of facts are made again where facts are next searched.
func Copy(ctx context.Context, from, to End, progress func(done, total int64)) (Result, error) {
	c := &copier{from: from, to: to, progress: progress}
	tenants, err := from.Store.Tenants(ctx)
	if err != nil {
		return c.done, err
	}
	if err := c.onlyThose(ctx, tenants); err != nil {
		return c.done, err
	}
	for _, tenant := range tenants {
		n, _, err := from.Store.Size(ctx, tenant)
		if err != nil {
			return c.done, err
		}
		c.total += n
	}
	for _, tenant := range tenants {
		if err := c.tenant(ctx, tenant); err != nil {
			return c.done, fmt.Errorf("copy tenant %s: %w", tenant, err)
		}
		c.done.Tenants++
	}
	return c.done, nil
}

// onlyThose returns an error if TO has a tenant that FROM has not.
func (c *copier) onlyThose(ctx context.Context, tenants []string) error {
	have, err := c.to.Store.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, tenant := range have {
		if !slices.Contains(tenants, tenant) {
			return fmt.Errorf("%w: TO has tenant %s, which FROM has not (name an empty store)", store.ErrExists, tenant)
		}
	}
	return nil
}

func (c *copier) tenant(ctx context.Context, tenant string) error {
	lasts, err := c.from.Store.LastSeqs(ctx, tenant)
	if err != nil {
		return err
	}
	have, err := c.to.Store.LastSeqs(ctx, tenant)
	if err != nil {
		return err
	}
	for key := range have {
		if _, ok := lasts[key]; !ok {
			return fmt.Errorf("%w: TO has records of %s, which FROM has not (name an empty store)", store.ErrExists, key)
		}
	}
	for key, last := range lasts {
		if err := c.key(ctx, key); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if have[key] < last { // the newest records may have been deleted
			if err := c.to.Store.Apply(ctx, store.Change{Key: key, LastSeq: last}); err != nil {
				return err
			}
		}
	}
	return c.collections(ctx, tenant)
}

// key copies the records of a key, page by page.
func (c *copier) key(ctx context.Context, key store.Key) error {
	for after := int64(0); ; {
		recs, err := c.from.Store.Read(ctx, key, after, page)
		if err != nil {
			return err
		}
		if err := c.page(ctx, key, after, recs); err != nil {
			return err
		}
		for i := range recs {
			c.done.Bytes += int64(len(recs[i].Data))
			after = recs[i].Seq
		}
		c.done.Records += int64(len(recs))
		c.progress(c.done.Records, max(c.total, c.done.Records))
		if len(recs) < page {
			return nil
		}
	}
}

// page makes TO have the same records after a number.
func (c *copier) page(ctx context.Context, key store.Key, after int64, recs []store.Record) error {
	have, err := c.to.Store.Read(ctx, key, after, len(recs)+1)
	if err != nil {
		return err
	}
	if len(recs) == page && len(have) > page {
		have = have[:page] // the others are those of the next page
	}
	if len(have) > len(recs) {
		return fmt.Errorf("%w: TO has record %d, which FROM has not (name an empty store)", store.ErrExists, have[len(recs)].Seq)
	}
	if err := same(have, recs[:len(have)]); err != nil {
		return err
	}
	for rest := recs[len(have):]; len(rest) > 0; {
		n, size := 0, 0
		for n < len(rest) && (n == 0 || size+len(rest[n].Data) <= batchBytes) {
			size += len(rest[n].Data)
			n++
		}
		if err := c.to.Store.Apply(ctx, store.Change{Key: key, Put: rest[:n], KeepSeq: true}); err != nil {
			return err
		}
		written, err := c.to.Store.Read(ctx, key, rest[0].Seq-1, n)
		if err != nil {
			return err
		}
		if len(written) != n {
			return fmt.Errorf("%w: TO has %d of %d records after they were written", store.ErrCorrupt, len(written), n)
		}
		if err := same(written, rest[:n]); err != nil {
			return err
		}
		c.done.Copied += int64(n)
		rest = rest[n:]
	}
	return nil
}

// same returns an error if two lists of records differ.
func same(a, b []store.Record) error {
	for i := range a {
		if x, y := &a[i], &b[i]; x.Seq != y.Seq || x.ID != y.ID || !x.Time.Equal(y.Time) || !bytes.Equal(x.Data, y.Data) {
			return fmt.Errorf("%w: record %d (%.100q) differs (end the programs that write, and name an empty store)", store.ErrExists, y.Seq, y.ID)
		}
	}
	return nil
}

// collections copies the collections of a tenant.
func (c *copier) collections(ctx context.Context, tenant string) error {
	list, err := c.from.Index.Collections(ctx, tenant)
	if err != nil {
		return err
	}
	have, err := c.to.Index.Collections(ctx, tenant)
	if err != nil {
		return err
	}
	for _, h := range have {
		if !slices.ContainsFunc(list, func(info retrieve.CollectionInfo) bool { return info.Collection == h.Collection }) {
			return fmt.Errorf("%w: TO has collection %s, which FROM has not (name an empty store)", store.ErrExists, h.Name)
		}
	}
	for _, info := range list {
		if err := c.to.Index.Create(ctx, info.Collection, info.Settings); err != nil {
			return err
		}
		if err := c.collection(ctx, info); err != nil {
			return err
		}
		c.done.Collections++
	}
	return nil
}

// collection copies the documents of a collection that TO has not, and compares all.
func (c *copier) collection(ctx context.Context, info retrieve.CollectionInfo) error {
	there := make(map[string]bool)
	for d, err := range c.to.Index.Documents(ctx, info.Collection, retrieve.IDs{}) {
		if err != nil {
			return err
		}
		there[d.ID] = true
	}
	var batch []retrieve.Document
	size := 0
	flush := func() error {
		if err := c.to.Index.Upsert(ctx, info.Collection, batch...); err != nil {
			return err
		}
		for i := range batch {
			if err := c.compare(ctx, info, &batch[i]); err != nil {
				return err
			}
		}
		c.done.Copied += int64(len(batch))
		batch, size = batch[:0], 0
		return nil
	}
	for d, err := range c.from.Index.Export(ctx, info.Collection) {
		if err != nil {
			return err
		}
		c.done.Documents++
		if there[d.ID] {
			delete(there, d.ID)
			if err := c.compare(ctx, info, &d); err != nil {
				return err
			}
			continue
		}
		batch, size = append(batch, d), size+d.Bytes()
		if len(batch) == documents || size >= batchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	for id := range there {
		return fmt.Errorf("%w: TO has document %.100q of collection %s, which FROM has not (name an empty store)", store.ErrExists, id, info.Name)
	}
	if len(batch) == 0 {
		return nil
	}
	return flush()
}

// compare returns an error if TO has another document. Vectors are rounded again.
func (c *copier) compare(ctx context.Context, info retrieve.CollectionInfo, want *retrieve.Document) error {
	have, err := c.to.Index.Document(ctx, info.Collection, want.ID)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(bare(have), bare(*want)) {
		return fmt.Errorf("%w: document %.100q of collection %s differs (name an empty store)", store.ErrExists, want.ID, info.Name)
	}
	return nil
}

// bare is a document whose vectors are only there or not.
func bare(d retrieve.Document) retrieve.Document {
	chunks := make([]retrieve.Chunk, len(d.Chunks))
	for i, c := range d.Chunks {
		if c.Vector != nil {
			c.Vector = make([]float32, len(c.Vector))
		}
		chunks[i] = c
	}
	d.Chunks = chunks
	return d
}
