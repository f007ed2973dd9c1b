package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// run is one run.
type run struct {
	index       retrieve.Index
	o           Options
	model       retrieve.Model
	fingerprint string
	known       map[string]retrieve.DocumentInfo
	records     map[string][]string // the records of each file, made when first needed
	seen        map[string]bool     // documents that stay
	whole       map[string]bool     // files all of whose records stay

	batch  []retrieve.Document
	size   int
	writes chan error // the result of the batch that is being written, or nil

	mu     sync.Mutex // of what follows, and of the callbacks
	report Report
	lost   map[string]bool // files of which a document got no vectors
}

// Run brings a collection in line with the sources. A file that cannot be read is told to
// Options.Failed and counted; the error is not nil only if the run could not go on: the index or
// the embedder fails, options are not valid, or ctx ended. What was written until then stays,
// and the next run goes on from there.
func Run(ctx context.Context, index retrieve.Index, sources []Source, o Options) (Report, error) {
	started := time.Now()
	o, err := o.complete()
	if err != nil {
		return Report{}, fmt.Errorf("ingest: %w", err)
	}
	g := &run{index: index, o: o, seen: map[string]bool{}, whole: map[string]bool{}, lost: map[string]bool{}}
	if err := g.prepare(ctx); err != nil {
		return Report{}, fmt.Errorf("ingest: %w", err)
	}
	err = g.all(ctx, sources)
	g.report.Seconds = time.Since(started).Seconds()
	if err != nil {
		return g.report, fmt.Errorf("ingest: %w", err)
	}
	return g.report, nil
}

// prepare creates the collection, settles its model, and reads which documents it has.
func (g *run) prepare(ctx context.Context) error {
	c := g.o.Collection
	if g.o.Embedder != nil {
		m, err := g.o.Embedder.Model(ctx)
		if err != nil {
			return err
		}
		g.model = m
	}
	info, err := g.index.Collection(ctx, c)
	switch {
	case errors.Is(err, retrieve.ErrNotFound):
		s := g.o.Settings
		s.Model = g.model
		if err := g.index.Create(ctx, c, s); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if err := g.settle(ctx, info); err != nil {
			return err
		}
	}
	g.fingerprint = g.o.fingerprint(g.model)
	g.known = map[string]retrieve.DocumentInfo{}
	for d, err := range g.index.Documents(ctx, c) {
		if err != nil {
			return err
		}
		g.known[d.ID] = d
	}
	return nil
}

// settle compares the collection with what this run would make.
func (g *run) settle(ctx context.Context, info retrieve.CollectionInfo) error {
	c, has := g.o.Collection, info.Settings.Model
	s := g.o.Settings
	s.Model = retrieve.Model{}
	if s != (retrieve.Settings{}) {
		if err := g.index.Create(ctx, c, s); err != nil { // compares the other settings
			return err
		}
	}
	none := retrieve.Model{}
	switch {
	case has == g.model:
		return nil
	case g.model == none:
		return fmt.Errorf("collection %s: %w: it has vectors of %s, and no embedder is named (name it, or remove the vectors: anchor-host collections reembed %s --none)", c, retrieve.ErrModel, has, c.Name)
	case has != none:
		return fmt.Errorf("collection %s: %w: it has vectors of %s, the embedder makes those of %s (re-embed it: anchor-host collections reembed %s)", c, retrieve.ErrModel, has, g.model, c.Name)
	}
	return g.index.SetModel(ctx, c, g.model)
}

func (g *run) all(ctx context.Context, sources []Source) (err error) {
	defer func() {
		if failed := g.wait(); err == nil {
			err = failed
		}
	}()
	f, err := g.find(ctx, sources)
	if err != nil {
		return err
	}
	defer f.close()
	g.report.Skipped = f.skipped
	p := Progress{TotalFiles: len(f.entries), TotalBytes: f.bytes}
	for i := range f.entries {
		e := &f.entries[i]
		if g.seen[e.id] { // two sources have the file
			p.TotalFiles, p.TotalBytes = p.TotalFiles-1, p.TotalBytes-e.size
			continue
		}
		if err := g.file(ctx, e); err != nil {
			return err
		}
		p.Files, p.Bytes, p.Path = p.Files+1, p.Bytes+e.size, e.path
		if g.o.Progress != nil {
			g.mu.Lock()
			g.o.Progress(p)
			g.mu.Unlock()
		}
	}
	if err := g.flush(ctx); err != nil {
		return err
	}
	if err := g.wait(); err != nil {
		return err
	}
	if g.o.Keep {
		return nil
	}
	return g.removeGone(ctx, f)
}

// fail counts and tells a file that cannot be read.
func (g *run) fail(path string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failLocked(path, err)
}

func (g *run) failLocked(path string, err error) {
	g.report.Files++
	g.report.Failed++
	if g.o.Failed != nil {
		g.o.Failed(&FileError{Path: path, Err: err})
	}
}

// holds reports whether the collection has documents of a file or a folder.
func (g *run) holds(id string) bool {
	for k := range g.known {
		if within(k, id) {
			return true
		}
	}
	return false
}

// within reports whether a document is that of a file, one of its records, or below a folder.
func within(id, place string) bool {
	rest, ok := strings.CutPrefix(id, strings.TrimSuffix(place, "/"))
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '#')
}

// removeGone deletes the documents whose files are gone.
func (g *run) removeGone(ctx context.Context, f *found) error {
	var gone []string
	for id := range g.known {
		if g.seen[id] || g.ofWhole(id) {
			continue
		}
		for _, u := range f.unknown {
			if within(id, u) {
				g.seen[id] = true
			}
		}
		for _, place := range f.under {
			if within(id, place) && !g.seen[id] {
				gone = append(gone, id)
				break
			}
		}
	}
	return g.remove(ctx, gone)
}

// ofWhole reports whether an ID is that of a record in a file whose records all stay.
func (g *run) ofWhole(id string) bool {
	for i := range len(id) {
		if id[i] == '#' && g.whole[id[:i]] {
			return true
		}
	}
	return false
}

func (g *run) remove(ctx context.Context, ids []string) error {
	for len(ids) > 0 {
		n := min(len(ids), retrieve.MaxBatch)
		removed, err := g.index.Delete(ctx, g.o.Collection, ids[:n]...)
		g.report.Removed += removed
		if err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}
