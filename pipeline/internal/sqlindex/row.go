package sqlindex

import (
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/segment"
	"github.com/anchor-host/anchor-host/store"
)

// collection is a row of the table of collections.
type collection struct {
	id, generation   int64
	name             string
	text             string // of the settings
	settings         retrieve.Settings
	created, changed int64
}

const findCollection = "SELECT id, generation, name, settings, created, changed FROM collections WHERE tenant = ? AND name = ?"

var errNoCollection = errors.New("no such collection")

func scanCollection(row []driver.Value) (collection, error) {
	var c collection
	var ok [6]bool
	c.id, ok[0] = row[0].(int64)
	c.generation, ok[1] = row[1].(int64)
	c.name, ok[2] = row[2].(string)
	c.text, ok[3] = row[3].(string)
	c.created, ok[4] = row[4].(int64)
	c.changed, ok[5] = row[5].(int64)
	for _, ok := range ok {
		if !ok {
			return c, fmt.Errorf("%w: a row of the collections", segment.ErrCorrupt)
		}
	}
	err := json.Unmarshal([]byte(c.text), &c.settings)
	if err == nil {
		c.settings, err = c.settings.Complete()
	}
	if err != nil {
		return c, fmt.Errorf("%w: settings of the collection: %w", segment.ErrCorrupt, err)
	}
	return c, nil
}

// collection returns the row of a collection.
func (c *conn) collection(col retrieve.Collection) (found collection, err error) {
	err = c.Query(findCollection+c.lock, []driver.Value{col.Tenant, col.Name}, func(row []driver.Value) error {
		found, err = scanCollection(row)
		return err
	})
	if err == nil && found.id == 0 {
		err = errNoCollection
	}
	return found, err
}

// errChanged means that the settings of a collection changed while a batch was prepared.
var errChanged = fmt.Errorf("%w: the settings of the collection (try again)", store.ErrConflict)

const (
	listSegments  = "SELECT id, size, documents FROM segments WHERE collection = ? ORDER BY id"
	loadSegment   = "SELECT id, size, documents, sum, data, vectors FROM segments WHERE id = ?"
	oldestSegment = "SELECT substr(data, 1, ?2) FROM segments WHERE collection = ?1 ORDER BY id LIMIT 1"
	insertSegment = "INSERT INTO segments (collection, documents, size, sum, data, vectors) VALUES (?, ?, ?, ?, ?, ?)"
	deleteSegment = "DELETE FROM segments WHERE id = ? AND collection = ?"
	listDead      = "SELECT num FROM dead WHERE collection = ? ORDER BY num"
	deleteDead    = "DELETE FROM dead WHERE collection = ? AND num = ?"
)

// storedSegment is a row of the table of segments.
type storedSegment struct {
	id            int64
	size          int64
	documents     int
	data, vectors []byte
}

// segmentSum is the checksum of a segment.
func segmentSum(data, vectors []byte, collection int64) int64 {
	var b [24]byte
	binary.LittleEndian.PutUint64(b[:], uint64(len(data)))
	binary.LittleEndian.PutUint64(b[8:], uint64(len(vectors)))
	binary.LittleEndian.PutUint64(b[16:], uint64(collection))
	sum := crc32.Update(crc32.Checksum(data, castagnoli), castagnoli, vectors)
	return int64(crc32.Update(sum, castagnoli, b[:]))
}

// scanSegment reads a row and verifies its checksum.
func scanSegment(row []driver.Value, collection int64) (s storedSegment, err error) {
	var ok [3]bool
	s.id, ok[0] = row[0].(int64)
	s.size, ok[1] = row[1].(int64)
	documents, _ := row[2].(int64)
	s.documents = int(documents)
	sum, _ := row[3].(int64)
	s.data, ok[2] = row[4].([]byte)
	s.vectors, _ = row[5].([]byte)
	if !ok[0] || !ok[1] || !ok[2] || sum != segmentSum(s.data, s.vectors, collection) {
		return s, fmt.Errorf("%w: segment %d is not what was written", segment.ErrCorrupt, s.id)
	}
	return s, nil
}

// segments lists the segments of a collection without their content.
func (c *conn) segments(collection int64) (list []storedSegment, err error) {
	err = c.Query(listSegments, []driver.Value{collection}, func(row []driver.Value) error {
		id, ok := row[0].(int64)
		size, ok2 := row[1].(int64)
		documents, ok3 := row[2].(int64)
		if !ok || !ok2 || !ok3 {
			return fmt.Errorf("%w: the list of segments", segment.ErrCorrupt)
		}
		list = append(list, storedSegment{id: id, size: size, documents: int(documents)})
		return nil
	})
	return list, err
}

// dead lists the dead documents of a collection.
func (c *conn) dead(collection int64) (nums []int64, err error) {
	err = c.Query(listDead, []driver.Value{collection}, func(row []driver.Value) error {
		num, _ := row[0].(int64)
		nums = append(nums, num)
		return nil
	})
	return nums, err
}

// segment reads one segment.
func (c *conn) segment(id, collection int64) (*segment.Segment, error) {
	var found storedSegment
	err := c.Query(loadSegment, []driver.Value{id}, func(row []driver.Value) (err error) {
		found, err = scanSegment(row, collection)
		return err
	})
	if err != nil {
		return nil, err
	}
	s, err := segment.Decode(found.data, found.vectors)
	if err != nil {
		return nil, fmt.Errorf("segment %d: %w", id, err)
	}
	return s, nil
}

// replaceSegments writes a segment in the place of others.
func (c *conn) replaceSegments(collection int64, old []int64, documents int, data, vectors []byte) error {
	for _, id := range old {
		if err := c.Exec(deleteSegment, id, collection); err != nil {
			return err
		}
	}
	if documents == 0 {
		return nil
	}
	var stored driver.Value
	if len(vectors) > 0 {
		stored = vectors
	}
	err := c.Exec(insertSegment, collection, int64(documents), int64(len(data)+len(vectors)), segmentSum(data, vectors, collection), data, stored)
	return err
}
