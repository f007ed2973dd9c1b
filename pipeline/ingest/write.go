package ingest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// A batch is written in one transaction once it has this many bytes of text, or documents.
const (
	batchBytes     = 2 << 20
	batchDocuments = 2000
)

// add takes a document into the batch.
func (g *run) add(ctx context.Context, d retrieve.Document) error {
	n := d.Bytes()
	if len(g.batch) > 0 && g.size+n > retrieve.MaxBatchBytes/2 {
		if err := g.flush(ctx); err != nil {
			return err
		}
	}
	g.batch = append(g.batch, d)
	g.size += n
	// Contexts were paid for, and a run that ends early must not pay again.
	if g.size >= batchBytes || len(g.batch) >= batchDocuments || g.o.Contexts != nil {
		return g.flush(ctx)
	}
	return nil
}

// flush begins to embed the batch, after the one before it. Meanwhile that one is prepared, the one before that is
// written, and the next files are read.
func (g *run) flush(ctx context.Context) error {
	if err := finish(&g.writes); err != nil {
		return errors.Join(err, g.wait())
	}
	if len(g.batch) == 0 {
		return nil
	}
	if w := g.work; w != nil {
		if !w.begun {
			g.batch = append(g.batch, w.begin())
		}
		g.tell(w.in.size)
	}
	batch := g.batch
	g.batch, g.size = nil, 0
	g.writes = begin(func() error { return g.write(ctx, batch) })
	return nil
}

// wait returns the errors of the batches that are on their way.
func (g *run) wait() error {
	return errors.Join(finish(&g.writes), finish(&g.prepares), finish(&g.stores))
}

// begin calls f in the background.
func begin(f func() error) chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// finish waits for the end of what has begun, nil if nothing has.
func finish(done *chan error) (err error) {
	if *done != nil {
		err, *done = <-*done, nil
	}
	return err
}

const (
	// firstTexts is how many texts an embedder gets in the first call: a few requests to a server.
	firstTexts = 64
	// writeEvery is the longest time after which vectors are written, because they were paid for and a
	// run may end early.
	writeEvery = 5 * time.Second
)

// write embeds and writes a batch: at once if the embedder is fast, and otherwise in parts, so that a run
// that is interrupted loses little of what it has paid for.
func (g *run) write(ctx context.Context, batch []retrieve.Document) (err error) {
	keep := context.WithoutCancel(ctx) // what was paid for is written, also if the run ends meanwhile
	switch {
	case g.o.Embedder == nil && g.o.Contexts == nil:
		return g.store(ctx, batch)
	case g.o.Embedder == nil:
		return g.store(keep, batch)
	}
	var ready []retrieve.Document
	written := time.Now()
	for len(batch) > 0 {
		n, began := g.part(batch), time.Now()
		good, failed := g.embed(ctx, batch[:n])
		ready = append(ready, good...)
		if failed != nil {
			return errors.Join(failed, g.store(keep, begun(ready, batch)))
		}
		batch = batch[n:]
		if time.Since(began) < writeEvery/4 {
			g.texts *= 2
		}
		if time.Since(written) >= writeEvery {
			if err := g.store(keep, begun(ready, batch)); err != nil {
				return err
			}
			ready, written = nil, time.Now()
		}
	}
	return g.store(keep, ready)
}

// begun adds what says that the records of a file are not complete, if some of them are written without
// the rest of a batch.
func begun(ready, rest []retrieve.Document) []retrieve.Document {
	if len(ready) == 0 {
		return nil
	}
	file, is := isRecord(ready[len(ready)-1].ID)
	at := slices.IndexFunc(rest, func(d retrieve.Document) bool { return d.ID == file })
	if !is || at < 0 {
		return ready
	}
	mark := rest[at]
	mark.Hash, mark.Size, mark.ModTime = "", 0, time.Time{}
	return append(ready, mark)
}

// part returns how many documents of a batch are embedded in one call.
func (g *run) part(batch []retrieve.Document) (n int) {
	g.texts = min(max(g.texts, firstTexts), retrieve.MaxChunks)
	for texts := 0; n < len(batch) && texts < g.texts; n++ {
		texts += len(batch[n].Chunks)
	}
	return n
}

// store begins to prepare documents, after those before them.
func (g *run) store(ctx context.Context, batch []retrieve.Document) error {
	err := finish(&g.prepares)
	if err == nil {
		g.prepares = begin(func() error { return g.prepared(ctx, batch) })
	}
	return err
}

// prepared prepares documents and begins to write them.
func (g *run) prepared(ctx context.Context, batch []retrieve.Document) error {
	batch = slices.DeleteFunc(batch, func(d retrieve.Document) bool { return g.incomplete(&d) })
	if len(batch) == 0 {
		return nil
	}
	// Vectors may exceed what one call takes, so the batch is halved until it fits.
	if len(batch) > 1 && vectorBytes(batch) > retrieve.MaxBatchVectorBytes {
		half := len(batch) / 2
		if err := g.upsert(ctx, batch[:half]); err != nil {
			return err
		}
		batch = batch[half:]
	}
	return g.upsert(ctx, batch)
}

// preparer is an index that can prepare documents while others are written.
type preparer interface {
	Prepare(ctx context.Context, c retrieve.Collection, docs ...retrieve.Document) (write func(context.Context) error, err error)
}

// upsert prepares documents, and begins to write them after those before them: what says that a file is complete
// must not be there without them.
func (g *run) upsert(ctx context.Context, batch []retrieve.Document) (err error) {
	if err := g.create(ctx); err != nil {
		return err
	}
	write := func(ctx context.Context) error { return g.index.Upsert(ctx, g.o.Collection, batch...) }
	if x, ok := g.index.(preparer); ok {
		if write, err = x.Prepare(ctx, g.o.Collection, batch...); err != nil {
			return err
		}
	}
	if err := finish(&g.stores); err != nil {
		return err
	}
	documents, chunks := len(batch), 0 // what was prepared is written without the batch, which may be large
	for i := range batch {
		chunks += len(batch[i].Chunks)
	}
	g.stores = begin(func() error {
		if err := write(ctx); err != nil {
			return err
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.report.Documents += documents
		g.report.Chunks += chunks
		return nil
	})
	return nil
}

func vectorBytes(batch []retrieve.Document) int {
	n := 0
	for i := range batch {
		for k := range batch[i].Chunks {
			n += 4 * len(batch[i].Chunks[k].Vector)
		}
	}
	return n
}

// embed gives all chunks their vectors, in one call if that succeeds. If the answer is not valid,
// each document is tried alone, so that only those that cause it are left out.
func (g *run) embed(ctx context.Context, batch []retrieve.Document) ([]retrieve.Document, error) {
	err := g.embedAll(ctx, batch)
	if err == nil {
		return batch, nil
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if errors.Is(err, retrieve.ErrUnavailable) {
		return nil, resumable(err)
	}
	var good []retrieve.Document
	row := 0
	for i := range batch {
		err := g.embedAll(ctx, batch[i:i+1])
		switch {
		case err == nil:
			good, row = append(good, batch[i]), 0
			continue
		case ctx.Err() != nil:
			return good, ctx.Err()
		case errors.Is(err, retrieve.ErrUnavailable), row == maxEmbedFailures:
			return good, resumable(err)
		}
		row++
		g.noVectors(&batch[i], err)
	}
	return good, nil
}

// noVectors counts a file as failed after all. It is tried again in the next run.
func (g *run) noVectors(d *retrieve.Document, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	file, _ := isRecord(d.ID)
	if g.lost[file] {
		return
	}
	g.lost[file] = true
	g.report.Files-- // fail counts it again
	if g.report.Added > 0 {
		g.report.Added--
	} else if g.report.Changed > 0 {
		g.report.Changed--
	}
	g.failLocked(d.Path, err)
}

// incomplete reports whether a document says that a file is complete, which lost a record.
func (g *run) incomplete(d *retrieve.Document) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(d.Chunks) == 0 && d.Hash != "" && g.lost[d.ID]
}

// maxEmbedFailures in a row mean that the embedder is at fault, and not the documents.
const maxEmbedFailures = 2

func (g *run) embedAll(ctx context.Context, batch []retrieve.Document) error {
	var texts []string
	var where []*retrieve.Chunk
	for i := range batch {
		d := &batch[i]
		parents := map[int]bool{}
		for k := range d.Chunks {
			parents[d.Chunks[k].Parent] = true
		}
		for k := range d.Chunks {
			if !parents[k+1] {
				texts = append(texts, d.Searched(k))
				where = append(where, &d.Chunks[k])
			}
		}
	}
	vectors, err := retrieve.Embed(ctx, g.o.Embedder, retrieve.SideDocument, texts)
	if err != nil {
		return err
	}
	for i, v := range vectors {
		where[i].Vector = v
	}
	return nil
}
