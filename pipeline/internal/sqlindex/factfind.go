package sqlindex

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/segment"
	"github.com/anchor-host/anchor-host/store"
)

// Tidy merges segments of the index after a change of facts, which has put and deleted so many. Deleted
// facts also leave the segments, so that nothing of their words remains.
func (s *Facts) Tidy(ctx context.Context, tenant string, put, deleted int) {
	col := retrieve.Collection{Tenant: tenant, Name: factCollection}
	if put == 0 && deleted > 0 {
		_ = s.x.Compact(ctx, col) // what fails here is done by a later write
		return
	}
	if put+deleted > 0 {
		s.x.maintain(ctx, col)
	}
}

// factList returns the number of the list of a tenant's facts, 0 if there is none.
func (c *conn) factList(tenant string) (int64, error) {
	list, _, err := c.number("SELECT id FROM lists WHERE tenant = ? AND kind = ? AND stream = ''"+c.lock, tenant, store.KindFact)
	return list, err
}

// factRead calls f with a snapshot of a tenant's facts and their index. A missing index is made
// first, and a damaged one is made again. Without facts f is not called.
func (s *Facts) factRead(ctx context.Context, tenant string, f func(c *conn, list int64, col collection) error) error {
	if err := (store.Key{Tenant: tenant, Kind: store.KindFact}).Validate(); err != nil {
		return err
	}
	name := retrieve.Collection{Tenant: tenant, Name: factCollection}
	read := func() error {
		return s.x.snapshot(ctx, tenant, func(c *conn) error {
			list, err := c.factList(tenant)
			if err != nil || list == 0 {
				return err
			}
			col, err := c.collection(name)
			if err != nil {
				return err
			}
			return f(c, list, col)
		})
	}
	err := read()
	switch {
	case errors.Is(err, errNoCollection):
		err = s.factWork(ctx, tenant, func(*tx, int64, collection) error { return nil })
	case errors.Is(err, segment.ErrCorrupt):
		err = s.factRepair(ctx, tenant, name)
	default:
		return err
	}
	if err != nil {
		return err
	}
	return read()
}

// factRepair makes the index of a tenant's facts again.
func (s *Facts) factRepair(ctx context.Context, tenant string, name retrieve.Collection) error {
	return s.x.writing(ctx, tenant, 0, func(t *tx) error {
		list, err := t.conn.factList(tenant)
		if err != nil || list == 0 {
			return err
		}
		return t.rebuildFacts(list, name)
	})
}

// FindFacts implements [store.FactIndex].
func (s *Facts) FindFacts(ctx context.Context, tenant string, q store.FactQuery) (found []store.FoundFact, err error) {
	if q.Most < 1 || q.Most > retrieve.MaxK {
		return nil, s.x.o.Fail(fmt.Errorf("%w: at most %d facts (want 1 to %d)", store.ErrInvalid, q.Most, retrieve.MaxK), "find facts of %s", tenant)
	}
	err = s.factRead(ctx, tenant, func(c *conn, list int64, col collection) error {
		found = nil
		ids, err := s.factIDs(ctx, c, list, col, &q)
		if err != nil {
			return err
		}
		for _, id := range ids {
			one, ok, err := c.foundFact(tenant, id)
			if err != nil {
				return err
			}
			if ok {
				found = append(found, one)
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.x.o.Fail(err, "find facts of %s", tenant)
	}
	slices.SortFunc(found, func(a, b store.FoundFact) int {
		return cmp.Or(cmp.Compare(a.Record.Seq, b.Record.Seq), strings.Compare(a.Record.ID, b.Record.ID))
	})
	return found, nil
}

// factIDs returns the facts that a query finds, each once.
func (s *Facts) factIDs(ctx context.Context, c *conn, list int64, col collection, q *store.FactQuery) (ids []string, err error) {
	seen := make(map[string]bool)
	add := func(id string) {
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	for _, order := range []string{"used DESC, id", "relevance DESC, used DESC, id"} {
		if err := c.factsBy(order, list, q, add); err != nil {
			return nil, err
		}
	}
	view, err := s.x.state.cache.view(ctx, c, col)
	if err != nil {
		return nil, err
	}
	queries := []retrieve.Query{{By: retrieve.ByWords, Text: q.Text, KeepCopies: true}}
	if m := col.settings.Model; q.Vector != nil && q.Model == m.ID && len(q.Vector) == m.Dimension {
		queries = append(queries, retrieve.Query{By: retrieve.ByVectors, Vector: q.Vector, KeepCopies: true})
	}
	for _, one := range queries {
		one.K, one.Filter = q.Most, factConditions(q)
		if one, err = one.Complete(); err != nil {
			return nil, err
		}
		hits, err := view.Search(ctx, &one, col.settings.Analyzer())
		if err != nil {
			return nil, err
		}
		for _, hit := range hits {
			f, err := view.Found(hit.Place)
			if err != nil {
				return nil, err
			}
			add(f.Document.ID)
		}
	}
	return ids, nil
}

// factConditions are the conditions of a query for the collection.
func factConditions(q *store.FactQuery) []retrieve.Condition {
	now := fmt.Sprint(nanos(q.Now))
	conditions := []retrieve.Condition{{Field: metaExpires, Op: retrieve.OpAtLeast, Values: []string{now}}}
	equal := func(field string, values ...string) {
		wholes := make([]string, len(values))
		for i, value := range values {
			wholes[i] = whole(value)
		}
		conditions = append(conditions, retrieve.Condition{Field: field, Op: retrieve.OpEqual, Values: wholes})
	}
	if q.Users != nil {
		equal(metaUser, orNone(q.Users)...)
	}
	if q.Sessions != nil {
		equal(metaSession, orNone(q.Sessions)...)
	}
	if q.Type != "" {
		equal(metaType, q.Type)
	}
	for _, tag := range q.Tags {
		equal(metaTag+tag, "1")
	}
	return conditions
}

// orNone returns values, or for an empty list a value that no field has.
func orNone(values []string) []string {
	if len(values) == 0 {
		return []string{"\x00"}
	}
	return values
}

// factsBy calls add with the first facts in an order. It asks separately for each user or session
// that is selected, because then an index has them in that order.
func (c *conn) factsBy(order string, list int64, q *store.FactQuery, add func(id string)) error {
	where, args := "list = ? AND expires > ?", []driver.Value{list, nanos(q.Now)}
	if q.Type != "" {
		where, args = where+" AND type = ?", append(args, short(q.Type))
	}
	where, args = c.x.o.Dialect.tagged(where, args, q.Tags)
	if q.Users != nil && len(q.Users) == 0 || q.Sessions != nil && len(q.Sessions) == 0 {
		return nil
	}
	owners := []string{""}
	each := ""
	in := func(column string, values []string) {
		if values == nil {
			return
		}
		if each == "" {
			each, owners = column, values
			return
		}
		where += " AND " + column + " IN (?" + strings.Repeat(", ?", len(values)-1) + ")"
		for _, v := range values {
			args = append(args, short(v))
		}
	}
	in(`"user"`, q.Users)
	in("session", q.Sessions)
	for _, owner := range owners {
		condition, values := where, slices.Clone(args)
		if each != "" {
			condition, values = each+" = ? AND "+where, append([]driver.Value{short(owner)}, args...)
		}
		values = append(values, int64(q.Most))
		err := c.Query("SELECT id FROM facts WHERE "+condition+" ORDER BY "+order+" LIMIT ?", values, func(row []driver.Value) error {
			id, ok := row[0].(string)
			if !ok {
				return fmt.Errorf("%w: the index of facts", segment.ErrCorrupt)
			}
			add(id)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tagged adds the condition that a fact has tags.
func (d *Dialect) tagged(where string, args []driver.Value, tags []string) (string, []driver.Value) {
	cleaned := make([]string, len(tags))
	for i, tag := range tags {
		cleaned[i] = clean(tag)
	}
	if d.HasTags != "" && len(tags) > 0 {
		list, _ := json.Marshal(cleaned) // of texts it never fails
		return where + " AND " + d.HasTags, append(args, string(list))
	}
	for _, tag := range cleaned {
		where, args = where+" AND "+d.HasTag, append(args, tag)
	}
	return where, args
}

// foundFact reads a fact. It returns false if there is none.
func (c *conn) foundFact(tenant, id string) (f store.FoundFact, found bool, err error) {
	r, err := c.x.o.Fact(c.Conn, tenant, id)
	var damaged *store.CorruptError
	switch {
	case errors.As(err, &damaged):
		return store.FoundFact{Record: store.Record{ID: id, Seq: damaged.Seq}, Damaged: err}, true, nil
	case err != nil || r == nil:
		return f, false, err
	}
	return store.FoundFact{Record: *r}, true, nil
}

// FactsByHash implements [store.FactIndex].
func (s *Facts) FactsByHash(ctx context.Context, tenant string, hashes []string) (found []store.Record, err error) {
	err = s.factRead(ctx, tenant, func(c *conn, list int64, _ collection) error {
		found = nil
		for _, hash := range hashes {
			if err := c.factRecords(tenant, "SELECT id FROM facts WHERE list = ? AND hash = ? ORDER BY id", []driver.Value{list, short(hash)}, &found); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.x.o.Fail(err, "find facts of %s", tenant)
	}
	return found, nil
}

// factRecords reads the records whose IDs a query gives. Damaged ones are left out.
func (c *conn) factRecords(tenant, query string, args []driver.Value, to *[]store.Record) error {
	var ids []string
	err := c.Query(query, args, func(row []driver.Value) error {
		id, _ := row[0].(string)
		ids = append(ids, id)
		return nil
	})
	for _, id := range ids {
		if err != nil {
			return err
		}
		var r *store.Record
		r, err = c.x.o.Fact(c.Conn, tenant, id)
		if damaged := new(store.CorruptError); errors.As(err, &damaged) {
			err = nil
		} else if r != nil {
			*to = append(*to, *r)
		}
	}
	return err
}

// FactVectors implements [store.FactIndex].
func (s *Facts) FactVectors(ctx context.Context, tenant, model string, contents [][32]byte) (map[[32]byte][]float32, error) {
	found := make(map[[32]byte][]float32)
	err := s.factRead(ctx, tenant, func(c *conn, list int64, col collection) error {
		if col.settings.Model.ID != model {
			return nil
		}
		for _, content := range contents {
			err := c.Query("SELECT vector FROM facts WHERE list = ? AND content = ? AND vector IS NOT NULL LIMIT 1", []driver.Value{list, content[:]}, func(row []driver.Value) error {
				if v := decodeVector(row[0], col.settings.Model.Dimension); v != nil {
					found[content] = v
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.x.o.Fail(err, "read vectors of facts of %s", tenant)
	}
	return found, nil
}

// FactsWithoutVector implements [store.FactIndex].
func (s *Facts) FactsWithoutVector(ctx context.Context, tenant, model string, limit int) (found []store.Record, err error) {
	err = s.factRead(ctx, tenant, func(c *conn, list int64, col collection) error {
		found = nil
		query := "SELECT id FROM facts WHERE list = ? AND vector IS NULL LIMIT ?"
		if col.settings.Model.ID != model {
			query = "SELECT id FROM facts WHERE list = ? LIMIT ?"
		}
		return c.factRecords(tenant, query, []driver.Value{list, int64(limit)}, &found)
	})
	if err != nil {
		return nil, s.x.o.Fail(err, "find facts of %s", tenant)
	}
	return found, nil
}

// SetFactVectors implements [store.FactIndex].
func (s *Facts) SetFactVectors(ctx context.Context, tenant, model string, vectors map[[32]byte][]float32) error {
	m := retrieve.Model{ID: model}
	for _, v := range vectors {
		m.Dimension = len(v)
	}
	err := m.Validate()
	for _, v := range vectors {
		if err == nil {
			err = m.Check(1, [][]float32{v})
		}
	}
	name := retrieve.Collection{Tenant: tenant, Name: factCollection}
	if err == nil {
		err = s.factWork(ctx, tenant, func(t *tx, list int64, c collection) error { return t.setFactVectors(list, name, c, m, vectors) })
	}
	if err != nil {
		return s.x.o.Fail(err, "write vectors of facts of %s", tenant)
	}
	s.x.maintain(ctx, name)
	return nil
}

func (t *tx) setFactVectors(list int64, name retrieve.Collection, c collection, m retrieve.Model, vectors map[[32]byte][]float32) error {
	if c.settings.Model != m {
		if err := t.conn.Exec("UPDATE facts SET vector = NULL WHERE list = ? AND vector IS NOT NULL", list); err != nil {
			return err
		}
		if err := t.setModel(name, m); err != nil {
			return err
		}
		var err error
		if c, err = t.conn.collection(name); err != nil {
			return err
		}
	}
	var records []store.Record
	for content := range vectors {
		if err := t.conn.factRecords(name.Tenant, "SELECT id FROM facts WHERE list = ? AND content = ?", []driver.Value{list, content[:]}, &records); err != nil {
			return err
		}
	}
	var facts []*Fact
	for _, r := range records {
		if f, ok := NewFact(r.ID, r.Data); ok {
			f.vector = vectors[f.content]
			facts = append(facts, f)
		}
	}
	if len(facts) == 0 {
		return nil
	}
	slices.SortFunc(facts, func(a, b *Fact) int { return strings.Compare(a.id, b.id) })
	return t.writeFacts(list, c, facts)
}
