package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Memory is a [Store] that keeps records until the process ends.
type Memory struct {
	mu     sync.RWMutex
	lists  map[Key]*list
	closed bool
}

var (
	_ Store   = (*Memory)(nil)
	_ Counter = (*Memory)(nil)
	_ Sizer   = (*Memory)(nil)
	_ Lister  = (*Memory)(nil)
)

// list has the records of a key, in ascending order of Seq.
type list struct {
	last int64
	recs []Record
	seqs map[string]int64 // by ID
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{lists: make(map[Key]*list)} }

// Append implements [Store].
func (m *Memory) Append(ctx context.Context, key Key, recs ...Record) (int64, error) {
	if err := ValidateAppend(key, recs); err != nil {
		return 0, fmt.Errorf("append to %s: %w", key, err)
	}
	var first int64
	err := m.write(ctx, func() error {
		l := m.lists[key]
		for i := range recs {
			if l != nil && l.seqs[recs[i].ID] != 0 {
				return fmt.Errorf("append to %s: id %q: %w", key, recs[i].ID, ErrExists)
			}
		}
		if len(recs) == 0 {
			return nil
		}
		change := Change{Key: key, Put: recs}
		if err := m.check(&change); err != nil {
			return fmt.Errorf("append to %s: %w", key, err)
		}
		m.apply(&change)
		first = m.lists[key].last - int64(len(recs)) + 1
		return nil
	})
	return first, err
}

// Put implements [Store].
func (m *Memory) Put(ctx context.Context, key Key, rec Record) error {
	return m.Apply(ctx, Change{Key: key, Put: []Record{rec}})
}

// Delete implements [Store].
func (m *Memory) Delete(ctx context.Context, key Key, ids ...string) (int, error) {
	change := Change{Key: key, Delete: ids}
	if err := ValidateChanges([]Change{change}); err != nil {
		return 0, fmt.Errorf("delete from %s: %w", key, err)
	}
	n := 0
	err := m.write(ctx, func() error { n = m.apply(&change); return nil })
	return n, err
}

// Clear implements [Store].
func (m *Memory) Clear(ctx context.Context, key Key) (int, error) {
	if err := key.Validate(); err != nil {
		return 0, fmt.Errorf("clear %s: %w", key, err)
	}
	n := 0
	err := m.write(ctx, func() error {
		if l := m.lists[key]; l != nil {
			n = len(l.recs)
			m.lists[key] = &list{last: l.last, seqs: make(map[string]int64)}
		}
		return nil
	})
	return n, err
}

// Apply implements [Store].
func (m *Memory) Apply(ctx context.Context, changes ...Change) error {
	if err := ValidateChanges(changes); err != nil {
		return fmt.Errorf("apply changes: %w", err)
	}
	return m.write(ctx, func() error {
		for i := range changes {
			if err := m.check(&changes[i]); err != nil {
				return fmt.Errorf("apply changes to %s: %w", changes[i].Key, err)
			}
		}
		for i := range changes {
			m.apply(&changes[i])
		}
		return nil
	})
}

// Read implements [Store].
func (m *Memory) Read(ctx context.Context, key Key, after int64, limit int) ([]Record, error) {
	if limit < 0 {
		return nil, fmt.Errorf("read %s: %w: limit %d (want 0 or more)", key, ErrInvalid, limit)
	}
	return m.slice(ctx, key, func(recs []Record) []Record {
		from, found := slices.BinarySearchFunc(recs, after, bySeq)
		if found {
			from++
		}
		recs = recs[from:]
		if limit > 0 && len(recs) > limit {
			recs = recs[:limit]
		}
		return recs
	})
}

// Last implements [Store].
func (m *Memory) Last(ctx context.Context, key Key, n int) ([]Record, error) {
	if n < 0 {
		return nil, fmt.Errorf("read %s: %w: the last %d records (want 0 or more)", key, ErrInvalid, n)
	}
	return m.slice(ctx, key, func(recs []Record) []Record { return recs[max(0, len(recs)-n):] })
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, key Key, id string) (Record, error) {
	recs, err := m.slice(ctx, key, func(recs []Record) []Record {
		if at, ok := m.lists[key].find(id); ok {
			return recs[at : at+1]
		}
		return nil
	})
	if err == nil && len(recs) == 0 {
		err = fmt.Errorf("get %q of %s: %w", id, key, ErrNotFound)
	}
	if err != nil {
		return Record{}, err
	}
	return recs[0], nil
}

// Keys implements [Store].
func (m *Memory) Keys(ctx context.Context, tenant, kind string) ([]Key, error) {
	if err := (Key{Tenant: tenant, Kind: "any"}).Validate(); err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	var keys []Key
	for key, l := range m.lists {
		if key.Tenant == tenant && (kind == "" || key.Kind == kind) && len(l.recs) > 0 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Stream, b.Stream))
	})
	return keys, nil
}

// LastSeqs implements [Counter].
func (m *Memory) LastSeqs(ctx context.Context, tenant string) (map[Key]int64, error) {
	if err := (Key{Tenant: tenant, Kind: "any"}).Validate(); err != nil {
		return nil, fmt.Errorf("list numbers: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	lasts := make(map[Key]int64)
	for key, l := range m.lists {
		if key.Tenant == tenant && l.last > 0 {
			lasts[key] = l.last
		}
	}
	return lasts, nil
}

// Size implements [Sizer].
func (m *Memory) Size(ctx context.Context, tenant string, without ...string) (records, bytes int64, err error) {
	if err := (Key{Tenant: tenant, Kind: "any"}).Validate(); err != nil {
		return 0, 0, fmt.Errorf("measure: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return 0, 0, err
	}
	for key, l := range m.lists {
		if key.Tenant != tenant || slices.Contains(without, key.Kind) {
			continue
		}
		records += int64(len(l.recs))
		for i := range l.recs {
			bytes += int64(len(l.recs[i].Data))
		}
	}
	return records, bytes, nil
}

// Tenants implements [Lister].
func (m *Memory) Tenants(ctx context.Context) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	var names []string
	for key := range m.lists {
		names = append(names, key.Tenant)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Close implements [Store].
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.lists = true, nil
	return nil
}

func (m *Memory) usable(ctx context.Context) error {
	if m.closed {
		return ErrClosed
	}
	return ctx.Err()
}

func (m *Memory) write(ctx context.Context, f func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	return f()
}

// slice returns copies of the records that pick selects.
func (m *Memory) slice(ctx context.Context, key Key, pick func([]Record) []Record) ([]Record, error) {
	if err := key.Validate(); err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	l := m.lists[key]
	if l == nil {
		return nil, nil
	}
	recs := slices.Clone(pick(l.recs))
	for i := range recs {
		recs[i].Data = bytes.Clone(recs[i].Data)
	}
	return recs, nil
}

// check returns an error if a change cannot be made completely.
func (m *Memory) check(c *Change) error {
	l := m.lists[c.Key]
	last := int64(0)
	if l != nil {
		last = l.last
	}
	if c.IfNewest != nil && l.newest() != *c.IfNewest {
		return fmt.Errorf("%w: the newest record is %d, not %d", ErrConflict, l.newest(), *c.IfNewest)
	}
	for i := range c.If {
		r := &c.If[i]
		at, ok := l.find(r.ID)
		if !ok || r.Data != nil && !bytes.Equal(l.recs[at].Data, r.Data) {
			return fmt.Errorf("%w: record %.100q", ErrConflict, r.ID)
		}
	}
	for i := range c.Put {
		r := &c.Put[i]
		if _, ok := l.find(r.ID); ok && !slices.Contains(c.Delete, r.ID) {
			continue
		}
		if IsAutoID(r.ID) && !c.KeepSeq {
			return fmt.Errorf("id %q: %w (IDs that begin with # are reserved for the store)", r.ID, ErrNotFound)
		}
		last = nextSeq(last, r, c.KeepSeq)
	}
	if last > MaxSeq {
		return fmt.Errorf("%w: all %d sequence numbers are used up (continue under another key)", ErrFull, int64(MaxSeq))
	}
	return nil
}

// apply makes a checked change and returns how many records it deleted.
func (m *Memory) apply(c *Change) int {
	l := m.lists[c.Key]
	if l == nil && len(c.Put) == 0 && c.LastSeq == 0 {
		return 0
	}
	if l == nil {
		l = &list{seqs: make(map[string]int64)}
		m.lists[c.Key] = l
	}
	n := l.remove(c.Delete)
	for i := range c.Put {
		r := c.Put[i]
		r.Data = bytes.Clone(r.Data)
		r.Time = keptTime(r.Time)
		l.put(r, c.KeepSeq)
	}
	l.last = max(l.last, c.LastSeq)
	return n
}

func (l *list) put(r Record, keepSeq bool) {
	if at, ok := l.find(r.ID); ok {
		r.Seq = l.recs[at].Seq
		l.recs[at] = r
		return
	}
	r.Seq = nextSeq(l.last, &r, keepSeq)
	if r.ID == "" || IsAutoID(r.ID) {
		r.ID = AutoID(r.Seq)
	}
	l.last = r.Seq
	l.recs = append(l.recs, r)
	l.seqs[r.ID] = r.Seq
}

// newest returns the number of the newest record, 0 if there is none.
func (l *list) newest() int64 {
	if l == nil || len(l.recs) == 0 {
		return 0
	}
	return l.recs[len(l.recs)-1].Seq
}

func (l *list) remove(ids []string) int {
	gone := make(map[string]bool, len(ids))
	for _, id := range ids {
		if _, ok := l.seqs[id]; ok {
			gone[id] = true
			delete(l.seqs, id)
		}
	}
	if len(gone) > 0 {
		l.recs = slices.DeleteFunc(l.recs, func(r Record) bool { return gone[r.ID] })
	}
	return len(gone)
}

func (l *list) find(id string) (at int, ok bool) {
	if l == nil {
		return 0, false
	}
	seq, ok := l.seqs[id]
	if !ok {
		return 0, false
	}
	return slices.BinarySearchFunc(l.recs, seq, bySeq)
}

func bySeq(r Record, seq int64) int { return cmp.Compare(r.Seq, seq) }

// nextSeq returns the sequence number of a record that is inserted after last.
func nextSeq(last int64, r *Record, keepSeq bool) int64 {
	if keepSeq && r.Seq > last {
		return r.Seq
	}
	return last + 1
}

// keptTime converts a time to the form in which every store returns it.
func keptTime(t time.Time) time.Time {
	if t.IsZero() {
		t = time.Now()
	}
	return time.Unix(0, t.UnixNano()).UTC()
}
