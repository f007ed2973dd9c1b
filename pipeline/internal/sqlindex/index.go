package sqlindex

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

const (
	listCollections  = "SELECT id, generation, name, settings, created, changed FROM collections WHERE tenant = ? AND name >= ' ' ORDER BY name"
	insertCollection = "INSERT INTO collections (tenant, name, settings, generation, created, changed) VALUES (?1, ?2, ?3, 1, ?4, ?4)"
	updateCollection = "UPDATE collections SET generation = generation + 1, changed = ?, settings = ? WHERE id = ?"
	countDocuments   = "SELECT count(*), CAST(coalesce(sum(chunks), 0) AS bigint), CAST(coalesce(sum(vectors), 0) AS bigint), CAST(coalesce(sum(bytes), 0) AS bigint) FROM documents WHERE collection = ?"
	sumSegments      = "SELECT CAST(coalesce(sum(size), 0) AS bigint) FROM segments WHERE collection = ?"
)

// removeCollection has the statements that remove all of a collection but its texts.
var removeCollection = []string{
	"DELETE FROM documents WHERE collection = ?",
	"DELETE FROM segments WHERE collection = ?",
	"DELETE FROM dead WHERE collection = ?",
	"DELETE FROM collections WHERE id = ?",
}

// fail adds the collection and the operation to an error, and the remedy for a segment that
// is not what was written.
func (x *Index) fail(err error, c retrieve.Collection, format string, args ...any) error {
	switch {
	case errors.Is(err, segment.ErrCorrupt):
		err = fmt.Errorf("%w: %w (remove it with anchor-host collections remove %s, and ingest it again with anchor-host ingest PATH --collection %s)",
			retrieve.ErrCorrupt, err, c.Name, c.Name)
	case errors.Is(err, errNoCollection):
		err = fmt.Errorf("%w: no such collection (make it with anchor-host ingest PATH --collection %s)", retrieve.ErrNotFound, c.Name)
	}
	return x.o.Fail(err, "collection %s: %s", c, fmt.Sprintf(format, args...))
}

// reading runs f on a snapshot of a collection.
func (x *Index) reading(ctx context.Context, col retrieve.Collection, f func(*conn, collection) error) error {
	if err := col.Validate(); err != nil {
		return err
	}
	return x.peeking(ctx, col, f)
}

// peeking is reading for any collection, that of facts included.
func (x *Index) peeking(ctx context.Context, col retrieve.Collection, f func(*conn, collection) error) error {
	return x.snapshot(ctx, col.Tenant, func(c *conn) error {
		found, err := c.collection(col)
		if err != nil {
			return err
		}
		return f(c, found)
	})
}

// Create implements [retrieve.Index].
func (x *Index) Create(ctx context.Context, col retrieve.Collection, s retrieve.Settings) error {
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

func (x *Index) create(ctx context.Context, col retrieve.Collection, s retrieve.Settings) error {
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
	return x.writing(ctx, col.Tenant, 0, func(t *tx) error {
		c, err := t.conn.collection(col)
		if err == nil {
			return same(c)
		}
		if errors.Is(err, errNoCollection) {
			err = t.conn.Exec(insertCollection, col.Tenant, col.Name, string(text), time.Now().UnixNano())
		}
		return err
	})
}

// Collections implements [retrieve.Index].
func (x *Index) Collections(ctx context.Context, tenant string) ([]retrieve.CollectionInfo, error) {
	of := retrieve.Collection{Tenant: tenant, Name: "*"}
	err := of.Validate()
	var infos []retrieve.CollectionInfo
	if err == nil {
		err = x.snapshot(ctx, tenant, func(c *conn) error {
			var found []collection
			err := c.Query(listCollections, []driver.Value{tenant}, func(row []driver.Value) error {
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
func (x *Index) Collection(ctx context.Context, col retrieve.Collection) (info retrieve.CollectionInfo, err error) {
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
func (x *Index) Settings(ctx context.Context, col retrieve.Collection) (s retrieve.Settings, err error) {
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
	err := c.Query(countDocuments, []driver.Value{found.id}, func(row []driver.Value) error {
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
func (x *Index) Remove(ctx context.Context, col retrieve.Collection) error {
	err := col.Validate()
	if err == nil {
		err = x.deleting(ctx, col.Tenant, func(t *tx) error {
			// The settings may be what is corrupt, so only the number is read.
			id, ok, err := t.conn.number("SELECT id FROM collections WHERE tenant = ? AND name = ?", col.Tenant, col.Name)
			if err == nil && !ok {
				err = errNoCollection
			}
			if err != nil {
				return err
			}
			return t.remove(id)
		})
	}
	if err != nil {
		return x.fail(err, col, "remove")
	}
	return nil
}

// remove removes all of a collection.
func (t *tx) remove(collection int64) error {
	for _, statement := range append([]string{t.x.o.Dialect.RemoveTexts}, removeCollection...) {
		if err := t.conn.Exec(statement, collection); err != nil {
			return err
		}
	}
	return nil
}

// SetModel implements [retrieve.Index].
func (x *Index) SetModel(ctx context.Context, col retrieve.Collection, m retrieve.Model) error {
	err := col.Validate()
	if err == nil && m != (retrieve.Model{}) {
		err = m.Validate()
	}
	if err == nil {
		err = x.writing(ctx, col.Tenant, 0, func(t *tx) error { return t.setModel(col, m) })
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
	err = t.conn.Query("SELECT id, size, documents, sum, data, vectors FROM segments WHERE collection = ? AND vectors IS NOT NULL", []driver.Value{c.id}, func(row []driver.Value) error {
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
		err = t.conn.Exec("UPDATE documents SET vectors = 0 WHERE collection = ?", c.id)
	}
	if err == nil {
		err = t.conn.Exec(updateCollection, time.Now().UnixNano(), string(text), c.id)
	}
	return err
}

// touch marks a collection as changed.
func (t *tx) touch(c collection) error {
	err := t.conn.Exec(updateCollection, time.Now().UnixNano(), c.text, c.id)
	return err
}
