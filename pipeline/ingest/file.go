package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest/chunk"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// current reports whether a document of the index was made of this content, with these options.
// An empty hash means any content.
func (g *run) current(id, hash string) (retrieve.DocumentInfo, bool) {
	k, ok := g.known[id]
	if !ok || !strings.HasSuffix(k.Hash, g.fingerprint) || hash != "" && k.Hash != hash {
		return k, false
	}
	if g.model != (retrieve.Model{}) && k.Chunks > 0 && k.Vectors == 0 {
		return k, false // it lost its vectors with the model before
	}
	return k, true
}

// file brings the index in line with one file. The error is one that ends the run.
func (g *run) file(ctx context.Context, e *entry) error {
	if k, ok := g.current(e.id, ""); ok && e.root != nil && k.Size == e.size && sameTime(k.ModTime, e.time) {
		g.unchanged(e)
		return nil
	}
	c, err := g.read(ctx, e)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errGone):
		return g.gone(ctx, e)
	case err != nil:
		g.failed(e, err)
		return nil
	}
	g.report.Bytes += c.size
	hash := digest(c.data) + g.fingerprint
	if _, ok := g.current(e.id, hash); ok {
		g.unchanged(e)
		return nil
	}
	w := fileWork{run: g, e: e, c: c, hash: hash}
	err = parse.Parse(ctx, e.path, cmpFormat(c.format, e), c.data, g.o.Limits, func(d parse.Document) error { return w.document(ctx, d) })
	var stop *stopError
	switch {
	case errors.As(err, &stop):
		return stop.err
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		g.failed(e, err)
		return nil
	}
	if err := w.end(ctx); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.report.Files++
	if _, ok := g.known[e.id]; ok {
		g.report.Changed++
	} else {
		g.report.Added++
	}
	g.seen[e.id] = true
	return nil
}

func cmpFormat(f parse.Format, e *entry) parse.Format {
	if f != "" || !isURL(e.id) {
		return f
	}
	return "" // the content decides
}

// digest returns the hash of a content.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// sameTime compares the time of a file with the one in the index. A document without one was
// written so soon after its file that the file may have changed since in the same moment.
func sameTime(indexed, file time.Time) bool {
	return !indexed.IsZero() && indexed.Truncate(time.Microsecond).Equal(file.UTC().Truncate(time.Microsecond))
}

// settled is how old a change of a file must be, so that a later one has another time for sure.
const settled = 2 * time.Second

func (g *run) unchanged(e *entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.report.Files++
	g.report.Unchanged++
	g.seen[e.id], g.whole[e.id] = true, true
}

// failed leaves what the index has of the file.
func (g *run) failed(e *entry, err error) {
	g.seen[e.id], g.whole[e.id] = true, true
	g.fail(e.path, err)
}

// gone deletes what the index has of a file or a page that is no more.
func (g *run) gone(ctx context.Context, e *entry) error {
	if _, ok := g.known[e.id]; !ok {
		if e.given {
			g.fail(e.path, errors.New("there is no such file or page (check the path)"))
		}
		return nil
	}
	if g.o.Keep {
		g.seen[e.id], g.whole[e.id] = true, true
		return nil
	}
	return g.remove(ctx, append(g.recordsOf(e.id), e.id))
}

// recordsOf returns the documents of the records of a file.
func (g *run) recordsOf(id string) []string {
	if g.records == nil {
		g.records = map[string][]string{}
		for k := range g.known {
			for i := range len(k) {
				if k[i] == '#' {
					g.records[k[:i]] = append(g.records[k[:i]], k)
				}
			}
		}
	}
	return slices.Clone(g.records[id])
}

// stopError carries an error that ends the run through the parser.
type stopError struct{ err error }

func (e *stopError) Error() string { return e.err.Error() }

// fileWork is the work on one file.
type fileWork struct {
	*run
	e       *entry
	c       content
	hash    string
	records map[string]bool // nil for a file that is one document
}

// document takes a document of the file.
func (w *fileWork) document(ctx context.Context, d parse.Document) error {
	doc := w.base(w.e.id, w.hash)
	if d.Record != "" {
		if w.records == nil {
			w.records = map[string]bool{}
		}
		doc.ID = w.e.id + "#" + d.Record
		for n := 2; w.records[doc.ID]; n++ {
			doc.ID = w.e.id + "#" + d.Record + "-" + strconv.Itoa(n)
		}
		w.records[doc.ID] = true
		doc.Hash = recordHash(&d) + w.fingerprint
		if _, ok := w.current(doc.ID, doc.Hash); ok {
			w.seen[doc.ID] = true
			return nil
		}
	}
	chunks, err := chunk.Document(ctx, &d, w.o.Chunk)
	if err != nil {
		return w.embedFailed(err)
	}
	if len(chunks) == 0 && d.Record == "" && len(w.c.data) > 0 && len(d.Blocks) == 0 && strings.TrimSpace(string(w.c.data[:min(len(w.c.data), 4096)])) != "" {
		return parse.ErrNoText
	}
	doc.Title, doc.Time, doc.Meta, doc.Chunks = strings.ToValidUTF8(d.Title, ""), d.Time, d.Meta, chunks
	if err := w.o.addContexts(ctx, &doc); err != nil {
		return err
	}
	if err := retrieve.ValidateDocuments([]retrieve.Document{doc}, w.model); err != nil {
		return err
	}
	if err := w.add(ctx, doc); err != nil {
		return &stopError{err}
	}
	w.seen[doc.ID] = true
	return nil
}

// embedFailed says whether a failure to embed ends the run.
func (w *fileWork) embedFailed(err error) error {
	if errors.Is(err, retrieve.ErrUnavailable) {
		return &stopError{resumable(err)}
	}
	return err
}

func resumable(err error) error {
	return fmt.Errorf("%w (run the same command again to go on from here)", err)
}

func (w *fileWork) base(id, hash string) retrieve.Document {
	doc := retrieve.Document{ID: id, Path: w.e.path, Hash: hash, Size: w.c.size, Time: w.c.time.UTC().Truncate(time.Second)}
	if w.c.time.IsZero() {
		doc.Time = time.Time{}
	}
	if w.e.root != nil && time.Since(w.c.time) > settled {
		doc.ModTime = w.c.time.UTC().Truncate(time.Microsecond)
	}
	return doc
}

// end completes a file of records: records that are gone are deleted, and after all others comes a
// document without chunks, which says that the file is complete.
func (w *fileWork) end(ctx context.Context) error {
	var stale []string
	for _, id := range w.recordsOf(w.e.id) {
		if !w.records[id] {
			stale = append(stale, id)
		}
	}
	if len(stale) > 0 && !w.o.Keep {
		if err := w.remove(ctx, stale); err != nil {
			return err
		}
	}
	if w.records == nil {
		return nil
	}
	return w.add(ctx, w.base(w.e.id, w.hash))
}

// recordHash is the digest of what a record has.
func recordHash(d *parse.Document) string {
	h := sha256.New()
	put := func(parts ...string) {
		for _, p := range parts {
			fmt.Fprintf(h, "%d:%s", len(p), p)
		}
	}
	put(d.Title, d.Time.String())
	for _, k := range slices.Sorted(maps.Keys(d.Meta)) {
		put(k, d.Meta[k])
	}
	for i := range d.Blocks {
		put(d.Blocks[i].Text, strconv.Itoa(d.Blocks[i].Lines.From))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
