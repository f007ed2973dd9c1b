package ingest

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest/chunk"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

func (g *run) knownOf(d *retrieve.DocumentInfo) known {
	return known{
		root: g.roots.of(d), sum: sumOf(d.Hash), current: strings.HasSuffix(d.Hash, g.fingerprint) && !g.lacksVectors(d),
		records: d.Chunks == 0, size: d.Size, time: d.ModTime,
	}
}

// current reports whether the collection has a file as this run would make it, whatever its content.
func (g *run) current(e *entry) (known, bool) {
	k, ok := g.known[e.id]
	return k, ok && k.current && k.root == e.of
}

// file brings the index in line with one file. The error is one that ends the run.
func (g *run) file(ctx context.Context, e *entry) error {
	k, current := g.current(e)
	if current && e.root != nil && k.size == e.size && sameTime(k.time, e.time) {
		g.unchanged(e)
		return nil
	}
	in, err := g.open(ctx, e)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errGone):
		g.gone(e)
		return nil
	case errors.Is(err, errUnchanged):
		g.unchanged(e)
		return nil
	case err != nil:
		g.failed(e, err)
		return nil
	}
	defer in.close()
	w := &fileWork{run: g, e: e, in: in}
	if in.stream == nil && current && k.sum == sumOf(w.hash()) {
		g.report.Bytes += in.size
		g.unchanged(e)
		return nil
	}
	return w.work(ctx, k, current)
}

// work parses the file and brings its documents in line.
func (w *fileWork) work(ctx context.Context, k known, current bool) error {
	err := w.parse(ctx)
	w.run.work = nil
	w.report.Bytes += w.in.size
	if err == nil {
		err = w.bad
	}
	if err == nil {
		err = w.shrunk(ctx, k)
	}
	var stop *stopError
	switch {
	case errors.As(err, &stop):
		return stop.err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if err != nil {
		w.failed(w.e, err)
		if w.records != nil && w.written && !w.begun {
			return w.add(ctx, w.begin()) // without it, nothing would say to which file the records belong
		}
		return nil
	}
	same := current && !w.written && k.sum == sumOf(w.hash())
	if err := w.end(ctx, k, same); err != nil {
		return err
	}
	if same {
		w.unchanged(w.e)
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Files++
	if _, ok := w.known[w.e.id]; ok {
		w.report.Changed++
	} else {
		w.report.Added++
		w.added[sumOf(w.hash())] = true
	}
	w.seen[w.e.id] = true
	return nil
}

func (w *fileWork) parse(ctx context.Context) error {
	file := parse.File{Name: w.e.path, Format: w.in.format, Charset: w.in.charset}
	take := func(d parse.Document) error {
		for _, text := range d.Warnings {
			w.warn(w.e, text)
		}
		return w.document(ctx, &d)
	}
	if w.in.stream == nil {
		w.meter = w.o.Limits.Meter(ctx, len(w.in.data))
		return parse.Parse(w.meter, file, w.in.data, w.o.Limits, take)
	}
	w.meter = parse.StreamMeter(ctx)
	if err := parse.Stream(w.meter, file, w.in.stream, take); err != nil {
		return err
	}
	return w.in.rested()
}

func (w *fileWork) hash() string {
	return "sha256:" + hex.EncodeToString(w.in.digest()) + w.fingerprint
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
	g.seen[e.id] = true
}

// failed leaves what the index has of the file.
func (g *run) failed(e *entry, err error) {
	g.seen[e.id] = true
	g.fail(e.path, err)
}

// maxWarnings bounds the warnings in a report.
const maxWarnings = 100

// warn counts and tells that a file may be read wrong.
func (g *run) warn(e *entry, text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := Warning{Path: e.path, Text: text}
	if g.report.Warned++; len(g.report.Warnings) < maxWarnings {
		g.report.Warnings = append(g.report.Warnings, w)
	}
	if g.o.Warned != nil {
		g.o.Warned(w)
	}
}

// gone notes a file or a page that is no more, for the end of the run.
func (g *run) gone(e *entry) {
	switch _, ok := g.known[e.id]; {
	case ok && e.root == nil:
		g.lostPages = append(g.lostPages, e.id)
	case !ok && e.given:
		g.fail(e.path, errors.New("there is no such file or page (check the path)"))
	}
}

// document takes a document of the file.
func (w *fileWork) document(ctx context.Context, d *parse.Document) error {
	if d.Record != "" {
		return w.record(ctx, d)
	}
	if k, current := w.current(w.e); current && k.sum == sumOf(w.hash()) {
		return nil // a list that was read to its end to know that
	}
	doc, err := w.cut(ctx, d, w.e.id, w.hash())
	if err != nil {
		return err
	}
	if len(doc.Chunks) == 0 && len(d.Blocks) == 0 && strings.TrimSpace(string(w.in.data[:min(len(w.in.data), 4096)])) != "" {
		return parse.ErrNoText
	}
	return w.put(ctx, doc)
}

// record takes a record of the file. One that cannot be taken does not stop the others.
func (w *fileWork) record(ctx context.Context, d *parse.Document) error {
	if w.records == nil {
		w.records, w.run.work = newRecords(), w
		if _, ok := w.known[w.e.id]; ok {
			if err := w.load(ctx, w.e.id, w.records); err != nil {
				return &stopError{err}
			}
		}
	}
	hash := recordHash(d) + w.fingerprint
	id, current := w.records.take(w.e.id, d.Record, hash)
	if current {
		return nil
	}
	doc, err := w.cut(ctx, d, id, hash)
	var stop *stopError
	switch {
	case err == nil:
		return w.put(ctx, doc)
	case errors.As(err, &stop) || ctx.Err() != nil:
		return err
	case w.bad == nil:
		w.bad = fmt.Errorf("record %.100q: %w", d.Record, err)
	}
	return nil
}

// cut makes a document with its chunks.
func (w *fileWork) cut(ctx context.Context, d *parse.Document, id, hash string) (retrieve.Document, error) {
	doc := w.base(id, hash)
	chunks, err := chunk.Document(ctx, w.meter, d, w.o.Chunk)
	if errors.Is(err, retrieve.ErrUnavailable) {
		return doc, &stopError{resumable(err)}
	}
	if err != nil {
		return doc, err
	}
	doc.Title, doc.Meta, doc.Chunks = strings.ToValidUTF8(d.Title, ""), d.Meta, chunks
	if !d.Time.IsZero() {
		doc.Time = d.Time
	}
	err = w.o.addContexts(ctx, &doc)
	if errors.Is(err, retrieve.ErrUnavailable) {
		return doc, &stopError{resumable(err)}
	}
	if err != nil {
		return doc, err
	}
	return doc, retrieve.ValidateDocuments([]retrieve.Document{doc}, w.model)
}

func (w *fileWork) put(ctx context.Context, doc retrieve.Document) error {
	w.written = true
	if err := w.meter.Wait(func() error { return w.add(ctx, doc) }); err != nil {
		return &stopError{err}
	}
	return nil
}

func resumable(err error) error {
	return fmt.Errorf("%w (run the same command again to go on from here)", err)
}

// base is a document without its content. A record has no size, time and root: its file has them.
func (w *fileWork) base(id, hash string) retrieve.Document {
	doc := retrieve.Document{ID: id, Path: w.e.shown(), Hash: hash}
	if !w.in.time.IsZero() {
		doc.Time = w.in.time.UTC().Truncate(time.Second)
	}
	if _, is := isRecord(id); is {
		return doc
	}
	if doc.Size = w.in.size; w.e.of != nil {
		doc.Root = w.e.of.path
	}
	if w.in.settled || w.e.root != nil && time.Since(w.in.time) > settled {
		doc.ModTime = w.in.time.UTC().Truncate(time.Microsecond)
	}
	return doc
}

// begin says that the records of the file are not complete, and where they belong.
func (w *fileWork) begin() retrieve.Document {
	w.begun = true
	doc := w.base(w.e.id, "")
	doc.Size, doc.ModTime = 0, time.Time{}
	return doc
}

// recordsBefore are the records of a file with those that the collection has of it, nil if there are none.
func (w *fileWork) recordsBefore(ctx context.Context, k known) (*records, error) {
	if w.records != nil || !k.records {
		return w.records, nil
	}
	r := newRecords()
	return r, w.load(ctx, w.e.id, r)
}

// end completes a file: records that are gone are deleted, and after all others comes a document
// without chunks, which says that the file is complete.
func (w *fileWork) end(ctx context.Context, k known, same bool) error {
	r, err := w.recordsBefore(ctx, k)
	if err != nil {
		return err
	}
	if r != nil && !w.o.Keep {
		if err := w.removeStale(ctx, w.e.id, r); err != nil {
			return err
		}
	}
	doc := w.base(w.e.id, w.hash())
	if w.records == nil && (w.written || same) || same && (doc.ModTime.IsZero() || doc.ModTime.Equal(k.time)) {
		return nil
	}
	return w.add(ctx, doc)
}
