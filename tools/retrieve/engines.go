package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
)

// index is an engine under measurement.
type index interface {
	// add writes documents. They are durable when it returns, or after finish.
	add(ctx context.Context, batch []document) error
	// finish ends the ingestion.
	finish(ctx context.Context) error
	// search returns the IDs of the best k documents. The engine reads their texts too, as a caller needs them.
	search(ctx context.Context, q *question, k int) ([]string, error)
	close() error
}

// engine says how to make an index in an empty folder.
type engine struct {
	name string
	// vectors: it needs the vectors of texts.
	vectors bool
	ours    bool
	open    func(ctx context.Context, dir string, dim int) (index, error)
}

// The names of engines that targets name.
const (
	oursWords  = "anchor-host, words"
	oursVector = "anchor-host, vectors"
	oursHybrid = "anchor-host, hybrid"
	peerBleve  = "bleve"
	peerFTS5   = "SQLite FTS5"
	peerChrome = "chromem-go"
)

var engines = []engine{
	{oursWords, false, true, func(ctx context.Context, dir string, _ int) (index, error) {
		return openOurs(ctx, dir, 0, retrieve.ByWords)
	}},
	{oursVector, true, true, func(ctx context.Context, dir string, dim int) (index, error) {
		return openOurs(ctx, dir, dim, retrieve.ByVectors)
	}},
	{oursHybrid, true, true, func(ctx context.Context, dir string, dim int) (index, error) {
		return openOurs(ctx, dir, dim, retrieve.ByHybrid)
	}},
	{peerBleve, false, false, openBleve},
	{peerFTS5, false, false, openFTS5},
	{peerChrome, true, false, openChromem},
}

func engineOf(name string) (*engine, error) {
	for i := range engines {
		if engines[i].name == name {
			return &engines[i], nil
		}
	}
	return nil, fmt.Errorf("no engine %q", name)
}

// ours is the index of this repository, with its defaults.
type ours struct {
	store *sqlite.Store
	dim   int
	by    retrieve.By
}

var docs = retrieve.Collection{Tenant: "t", Name: "docs"}

// openOurs makes a collection, with vectors unless dim is 0.
func openOurs(ctx context.Context, dir string, dim int, by retrieve.By) (index, error) {
	s, err := sqlite.Open(ctx, filepath.Join(dir, "store.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	set := retrieve.Settings{}
	if dim > 0 {
		set.Model = retrieve.Model{ID: "m", Dimension: dim}
	}
	if err := s.Index().Create(ctx, docs, set); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &ours{s, dim, by}, nil
}

func (o *ours) add(ctx context.Context, batch []document) error {
	list := make([]retrieve.Document, len(batch))
	for i, d := range batch {
		c := retrieve.Chunk{Text: d.text}
		if o.dim > 0 {
			c.Vector = d.vector
		}
		list[i] = retrieve.Document{ID: d.id, Title: d.title, Chunks: []retrieve.Chunk{c}}
	}
	return o.store.Index().Upsert(ctx, docs, list...)
}

func (o *ours) finish(context.Context) error { return nil }

func (o *ours) search(ctx context.Context, q *question, k int) ([]string, error) {
	query := retrieve.Query{By: o.by, Text: q.text, K: k}
	if o.dim > 0 {
		query.Vector = q.vector
	}
	hits, err := o.store.Index().Search(ctx, docs, query)
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.Document
	}
	return ids, err
}

func (o *ours) close() error { return o.store.Close() }
