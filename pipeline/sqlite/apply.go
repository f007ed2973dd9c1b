package sqlite

import (
	"database/sql/driver"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/internal/sqlindex"
	"github.com/anchor-host/anchor-host/store"
)

// execute makes the changes of a request. If the request itself is invalid, it sets the
// error of the request before anything is written. It returns errors of the transaction.
func (t *tx) execute(r *request) error {
	r.err, r.first, r.count = nil, 0, 0
	if r.work != nil {
		return r.work(t)
	}
	for i := range r.changes {
		if err := t.check(&r.changes[i]); code(err) != 0 {
			return err
		} else if err != nil {
			r.err = err
			return nil
		}
	}
	for i := range r.changes {
		if err := t.apply(r, &r.changes[i]); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if a change cannot be made completely.
func (t *tx) check(c *change) error {
	h, err := t.head(c.key)
	if err != nil {
		return err
	}
	last := int64(0)
	if h != nil {
		last = h.last
	}
	if err := t.unchanged(h, c); err != nil {
		return err
	}
	// Look up IDs only for an append, for IDs of the store, and when the numbers are
	// almost used up, because an existing ID needs no new number.
	scarce := c.top(last) > store.MaxSeq-store.MaxBatch
	for i := range c.put {
		r := &c.put[i]
		found := false
		if h != nil && r.id != "" && (c.append || scarce || store.IsAutoID(r.id)) && !slices.Contains(c.delete, r.id) {
			if _, found, err = t.find(h, r.id); err != nil {
				return err
			}
		}
		switch {
		case found && c.append:
			return fmt.Errorf("id %q: %w", r.id, store.ErrExists)
		case found:
		case store.IsAutoID(r.id) && !c.keepSeq:
			return fmt.Errorf("id %q: %w (IDs that begin with # are reserved for the store)", r.id, store.ErrNotFound)
		default:
			last = c.nextSeq(last, r)
		}
	}
	if last > store.MaxSeq {
		return fmt.Errorf("%w: all %d sequence numbers are used up (continue under another key)", store.ErrFull, int64(store.MaxSeq))
	}
	return nil
}

// top returns the greatest number that is assigned or requested.
func (c *change) top(last int64) int64 {
	if c.keepSeq {
		for i := range c.put {
			last = max(last, c.put[i].seq)
		}
	}
	return last
}

func (c *change) nextSeq(last int64, r *row) int64 {
	if c.keepSeq && r.seq > last {
		return r.seq
	}
	return last + 1
}

// apply writes a checked change.
func (t *tx) apply(r *request, c *change) error {
	h, err := t.head(c.key)
	if err != nil {
		return err
	}
	if h == nil && len(c.put) == 0 && c.last == 0 {
		return nil
	}
	if h == nil {
		if h, err = t.create(c.key); err != nil {
			return err
		}
	}
	n, err := t.remove(h, c)
	if err != nil {
		return err
	}
	r.count += n
	if len(c.put) > 0 {
		r.first = h.last + 1
	}
	var facts []*sqlindex.Fact
	gone := c.delete[:len(c.delete):len(c.delete)]
	indexed := sqlindex.IsFacts(c.key)
	for i := range c.put {
		id, err := t.put(h, c, &c.put[i])
		if err != nil {
			return err
		}
		if !indexed {
			continue
		}
		if f, ok := sqlindex.NewFact(id, c.put[i].data); ok {
			facts = append(facts, f)
		} else { // what the index has of the record before goes
			gone = append(gone, id)
		}
	}
	if c.last > h.last {
		t.advance(h, c.last)
	}
	if !indexed {
		return nil
	}
	return t.store.Changed(asked{t.conn}, c.key.Tenant, h.id, c.clear, gone, facts)
}

// unchanged checks the conditions of a change.
func (t *tx) unchanged(h *head, c *change) error {
	for i := range c.same {
		if err := t.same(h, &c.same[i]); err != nil {
			return err
		}
	}
	if c.newest == nil {
		return nil
	}
	newest := int64(0)
	if h != nil {
		at, found, err := t.conn.number(newestAt, h.place(1), h.place(seqMask))
		if err != nil {
			return err
		}
		if found {
			newest = at & seqMask
		}
	}
	if newest != *c.newest {
		return fmt.Errorf("%w: the newest record is %d, not %d", store.ErrConflict, newest, *c.newest)
	}
	return nil
}

// same returns an error if a record is not there, or not with the same data.
func (t *tx) same(h *head, r *row) error {
	found := false
	if h != nil {
		at, there, err := t.find(h, r.id)
		if err == nil && there && r.data != nil {
			_, there, err = t.conn.number(hasData, at, r.data)
		}
		if err != nil {
			return err
		}
		found = there
	}
	if !found {
		return fmt.Errorf("%w: record %.100q", store.ErrConflict, r.id)
	}
	return nil
}

// advance sets the last number of a list.
func (t *tx) advance(h *head, last int64) {
	h.last = last
	if !h.dirty {
		h.dirty = true
		t.changed = append(t.changed, h)
	}
}

func (t *tx) remove(h *head, c *change) (int, error) {
	if c.clear {
		return t.conn.exec(deleteRange, h.place(1), h.place(seqMask))
	}
	n := 0
	for _, id := range c.delete {
		at, found, err := t.find(h, id)
		if err != nil {
			return 0, err
		}
		if !found {
			continue
		}
		gone, err := t.conn.exec(deleteOne, at)
		if err != nil {
			return 0, err
		}
		n += gone
	}
	return n, nil
}

// put writes a record and returns its ID.
func (t *tx) put(h *head, c *change, r *row) (string, error) {
	if r.id != "" && !c.append {
		at, found, err := t.find(h, r.id)
		if err != nil {
			return "", err
		}
		if found {
			_, err = t.conn.exec(updateOne, r.time, r.sealed(at), r.data, at)
			return r.id, err
		}
	}
	t.advance(h, c.nextSeq(h.last, r))
	at := h.place(h.last)
	var id driver.Value
	name := storedID(r.id)
	if name != "" {
		id = name
	} else {
		name = store.AutoID(h.last)
	}
	_, err := t.conn.exec(insertOne, at, id, r.time, r.sealed(at), r.data)
	return name, err
}

// find returns the place of the record with an ID.
func (t *tx) find(h *head, id string) (at int64, found bool, err error) {
	if store.IsAutoID(id) {
		seq, ok := store.ParseAutoID(id)
		if !ok || seq > store.MaxSeq {
			return 0, false, nil
		}
		return t.conn.number(findSeq, h.place(seq))
	}
	return t.conn.number(findID, h.id, id)
}

// head returns the head of the list of a key, nil if there is no list.
func (t *tx) head(key store.Key) (*head, error) {
	if h := t.heads[key]; h != nil {
		return h, nil
	}
	var h *head
	err := t.conn.query(findList,
		[]driver.Value{key.Tenant, key.Kind, key.Stream}, func(row []driver.Value) error {
			id, ok := row[0].(int64)
			last, ok2 := row[1].(int64)
			if !ok || !ok2 {
				return fmt.Errorf("%w: the list of %s", store.ErrCorrupt, key)
			}
			h = &head{id: id, last: last}
			return nil
		})
	if err != nil || h == nil {
		return nil, err
	}
	t.heads[key] = h
	return h, nil
}

func (t *tx) create(key store.Key) (*head, error) {
	id, ok, err := t.conn.number(insertList,
		key.Tenant, key.Kind, key.Stream)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w: the list of %s has no number", store.ErrCorrupt, key)
	}
	h := &head{id: id}
	t.heads[key] = h
	return h, nil
}
