package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Reembed gives the documents of a collection vectors of the embedder in o, from the texts in the
// index. Documents that have vectors of its model keep them, so a run that was interrupted goes on
// where it was. Without an embedder the collection loses its vectors.
//
// Of o, it reads Collection, Embedder, Progress and Failed. A document that the model refuses is
// told to Failed, and is found by its words. The error is as for [Run].
func Reembed(ctx context.Context, index retrieve.Index, o Options) (Report, error) {
	started := time.Now()
	g := &run{index: index, o: o, lost: map[string]bool{}}
	err := g.reembed(ctx)
	g.report.Seconds = time.Since(started).Seconds()
	if err != nil {
		return g.report, fmt.Errorf("re-embed: %w", err)
	}
	return g.report, nil
}

func (g *run) reembed(ctx context.Context) (err error) {
	if g.o.Embedder != nil {
		if g.model, err = g.o.Embedder.Model(ctx); err != nil {
			return err
		}
	}
	if err := g.index.SetModel(ctx, g.o.Collection, g.model); err != nil || g.o.Embedder == nil {
		return err
	}
	var without []retrieve.DocumentInfo
	p := Progress{}
	for d, err := range g.index.Documents(ctx, g.o.Collection, retrieve.IDs{}) {
		if err != nil {
			return err
		}
		if d.Chunks > 0 && d.Vectors == 0 {
			without = append(without, d)
			p.TotalBytes += d.Size
		}
	}
	p.TotalFiles = len(without)
	defer func() { err = cmp.Or(err, g.wait()) }()
	for i := range without {
		if err := g.again(ctx, without[i].ID); err != nil {
			return err
		}
		p.Files, p.Bytes, p.Path = p.Files+1, p.Bytes+without[i].Size, without[i].Path
		if g.o.Progress != nil {
			g.mu.Lock()
			g.o.Progress(p)
			g.mu.Unlock()
		}
	}
	return g.flush(ctx)
}

// again embeds a document of the index, unless it was deleted in the meantime.
func (g *run) again(ctx context.Context, id string) error {
	d, err := g.index.Document(ctx, g.o.Collection, id)
	if errors.Is(err, retrieve.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.report.Files++
	g.report.Changed++
	g.mu.Unlock()
	return g.add(ctx, d)
}
