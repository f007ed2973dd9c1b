package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/segment"
)

// Index is the [retrieve.Index] of a store. It lies in the file of the store.
type Index struct{ store *Store }

var _ retrieve.Index = Index{}

// Index returns the index in the file of the store.
func (s *Store) Index() Index { return Index{s} }

const (
	listCollections  = "SELECT id, generation, name, settings, created, changed FROM collections WHERE tenant = ? AND name >= ' ' ORDER BY name"
	insertCollection = "INSERT INTO collections (tenant, name, settings, generation, created, changed) VALUES (?1, ?2, ?3, 1, ?4, ?4)"
	updateCollection = "UPDATE collections SET generation = generation + 1, changed = ?, settings = ? WHERE id = ?"
	countDocuments   = "SELECT count(*), coalesce(sum(chunks), 0), coalesce(sum(vectors), 0), coalesce(sum(bytes), 0) FROM documents WHERE collection = ?"
	sumSegments      = "SELECT coalesce(sum(size), 0) FROM segments WHERE collection = ?"
)

// removeCollection has the statements that remove all of a collection.
var removeCollection = []string{
	"DELETE FROM texts WHERE at IN (SELECT t.at FROM documents d JOIN texts t ON t.at BETWEEN d.num << 20 AND (d.num << 20) + 1048575 WHERE d.collection = ?)",
	"DELETE FROM documents WHERE collection = ?",
	"DELETE FROM segments WHERE collection = ?",
	"DELETE FROM dead WHERE collection = ?",
	"DELETE FROM collections WHERE id = ?",
}

// fail adds the collection and the operation to an error, and the remedy for a segment that
// is not what was written.
func (x Index) fail(err error, c retrieve.Collection, format string, args ...any) error {
	switch {
	case errors.Is(err, segment.ErrCorrupt):
		err = fmt.Errorf("%w: %w (remove it with anchor-host collections remove %s, and ingest it again with anchor-host ingest PATH --collection %s)",
			retrieve.ErrCorrupt, err, c.Name, c.Name)
	case errors.Is(err, errNoCollection):
		err = fmt.Errorf("%w: no such collection (make it with anchor-host ingest PATH --collection %s)", retrieve.ErrNotFound, c.Name)
	}
	return x.store.fail(err, "collection %s: %s", c, fmt.Sprintf(format, args...))
}

// snapshot calls f with a connection that sees one state of the file.
func (s *Store) snapshot(ctx context.Context, f func(*conn) error) error {
	c, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	if _, err = c.exec("BEGIN"); err == nil {
		err = f(c)
		if _, end := c.exec("COMMIT"); end != nil {
			_ = c.close() // a connection that cannot end its transaction is of no use
			s.readers <- nil
			return errors.Join(err, end)
		}
	}
	s.release(c, err)
	return err
}

// reading runs f on a snapshot of a collection.
func (x Index) reading(ctx context.Context, col retrieve.Collection, f func(*conn, collection) error) error {
	if err := col.Validate(); err != nil {
		return err
	}
	return x.peeking(ctx, col, f)
}

// peeking is reading for any collection, that of facts included.
func (x Index) peeking(ctx context.Context, col retrieve.Collection, f func(*conn, collection) error) error {
	return x.store.snapshot(ctx, func(c *conn) error {
		found, err := c.collection(col)
		if err != nil {
			return err
		}
		return f(c, found)
	})
}

// writing runs f in a transaction of the writer.
func (x Index) writing(ctx context.Context, size int, f func(*tx) error) error {
	r := newRequest()
	r.work, r.size = f, size
	return x.store.write(ctx, r)
}

// deleting is writing for what only deletes, which goes on when the disk is full.
func (x Index) deleting(ctx context.Context, f func(*tx) error) error {
	r := newRequest()
	r.work, r.deletes = f, true
	return x.store.write(ctx, r)
}

// Create implements [retrieve.Index].
func (x Index) Create(ctx context.Context, col retrieve.Collection, s retrieve.Settings) error {
	err := col.Validate()
	if err == nil {
		s, err = s.Complete()
	}
	if err == nil {
		err = x.create(ctx, col, s)
	}
	if err != nil {
		return x.fail(err, col, "create")
	}
	return nil
}

func (x Index) create(ctx context.Context, col retrieve.Collection, s retrieve.Settings) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	same := func(c collection) error {
		have := c.settings
		if s.Model == (retrieve.Model{}) {
			have.Model = s.Model
		}
		if b, err := json.Marshal(have); err != nil || string(b) != string(text) {
			return fmt.Errorf("%w: %s, not %s (use another name, or rebuild it: anchor-host collections remove %s, then anchor-host ingest PATH --collection %s)", retrieve.ErrExists, c.text, text, col.Name, col.Name)
		}
		return nil
	}
	// A collection that is there needs no transaction.
	err = x.reading(ctx, col, func(_ *conn, c collection) error { return same(c) })
	if !errors.Is(err, errNoCollection) {
		return err
	}
	return x.writing(ctx, 0, func(t *tx) error {
		c, err := t.conn.collection(col)
		if err == nil {
			return same(c)
		}
		if errors.Is(err, errNoCollection) {
			_, err = t.conn.exec(insertCollection, col.Tenant, col.Name, string(text), time.Now().UnixNano())
		}
		return err
	})
}

// Collections implements [retrieve.Index].
func (x Index) Collections(ctx context.Context, tenant string) ([]retrieve.CollectionInfo, error) {
	of := retrieve.Collection{Tenant: tenant, Name: "*"}
	err := of.Validate()
	var infos []retrieve.CollectionInfo
	if err == nil {
		err = x.store.snapshot(ctx, func(c *conn) error {
			var found []collection
			err := c.query(listCollections, []driver.Value{tenant}, func(row []driver.Value) error {
				one, err := scanCollection(row)
				found = append(found, one)
				return err
			})
			for _, one := range found {
				if err == nil {
					var info retrieve.CollectionInfo
					info, err = c.describe(tenant, one)
					infos = append(infos, info)
				}
			}
			return err
		})
	}
	if err != nil {
		return nil, x.fail(err, of, "list")
	}
	return infos, nil
}

// Collection implements [retrieve.Index].
func (x Index) Collection(ctx context.Context, col retrieve.Collection) (info retrieve.CollectionInfo, err error) {
	err = x.reading(ctx, col, func(c *conn, found collection) error {
		info, err = c.describe(col.Tenant, found)
		return err
	})
	if err != nil {
		return info, x.fail(err, col, "show")
	}
	return info, nil
}

// Settings implements [retrieve.Index].
func (x Index) Settings(ctx context.Context, col retrieve.Collection) (s retrieve.Settings, err error) {
	err = x.reading(ctx, col, func(_ *conn, found collection) error {
		s = found.settings
		return nil
	})
	if err != nil {
		return s, x.fail(err, col, "show")
	}
	return s, nil
}

func (c *conn) describe(tenant string, found collection) (retrieve.CollectionInfo, error) {
	info := retrieve.CollectionInfo{
		Collection: retrieve.Collection{Tenant: tenant, Name: found.name}, Name: found.name, Settings: found.settings,
		Generation: found.generation, Created: time.Unix(0, found.created).UTC(), Changed: time.Unix(0, found.changed).UTC(),
	}
	err := c.query(countDocuments, []driver.Value{found.id}, func(row []driver.Value) error {
		var n [4]int64
		for i := range n {
			n[i], _ = row[i].(int64)
		}
		info.Documents, info.Chunks, info.Vectors, info.Bytes = int(n[0]), int(n[1]), int(n[2]), n[3]
		return nil
	})
	if err != nil {
		return info, err
	}
	info.IndexBytes, _, err = c.number(sumSegments, found.id)
	return info, err
}

// Remove implements [retrieve.Index].
func (x Index) Remove(ctx context.Context, col retrieve.Collection) error {
	err := col.Validate()
	if err == nil {
		err = x.deleting(ctx, func(t *tx) error {
			// The settings may be what is corrupt, so only the number is read.
			id, ok, err := t.conn.number("SELECT id FROM collections WHERE tenant = ? AND name = ?", col.Tenant, col.Name)
			if err == nil && !ok {
				err = errNoCollection
			}
			for _, statement := range removeCollection {
				if err == nil {
					_, err = t.conn.exec(statement, id)
				}
			}
			return err
		})
	}
	if err != nil {
		return x.fail(err, col, "remove")
	}
	return nil
}

// SetModel implements [retrieve.Index].
func (x Index) SetModel(ctx context.Context, col retrieve.Collection, m retrieve.Model) error {
	err := col.Validate()
	if err == nil && m != (retrieve.Model{}) {
		err = m.Validate()
	}
	if err == nil {
		err = x.writing(ctx, 0, func(t *tx) error { return t.setModel(col, m) })
	}
	if err != nil {
		return x.fail(err, col, "set the model")
	}
	return nil
}

func (t *tx) setModel(col retrieve.Collection, m retrieve.Model) error {
	c, err := t.conn.collection(col)
	if err != nil || c.settings.Model == m {
		return err
	}
	c.settings.Model = m
	text, err := json.Marshal(c.settings)
	if err != nil {
		return err
	}
	var stripped []storedSegment
	err = t.conn.query("SELECT id, size, documents, sum, data, vectors FROM segments WHERE collection = ? AND vectors IS NOT NULL", []driver.Value{c.id}, func(row []driver.Value) error {
		s, err := scanSegment(row, c.id)
		s.vectors = nil
		stripped = append(stripped, s)
		return err
	})
	for i := range stripped {
		if err == nil { // another number, because caches have the segment with its vectors
			err = t.conn.replaceSegments(c.id, []int64{stripped[i].id}, stripped[i].documents, stripped[i].data, nil)
		}
	}
	if err == nil {
		_, err = t.conn.exec("UPDATE documents SET vectors = 0 WHERE collection = ?", c.id)
	}
	if err == nil {
		_, err = t.conn.exec(updateCollection, time.Now().UnixNano(), string(text), c.id)
	}
	return err
}

// touch marks a collection as changed.
func (t *tx) touch(c collection) error {
	_, err := t.conn.exec(updateCollection, time.Now().UnixNano(), c.text, c.id)
	return err
}
