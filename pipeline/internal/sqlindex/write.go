package sqlindex

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/segment"
)

const (
	// chunkBits is the number of bits of a text's place that hold the number of its chunk.
	chunkBits = 20
	chunkMask = 1<<chunkBits - 1
	// blockBytes is about how many bytes of text lie in one row. A search reads one row for each hit, so rows are
	// not much longer than a text, and a row and its last text mostly fit a page of SQLite.
	blockBytes = 3 << 10
)

const (
	// FindDocument must go by an index, as [PageDocuments].
	FindDocument   = "SELECT num FROM documents WHERE collection = ? AND id = ?"
	insertDocument = "INSERT INTO documents (num, collection, id, path, root, hash, size, modified, chunks, vectors, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	setRoot        = "UPDATE documents SET root = ?3 WHERE collection = ?1 AND root = ?2"
	deleteDocument = "DELETE FROM documents WHERE collection = ? AND num = ?"
	insertDead     = "INSERT INTO dead (collection, num) VALUES (?, ?)"
)

// batch is what an Upsert writes.
type batch struct {
	docs          []batchDocument
	data, vectors []byte // of the segment
	size          int
}

// batchDocument is a document without its chunks, which are in the segment and in blocks.
type batchDocument struct {
	id, path, root  string
	hash            string
	size            int64
	modified        driver.Value
	chunks, vectors int
	bytes           int
	blocks          []block
}

// block has the texts of some chunks of a document.
type block struct {
	first int
	data  []byte
	sum   uint32 // of data
}

// builder returns a builder for the settings.
func (x *Index) builder(s retrieve.Settings) (b *segment.Builder, free func()) {
	state, key := &x.state, fmt.Sprint(s.StopWords, *s.Stem, *s.SplitIdentifiers)
	state.mu.Lock()
	defer state.mu.Unlock()
	pool := state.builders[key]
	if pool == nil {
		pool = &sync.Pool{New: func() any { return segment.NewBuilder(s.Analyzer()) }}
		if state.builders == nil {
			state.builders = make(map[string]*sync.Pool)
		}
		state.builders[key] = pool
	}
	b = pool.Get().(*segment.Builder)
	return b, func() { pool.Put(b) }
}

// Upsert implements [retrieve.Index].
func (x *Index) Upsert(ctx context.Context, col retrieve.Collection, docs ...retrieve.Document) error {
	write, err := x.Prepare(ctx, col, docs...)
	if err != nil {
		return err
	}
	return write(ctx)
}

// Prepare does what of an Upsert needs the processor most, and returns what writes the documents. Others can be
// prepared meanwhile.
func (x *Index) Prepare(ctx context.Context, col retrieve.Collection, docs ...retrieve.Document) (write func(context.Context) error, err error) {
	n := len(docs)
	c, b, err := x.prepare(ctx, col, docs)
	if err != nil {
		return nil, x.fail(err, col, "write %d documents", n)
	}
	return func(ctx context.Context) error {
		if n == 0 {
			return nil
		}
		if err := x.write(ctx, col, c, b); err != nil {
			return x.fail(err, col, "write %d documents", n)
		}
		x.maintain(ctx, col)
		return nil
	}, nil
}

// Readable returns the error that writing to a collection or searching it would have because another version of the
// program made it, nil for none.
func (x *Index) Readable(ctx context.Context, col retrieve.Collection) error {
	err := x.reading(ctx, col, func(conn *conn, found collection) error { return x.current(conn, found.id) })
	if err != nil {
		return x.fail(err, col, "read")
	}
	return nil
}

func (x *Index) prepare(ctx context.Context, col retrieve.Collection, docs []retrieve.Document) (c collection, b *batch, err error) {
	err = x.reading(ctx, col, func(conn *conn, found collection) error {
		c = found
		return x.current(conn, c.id)
	})
	if err != nil {
		return c, nil, err
	}
	if err := retrieve.ValidateDocuments(docs, c.settings.Model); err != nil || len(docs) == 0 {
		return c, nil, err
	}
	b, err = x.batch(ctx, docs, c.settings)
	return c, b, err
}

// write writes a batch that was prepared for the collection as it was then.
func (x *Index) write(ctx context.Context, col retrieve.Collection, c collection, b *batch) error {
	return x.writing(ctx, col.Tenant, b.size, func(t *tx) error {
		now, err := t.conn.collection(col)
		if err != nil {
			return err
		}
		if now.id != c.id || now.text != c.text {
			return errChanged
		}
		return t.writeBatch(now, b)
	})
}

// current refuses a collection whose segments no search of this version could read, so that nobody pays for
// writing to it. It reads one segment, once for each collection.
func (x *Index) current(c *conn, collection int64) error {
	if _, ok := x.state.cache.current.Load(collection); ok {
		return nil
	}
	err := c.Query(oldestSegment, []driver.Value{collection, int64(len(segment.Magic))}, func(row []driver.Value) error {
		if begin, _ := row[0].([]byte); string(begin) != segment.Magic {
			return fmt.Errorf("%w: %s", segment.ErrCorrupt, segment.OtherVersion)
		}
		return nil
	})
	if err == nil {
		x.state.cache.current.Store(collection, true)
	}
	return err
}

// batch prepares documents for the writer. It copies what it keeps.
func (x *Index) batch(ctx context.Context, docs []retrieve.Document, s retrieve.Settings) (*batch, error) {
	builder, free := x.builder(s)
	defer free()
	builder.Reset(s.Model.Dimension, s.Vectors)
	b := &batch{docs: make([]batchDocument, len(docs))}
	for i := range docs {
		d := docs[i]
		d.Path = cmp.Or(d.Path, d.ID)
		if err := builder.Add(ctx, &d); err != nil {
			return nil, err
		}
		doc := batchDocument{id: d.ID, path: d.Path, root: d.Root, hash: d.Hash, size: d.Size, chunks: len(d.Chunks), bytes: d.Bytes(), blocks: blocks(d.Chunks)}
		if !d.ModTime.IsZero() {
			doc.modified = d.ModTime.UnixNano()
		}
		for j := range d.Chunks {
			if d.Chunks[j].Vector != nil {
				doc.vectors++
			}
		}
		b.docs[i] = doc
		b.size += doc.bytes
	}
	b.data, b.vectors = builder.Encode()
	b.size += len(b.data) + len(b.vectors)
	return b, nil
}

// blocks puts the texts of chunks into blocks.
func blocks(chunks []retrieve.Chunk) []block {
	var out []block
	b := block{data: make([]byte, 0, roomOf(chunks))}
	for i := range chunks {
		if len(b.data) >= blockBytes {
			out = append(out, b)
			b = block{first: i, data: make([]byte, 0, roomOf(chunks[i:]))}
		}
		for _, text := range []string{chunks[i].Text, chunks[i].Context} {
			b.data = binary.AppendUvarint(b.data, uint64(len(text)))
			b.data = append(b.data, text...)
		}
	}
	if len(b.data) > 0 {
		out = append(out, b)
	}
	for i := range out {
		out[i].sum = crc32.Checksum(out[i].data, castagnoli)
	}
	return out
}

// roomOf is what a block for the first of the chunks may need.
func roomOf(chunks []retrieve.Chunk) int {
	n := 0
	for i := range chunks {
		if n >= blockBytes {
			break
		}
		n += len(chunks[i].Text) + len(chunks[i].Context) + 2*binary.MaxVarintLen32
	}
	return n
}

// writeBatch writes the documents of a batch and its segment.
func (t *tx) writeBatch(c collection, b *batch) error {
	first, err := t.x.o.Dialect.Numbers(t.conn.Conn, c.id, len(b.docs))
	if err != nil {
		return err
	}
	for i := range b.docs {
		d := &b.docs[i]
		if _, err := t.deleteDocument(c.id, d.id); err != nil {
			return err
		}
		num := first + int64(i)
		if err := t.conn.Exec(insertDocument, num, c.id, d.id, d.path, d.root, d.hash, d.size, d.modified, int64(d.chunks), int64(d.vectors), int64(d.bytes)); err != nil {
			return err
		}
		for _, block := range d.blocks {
			at := num<<chunkBits | int64(block.first)
			if err := t.conn.Exec(t.x.o.Dialect.InsertText, c.id, at, sealed(block.sum, len(block.data), at), block.data); err != nil {
				return err
			}
		}
	}
	segment.SetNumbers(b.data, len(b.docs), first)
	if err := t.conn.replaceSegments(c.id, nil, len(b.docs), b.data, b.vectors); err != nil {
		return err
	}
	return t.touch(c)
}

// deleteDocument removes a document and reports whether it was there. Its segment keeps it,
// as a dead one.
func (t *tx) deleteDocument(collection int64, id string) (bool, error) {
	num, ok, err := t.conn.number(FindDocument, collection, id)
	if err != nil || !ok {
		return false, err
	}
	if err := t.conn.Exec(deleteDocument, collection, num); err != nil {
		return false, err
	}
	if err := t.conn.Exec(t.x.o.Dialect.DeleteTexts, collection, num<<chunkBits, num<<chunkBits|chunkMask); err != nil {
		return false, err
	}
	err = t.conn.Exec(insertDead, collection, num)
	return err == nil, err
}

// Delete implements [retrieve.Index].
func (x *Index) Delete(ctx context.Context, col retrieve.Collection, ids ...string) (n int, err error) {
	err = col.Validate()
	if err == nil && len(ids) > retrieve.MaxBatch {
		err = fmt.Errorf("%w: %d ids in one call (at most %d)", retrieve.ErrInvalid, len(ids), retrieve.MaxBatch)
	}
	ids = slices.Clone(ids)
	if err == nil {
		var deleted int
		err = x.deleting(ctx, col.Tenant, func(t *tx) error {
			deleted = 0
			c, err := t.conn.collection(col)
			for _, id := range ids {
				if err != nil {
					return err
				}
				var there bool
				if there, err = t.deleteDocument(c.id, id); there {
					deleted++
				}
			}
			if err == nil && deleted > 0 {
				err = t.touch(c)
			}
			return err
		})
		if err == nil {
			n = deleted
			x.maintain(ctx, col)
		}
	}
	if err != nil {
		return 0, x.fail(err, col, "delete %d documents", len(ids))
	}
	return n, nil
}

// SetRoot implements [retrieve.Index].
func (x *Index) SetRoot(ctx context.Context, col retrieve.Collection, from, to string) error {
	err := col.Validate()
	if err == nil && len(to) > retrieve.MaxID {
		err = fmt.Errorf("%w: a root of %d bytes (at most %d)", retrieve.ErrInvalid, len(to), retrieve.MaxID)
	}
	if err == nil {
		err = x.writing(ctx, col.Tenant, 0, func(t *tx) error {
			c, err := t.conn.collection(col)
			if err == nil {
				err = t.conn.Exec(setRoot, c.id, from, to)
			}
			return err
		})
	}
	if err != nil {
		return x.fail(err, col, "set the root")
	}
	return nil
}
