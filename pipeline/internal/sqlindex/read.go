package sqlindex

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/segment"
)

// PageDocuments is a statement that must go by an index, as FindDocument.
const (
	PageDocuments = "SELECT id, path, hash, size, modified, chunks, vectors, root FROM documents WHERE collection = ? AND id >= ? AND id > ? AND id < ? ORDER BY id LIMIT ?"
	oneDocument   = "SELECT id, path, hash, size, modified, chunks, vectors, root FROM documents WHERE collection = ? AND num = ?"
)

// Search implements [retrieve.Index].
func (x *Index) Search(ctx context.Context, col retrieve.Collection, q retrieve.Query) (hits []retrieve.Hit, err error) {
	q, err = q.Complete()
	ctx, span := observe.Begin(ctx, observe.Work{Kind: observe.Search, Name: col.Name, Tenant: col.Tenant, Count: q.K, Text: func() string { return q.Text }})
	defer func() {
		span.End(observe.Result{Err: err, Items: len(hits), Text: func() string { return foundText(hits) }})
	}()
	if err == nil {
		err = x.reading(ctx, col, func(c *conn, found collection) error {
			hits, err = x.search(ctx, c, found, &q)
			return err
		})
	}
	if err != nil {
		return nil, x.fail(err, col, "search")
	}
	return hits, nil
}

// foundText lists documents with their scores as JSON, for observers.
func foundText(hits []retrieve.Hit) string {
	type found struct {
		ID    string  `json:"id"`
		Score float64 `json:"score"`
	}
	list := make([]found, len(hits))
	for i := range hits {
		list[i] = found{hits[i].Document, hits[i].Score}
	}
	text, _ := json.Marshal(list) // scores are finite
	return string(text)
}

func (x *Index) search(ctx context.Context, c *conn, found collection, q *retrieve.Query) ([]retrieve.Hit, error) {
	if q.By != retrieve.ByWords {
		if err := q.CheckVector(found.name, found.settings.Model); err != nil {
			return nil, err
		}
	}
	view, err := x.state.cache.view(ctx, c, found)
	if err != nil {
		return nil, err
	}
	scored, err := view.Search(ctx, q, found.settings.Analyzer())
	if err != nil {
		return nil, err
	}
	hits, places := make([]retrieve.Hit, len(scored)), make([]int64, len(scored))
	for i, s := range scored {
		if hits[i], places[i], err = foundHit(view, s); err != nil {
			return nil, err
		}
		if hits[i].Vector != nil {
			hits[i].Model = found.settings.Model.ID
		}
	}
	for n := 0; n < len(hits) && err == nil; n += textsAtOnce {
		to := min(len(hits), n+textsAtOnce)
		err = c.readTexts(found.id, hits[n:to], places[n:to])
	}
	return hits, err
}

// foundHit returns a hit without its text, and the place of the text.
func foundHit(view *segment.View, s segment.Scored) (retrieve.Hit, int64, error) {
	f, err := view.Found(s.Place)
	if err != nil {
		return retrieve.Hit{}, 0, err
	}
	h := retrieve.Hit{
		ID: fmt.Sprintf("%s#%d", f.Document.ID, f.Index+1), Document: f.Document.ID, Number: f.Index + 1,
		Score: s.Score, Words: s.Words, Cosine: s.Cosine,
		Path: f.Document.Path, Title: f.Document.Title, Hash: f.Document.Hash, Time: f.Document.Time, Meta: f.Document.Meta,
		Headings: f.Chunk.Headings, Page: f.Chunk.Page, PageEnd: f.Chunk.PageEnd, Lines: f.Chunk.Lines, Vector: f.Chunk.Vector,
	}
	for _, place := range s.Copies {
		other, err := view.Found(place)
		if err != nil {
			return h, 0, err
		}
		h.Copies = append(h.Copies, retrieve.Copy{ID: fmt.Sprintf("%s#%d", other.Document.ID, other.Index+1), Path: other.Document.Path})
	}
	return h, f.Number<<chunkBits | int64(f.Index), nil
}

// textsAtOnce bounds the texts of one statement, each of which comes with its neighbours.
const textsAtOnce = 64

// readTexts completes hits with their texts, in one statement.
func (c *conn) readTexts(collection int64, hits []retrieve.Hit, places []int64) error {
	list, _ := json.Marshal(places) // of numbers it never fails
	found := make([]bool, len(hits))
	err := c.Query(c.x.o.Dialect.FindTexts, []driver.Value{collection, string(list)}, func(row []driver.Value) error {
		n, _ := row[0].(int64)
		first, _ := row[1].(int64) // which eachText checks
		_, err := eachText(row[1:], func(i int, text, context []byte) {
			if int64(i) == places[n]-first {
				hits[n].Text, hits[n].Context, found[n] = string(text), string(context), true
			}
		})
		return err
	})
	if n := slices.Index(found, false); err == nil && n >= 0 {
		err = fmt.Errorf("%w: chunk %d of %.100q has no text", segment.ErrCorrupt, hits[n].Number, hits[n].Document)
	}
	return err
}

// scanTexts reads a block of texts: the number of the first chunk, from 0, and the texts.
func scanTexts(row []driver.Value) (first int, texts []retrieve.Chunk, err error) {
	first, err = eachText(row, func(_ int, text, context []byte) {
		texts = append(texts, retrieve.Chunk{Text: string(text), Context: string(context)})
	})
	return first, texts, err
}

// eachText calls f with each text of a block, and its place in it. It returns the number of the first chunk, from 0.
func eachText(row []driver.Value, f func(i int, text, context []byte)) (first int, err error) {
	at, ok := row[0].(int64)
	sum, ok2 := row[1].(int64)
	data, ok3 := row[2].([]byte)
	if !ok || !ok2 || !ok3 || sum != sealed(crc32.Checksum(data, castagnoli), len(data), at) {
		return 0, fmt.Errorf("%w: a text of document %d is not what was written", segment.ErrCorrupt, at>>chunkBits)
	}
	var pair [2][]byte
	for i := 0; len(data) > 0; i++ {
		n, size := binary.Uvarint(data)
		if size <= 0 || n > uint64(len(data)-size) {
			return 0, fmt.Errorf("%w: the texts of document %d", segment.ErrCorrupt, at>>chunkBits)
		}
		pair[i%2] = data[size : size+int(n)]
		data = data[size+int(n):]
		if i%2 == 1 {
			f(i/2, pair[0], pair[1])
		}
	}
	return int(at & chunkMask), nil
}

func scanInfo(row []driver.Value) (d retrieve.DocumentInfo, err error) {
	var ok [7]bool
	d.ID, ok[0] = row[0].(string)
	d.Path, ok[1] = row[1].(string)
	d.Hash, ok[2] = row[2].(string)
	d.Size, ok[3] = row[3].(int64)
	chunks, ok4 := row[5].(int64)
	vectors, ok5 := row[6].(int64)
	ok[4], ok[5] = ok4, ok5
	d.Root, ok[6] = row[7].(string)
	for _, ok := range ok {
		if !ok {
			return d, fmt.Errorf("%w: the list of documents", segment.ErrCorrupt)
		}
	}
	d.Chunks, d.Vectors = int(chunks), int(vectors)
	if nanos, ok := row[4].(int64); ok {
		d.ModTime = time.Unix(0, nanos).UTC()
	}
	return d, nil
}

// Pages of documents grow from the first to the last size: a caller that wants a few documents reads
// few more, and one that wants all reads them in few queries.
const firstPage, lastPage = 16, 1024

// lastID comes after every ID: it has the last character, which is none of any script.
var lastID = strings.Repeat("\U0010ffff", 16)

// Documents implements [retrieve.Index].
func (x *Index) Documents(ctx context.Context, col retrieve.Collection, ids retrieve.IDs) iter.Seq2[retrieve.DocumentInfo, error] {
	return func(yield func(retrieve.DocumentInfo, error) bool) {
		after, before := "", cmp.Or(ids.Before, lastID)
		for size := firstPage; ; size = min(2*size, lastPage) {
			var page []retrieve.DocumentInfo
			err := x.reading(ctx, col, func(c *conn, found collection) error {
				return c.Query(PageDocuments, []driver.Value{found.id, ids.From, after, before, int64(size)}, func(row []driver.Value) error {
					d, err := scanInfo(row)
					page = append(page, d)
					return err
				})
			})
			if err != nil {
				yield(retrieve.DocumentInfo{}, x.fail(err, col, "list documents"))
				return
			}
			for _, d := range page {
				if !yield(d, nil) {
					return
				}
			}
			if len(page) < size {
				return
			}
			after = page[len(page)-1].ID
		}
	}
}

// Document implements [retrieve.Index].
func (x *Index) Document(ctx context.Context, col retrieve.Collection, id string) (d retrieve.Document, err error) {
	err = x.reading(ctx, col, func(c *conn, found collection) error {
		num, ok, err := c.number(FindDocument, found.id, id)
		if err != nil {
			return err
		}
		if !ok {
			return retrieve.ErrNotFound
		}
		view, err := x.state.cache.view(ctx, c, found)
		if err != nil {
			return err
		}
		d, err = c.document(view, found.id, num)
		return err
	})
	if err != nil {
		return d, x.fail(err, col, "document %.100q", id)
	}
	return d, nil
}

// document puts a document together.
func (c *conn) document(view *segment.View, collection, num int64) (d retrieve.Document, err error) {
	there := false
	for _, p := range view.Parts() {
		if d, there, err = p.Document(num); there || err != nil {
			break
		}
	}
	if err == nil && !there {
		err = fmt.Errorf("%w: no segment has document %d", segment.ErrCorrupt, num)
	}
	if err != nil {
		return d, err
	}
	err = c.Query(oneDocument, []driver.Value{collection, num}, func(row []driver.Value) error {
		info, err := scanInfo(row)
		d.Root, d.Size, d.ModTime = info.Root, info.Size, info.ModTime
		return err
	})
	if err != nil {
		return d, err
	}
	next := 0
	err = c.Query(c.x.o.Dialect.ListTexts, []driver.Value{collection, num << chunkBits, num<<chunkBits | chunkMask}, func(row []driver.Value) error {
		first, texts, err := scanTexts(row)
		if err == nil && (first != next || len(texts) > len(d.Chunks)-next) {
			err = fmt.Errorf("%w: the texts of document %d", segment.ErrCorrupt, num)
		}
		if err != nil {
			return err
		}
		for _, t := range texts {
			d.Chunks[next].Text, d.Chunks[next].Context = t.Text, t.Context
			next++
		}
		return nil
	})
	if err == nil && next != len(d.Chunks) {
		err = fmt.Errorf("%w: document %d has %d texts for %d chunks", segment.ErrCorrupt, num, next, len(d.Chunks))
	}
	return d, err
}

// Export implements [retrieve.Index].
func (x *Index) Export(ctx context.Context, col retrieve.Collection) iter.Seq2[retrieve.Document, error] {
	return func(yield func(retrieve.Document, error) bool) {
		for info, err := range x.Documents(ctx, col, retrieve.IDs{}) {
			if err != nil {
				yield(retrieve.Document{}, err)
				return
			}
			d, err := x.Document(ctx, col, info.ID)
			if errors.Is(err, retrieve.ErrNotFound) {
				continue // it was deleted meanwhile
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}
