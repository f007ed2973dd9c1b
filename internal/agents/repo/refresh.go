package repo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest/chunk"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// The defaults of Bounds.
const (
	DefaultFiles   = 50_000
	DefaultBytes   = 256 << 20
	DefaultMaxFile = 512 << 10
)

func (b Bounds) complete() Bounds {
	if b.Files <= 0 {
		b.Files = DefaultFiles
	}
	if b.Bytes <= 0 {
		b.Bytes = DefaultBytes
	}
	if b.MaxFile <= 0 {
		b.MaxFile = DefaultMaxFile
	}
	return b
}

// version stands for the way in which files are cut. Another one has all files read again.
const version = "1"

// cursorID is the document that says in its hash up to which path the last call came. No file has this name, because
// hidden files are left out.
const cursorID = ".cursor"

// A batch is written when it has so many documents or bytes of text.
const (
	batchDocs  = 256
	batchBytes = 2 << 20
)

// refresh is one call of Refresh.
type refresh struct {
	*Source
	walker
	bounds   Bounds
	deadline time.Time // zero for none
	model    retrieve.Model
	known    map[string]retrieve.DocumentInfo
	last     string // the path that was looked at last
	report   Report
	batch    []retrieve.Document
	size     int
}

// Refresh brings the source in line with the files. Files that git ignores, hidden ones, links, pictures, archives and
// what tools write for tools are left out. A file whose size and time are as before is not read. A file that cannot be
// read is skipped. The error is that of the store or the embedder, or of a ctx that ended; what was written until then
// stays.
func (s *Source) Refresh(ctx context.Context, bounds Bounds) (Report, error) {
	begun := time.Now()
	r := &refresh{Source: s, bounds: bounds.complete()}
	if bounds.Time > 0 {
		r.deadline = begun.Add(bounds.Time)
	}
	r.walker.root, r.each = s.root, func(f file) error { return r.file(ctx, f) }
	err := r.run(ctx)
	r.report.Skipped += r.skipped
	r.report.Seconds = time.Since(begun).Seconds()
	if err != nil {
		err = fmt.Errorf("files of %s: %w", s.root, err)
	}
	return r.report, err
}

func (r *refresh) run(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	exclude := r.read(filepath.ToSlash(filepath.Join(".git", "info", "exclude")), maxIgnoreFile)
	err := r.walk(ctx, rules(nil).with("", string(exclude)))
	stopped := errors.Is(err, errStop)
	if err != nil && !stopped {
		return errors.Join(err, r.flush(context.WithoutCancel(ctx)))
	}
	if err := r.flush(ctx); err != nil {
		return err
	}
	if err := r.removeGone(ctx, stopped); err != nil {
		return err
	}
	r.report.Done = r.report.Why == ""
	return r.setCursor(ctx, stopped)
}

// begin reads what the collection has, and makes it if there is none.
func (r *refresh) begin(ctx context.Context) (err error) {
	if r.model, err = r.o.Embedder.Model(ctx); err != nil {
		return err
	}
	has, err := r.index.Settings(ctx, r.collection)
	switch {
	case errors.Is(err, retrieve.ErrNotFound):
		err = r.index.Create(ctx, r.collection, retrieve.Settings{Model: r.model, Vectors: retrieve.VectorsInt8})
	case err == nil && has.Model != r.model:
		err = r.index.SetModel(ctx, r.collection, r.model) // all files lack vectors then, and are read again
	}
	if err != nil {
		return err
	}
	r.known = make(map[string]retrieve.DocumentInfo)
	for d, err := range r.index.Documents(ctx, r.collection, retrieve.IDs{}) {
		if err != nil {
			return err
		}
		r.known[d.ID] = d
	}
	r.after = r.known[cursorID].Hash
	r.last = r.after
	delete(r.known, cursorID)
	return nil
}

// file brings the source in line with one file.
func (r *refresh) file(ctx context.Context, f file) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, known := r.known[f.path]
	same := known && d.Size == f.size && d.Vectors == d.Chunks && sameTime(d.ModTime, f.time) && strings.HasSuffix(d.Hash, "/"+version)
	switch {
	case !r.deadline.IsZero() && r.report.Files > 0 && !time.Now().Before(r.deadline): // each call gets on
		return r.stop("time")
	case !same && r.report.Bytes+f.size > r.bounds.Bytes:
		return r.stop("bytes")
	case !known && len(r.known) >= r.bounds.Files:
		r.report.Why = "files"
		r.report.Skipped, r.report.Files = r.report.Skipped+1, r.report.Files+1
		return nil
	}
	r.last = f.path
	r.report.Files++
	if same {
		r.report.Unchanged++
		d.Root = seen
		r.known[f.path] = d
		return nil
	}
	doc := r.document(ctx, f)
	switch {
	case len(doc.Chunks) == 0:
		r.report.Skipped++
	case known:
		r.report.Changed++
	default:
		r.report.Added++
	}
	d.Root = seen
	r.known[f.path] = d
	return r.add(ctx, doc)
}

// seen marks a document of a file that is there. Documents of this package have no root.
const seen = "seen"

func (r *refresh) stop(why string) error {
	r.report.Why = why
	return errStop
}

// sameTime compares the time of a file with the one in the index, which is zero for a file that had just changed.
func sameTime(indexed, now time.Time) bool {
	return !indexed.IsZero() && indexed.Equal(now.UTC().Truncate(time.Microsecond))
}

// settled is how old a change of a file must be, so that a later one has another time for sure.
const settled = 2 * time.Second

// document reads a file. What is too large, not text or unreadable has no chunks, so that it is not read again.
func (r *refresh) document(ctx context.Context, f file) retrieve.Document {
	doc := retrieve.Document{ID: f.path, Size: f.size, Hash: "none/" + version}
	if time.Since(f.time) > settled {
		doc.ModTime = f.time.UTC().Truncate(time.Microsecond)
	}
	if f.size > r.bounds.MaxFile {
		return doc
	}
	data := r.read(f.path, r.bounds.MaxFile+1)
	r.report.Bytes += int64(len(data))
	if len(data) == 0 || int64(len(data)) > r.bounds.MaxFile || bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 { // binary, as git says
		return doc
	}
	sum := sha256.Sum256(data)
	doc.Hash = "sha256:" + hex.EncodeToString(sum[:]) + "/" + version
	doc.Title = f.path
	doc.Chunks = chunks(ctx, f.path, data)
	return doc
}

// chunks cuts the text of a file. A file that is not text has none.
func chunks(ctx context.Context, name string, data []byte) (out []retrieve.Chunk) {
	format := parse.FormatOf(name, data[:min(len(data), 512)])
	switch {
	case format.Packed():
		return nil
	case format.Streams(), format == parse.FormatHTML:
		format = parse.FormatText // lists of data are one document, and pages are what an agent edits
	}
	var limits parse.Limits
	m := limits.Meter(ctx, len(data))
	err := parse.Parse(m, parse.File{Name: name, Format: format}, data, limits, func(d parse.Document) error {
		list, err := chunk.Document(ctx, m, &d, chunk.Options{Size: chunkSize})
		out = append(out, list...)
		return err
	})
	if err != nil || retrieve.ValidateDocuments([]retrieve.Document{{ID: name, Chunks: out}}, retrieve.Model{}) != nil {
		return nil
	}
	return out
}

// chunkSize is the most tokens of a chunk.
const chunkSize = 256

// add puts a document into the batch, which is written when it is large.
func (r *refresh) add(ctx context.Context, doc retrieve.Document) error {
	r.batch = append(r.batch, doc)
	r.size += doc.Bytes()
	if len(r.batch) < batchDocs && r.size < batchBytes {
		return nil
	}
	return r.flush(ctx)
}

// flush writes the batch.
func (r *refresh) flush(ctx context.Context) error {
	if len(r.batch) == 0 {
		return nil
	}
	var texts []string
	for i := range r.batch {
		for j := range r.batch[i].Chunks {
			texts = append(texts, r.batch[i].Searched(j))
		}
	}
	vectors, err := retrieve.Embed(ctx, r.o.Embedder, retrieve.SideDocument, texts)
	if err != nil {
		return err
	}
	for i := range r.batch {
		for j := range r.batch[i].Chunks {
			r.batch[i].Chunks[j].Vector, vectors = vectors[0], vectors[1:]
		}
	}
	err = r.index.Upsert(ctx, r.collection, r.batch...)
	r.batch, r.size = r.batch[:0], 0
	return err
}

// removeGone deletes the documents of files that the walk passed and did not meet.
func (r *refresh) removeGone(ctx context.Context, stopped bool) error {
	var gone []string
	for id, d := range r.known {
		if d.Root != seen && id > r.after && (!stopped || id <= r.last) && len(gone) < retrieve.MaxBatch {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	n, err := r.index.Delete(ctx, r.collection, gone...)
	r.report.Removed = n
	return err
}

// setCursor notes where the next call begins.
func (r *refresh) setCursor(ctx context.Context, stopped bool) error {
	switch {
	case stopped && r.last != r.after:
		return r.index.Upsert(ctx, r.collection, retrieve.Document{ID: cursorID, Hash: r.last})
	case r.after != "" && !stopped:
		_, err := r.index.Delete(ctx, r.collection, cursorID)
		return err
	}
	return nil
}
