package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

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
	g := &run{index: index, o: o, known: map[string]known{}, roots: newRoots(), seen: map[string]bool{}, added: map[sum]bool{}, lost: map[string]bool{}}
	if err := g.prepare(ctx, sources); err != nil {
		return Report{}, fmt.Errorf("ingest: %w", err)
	}
	err = g.all(ctx, sources)
	g.report.Seconds = time.Since(started).Seconds()
	if err != nil {
		return g.report, fmt.Errorf("ingest: %w", err)
	}
	return g.report, nil
}

// prepare settles the model of the collection, and reads which documents it has. A collection that is
// not there is not made yet, so that a wrong path leaves nothing behind.
func (g *run) prepare(ctx context.Context, sources []Source) error {
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
		g.o.Settings.Model, g.absent = g.model, true
		if _, err := g.o.Settings.Complete(); err != nil {
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
	if g.absent {
		return nil
	}
	if slices.ContainsFunc(sources, func(s Source) bool { return s.Reader == nil }) {
		return g.list(ctx, retrieve.IDs{})
	}
	for _, s := range sources { // no others matter, and there may be many; an ID has no control characters
		id := stdinID + "/" + escape(s.Path)
		if err := g.list(ctx, retrieve.IDs{From: id, Before: id + "\x01"}); err != nil {
			return err
		}
	}
	return nil
}

// create makes the collection if it is not there.
func (g *run) create(ctx context.Context) error {
	if !g.absent {
		return nil
	}
	g.absent = false
	return g.index.Create(ctx, g.o.Collection, g.o.Settings)
}

// list reads which files and pages the collection has in a range of IDs. It skips their records, which may
// be millions.
func (g *run) list(ctx context.Context, ids retrieve.IDs) error {
	for more := true; more; {
		more = false
		for d, err := range g.index.Documents(ctx, g.o.Collection, ids) {
			if err != nil {
				return err
			}
			if file, is := isRecord(d.ID); is {
				ids.From, more = recordIDs(file).Before, true
				break
			}
			g.known[d.ID] = g.knownOf(&d)
		}
	}
	return nil
}

// settle compares the collection with what this run would make.
func (g *run) settle(ctx context.Context, info retrieve.CollectionInfo) error {
	c, has := g.o.Collection, info.Settings.Model
	s := g.o.Settings
	if _, err := s.Complete(); err != nil {
		return err
	}
	if differs := differences(s, info.Settings); differs != "" {
		return fmt.Errorf("collection %s: %w: %s (rebuild it: anchor-host collections remove %s, then anchor-host ingest PATH --collection %s)", c, retrieve.ErrExists, differs, c.Name, c.Name)
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

// differences says which of the stated settings a collection does not have, "" for none. Its model is
// not compared.
func differences(stated, has retrieve.Settings) string {
	var out []string
	add := func(name string, stated, has any, differs bool) {
		if differs {
			out = append(out, fmt.Sprintf("%s is %v, not %v", name, has, stated))
		}
	}
	flag := func(name string, stated, has *bool) {
		if stated != nil && has != nil {
			add(name, *stated, *has, *stated != *has)
		}
	}
	flag("stem", stated.Stem, has.Stem)
	add("stop_words", stated.StopWords, has.StopWords, stated.StopWords != "" && stated.StopWords != has.StopWords)
	flag("split_identifiers", stated.SplitIdentifiers, has.SplitIdentifiers)
	add("vectors", stated.Vectors, has.Vectors, stated.Vectors != "" && stated.Vectors != has.Vectors)
	return strings.Join(out, ", ")
}

func (g *run) all(ctx context.Context, sources []Source) (err error) {
	defer func() { err = cmp.Or(err, g.wait()) }()
	f, err := g.find(ctx, sources)
	if err != nil {
		return err
	}
	defer f.close()
	g.report.Skipped = f.skipped
	g.progress = Progress{TotalFiles: len(f.entries), TotalBytes: f.bytes}
	p := &g.progress
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
		g.tell(0)
	}
	if err := g.flush(ctx); err != nil {
		return err
	}
	if err := g.wait(); err != nil {
		return err
	}
	if g.report.Failed == 0 { // an empty folder is a collection too
		if err := g.create(ctx); err != nil {
			return err
		}
	}
	if g.o.Keep || g.absent {
		return nil
	}
	return g.removeMissing(ctx, f)
}

// tell tells the progress, of which some bytes are of the file that is being read.
func (g *run) tell(bytes int64) {
	if g.o.Progress == nil {
		return
	}
	p := g.progress
	p.Bytes += bytes
	g.mu.Lock()
	defer g.mu.Unlock()
	g.o.Progress(p)
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

// at is the path of a file, or the address of a page.
func (k *known) at(id string) string {
	if k.root == nil {
		return id
	}
	return k.root.at(id)
}

// removeFiles deletes files with their records.
func (g *run) removeFiles(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if !g.known[id].records {
			continue
		}
		if err := g.removeRange(ctx, recordIDs(id), func(string) bool { return true }); err != nil {
			return err
		}
	}
	return g.remove(ctx, ids)
}

// Remove deletes a document with its records, if it is a file that has some, and returns how many it
// deleted. The error is [retrieve.ErrNotFound] if there is no such collection.
func Remove(ctx context.Context, index retrieve.Index, c retrieve.Collection, id string) (int, error) {
	g := &run{index: index, o: Options{Collection: c}, known: map[string]known{id: {records: true}}}
	err := g.removeFiles(ctx, []string{id})
	if err != nil && g.report.Removed > 0 {
		err = fmt.Errorf("%w: %d of its documents are deleted (delete it again): %w", store.ErrUnknown, g.report.Removed, err)
	}
	return g.report.Removed, err
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
