package sqlite

import (
	"context"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/pipeline/internal/sqlindex"
	"github.com/anchor-host/anchor-host/store"
)

// Append implements [store.Store].
func (s *Store) Append(ctx context.Context, key store.Key, recs ...store.Record) (int64, error) {
	if err := store.ValidateAppend(key, recs); err != nil {
		return 0, s.fail(err, "append to %s", key)
	}
	r := newRequest(change{key: key, put: newRows(recs), append: true})
	if err := s.write(ctx, r); err != nil {
		return 0, s.fail(err, "append to %s", key)
	}
	return r.first, nil
}

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, key store.Key, rec store.Record) error {
	if err := store.ValidateChanges([]store.Change{{Key: key, Put: []store.Record{rec}}}); err != nil {
		return s.fail(err, "put into %s", key)
	}
	if err := s.write(ctx, newRequest(change{key: key, put: newRows([]store.Record{rec})})); err != nil {
		return s.fail(err, "put into %s", key)
	}
	return nil
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, key store.Key, ids ...string) (int, error) {
	if err := store.ValidateChanges([]store.Change{{Key: key, Delete: ids}}); err != nil {
		return 0, s.fail(err, "delete from %s", key)
	}
	r := newRequest(change{key: key, delete: append([]string(nil), ids...)})
	if err := s.write(ctx, r); err != nil {
		return 0, s.fail(err, "delete from %s", key)
	}
	return r.count, nil
}

// Clear implements [store.Store].
func (s *Store) Clear(ctx context.Context, key store.Key) (int, error) {
	if err := key.Validate(); err != nil {
		return 0, s.fail(err, "clear %s", key)
	}
	r := newRequest(change{key: key, clear: true})
	if err := s.write(ctx, r); err != nil {
		return 0, s.fail(err, "clear %s", key)
	}
	return r.count, nil
}

// Apply implements [store.Store].
func (s *Store) Apply(ctx context.Context, changes ...store.Change) error {
	if err := store.ValidateChanges(changes); err != nil {
		return s.fail(err, "apply changes")
	}
	own := make([]change, len(changes))
	for i, c := range changes {
		own[i] = change{key: c.Key, delete: append([]string(nil), c.Delete...), put: newRows(c.Put), keepSeq: c.KeepSeq, last: c.LastSeq}
		if c.IfNewest != nil {
			newest := *c.IfNewest
			own[i].newest = &newest
		}
		own[i].same = newRows(c.If)
	}
	if err := s.write(ctx, newRequest(own...)); err != nil {
		return s.fail(err, "apply changes")
	}
	return nil
}

// write passes a request to the writer, unless the request is empty.
func (s *Store) write(ctx context.Context, r *request) error {
	empty := r.work == nil
	for i := range r.changes {
		c := &r.changes[i]
		empty = empty && !c.clear && len(c.put) == 0 && len(c.delete) == 0 && c.newest == nil && len(c.same) == 0 && c.last == 0
	}
	select {
	case <-s.closing:
		return store.ErrClosed
	default:
	}
	if empty {
		return ctx.Err()
	}
	if s.writer == nil {
		return errReadOnly
	}
	ctx, span := observe.Begin(ctx, observe.Work{Kind: observe.Store, Name: "write"})
	err := s.writer.do(ctx, r)
	span.End(observe.Result{Err: err})
	for i := range r.changes {
		if c := &r.changes[i]; err == nil && sqlindex.IsFacts(c.key) {
			s.Tidy(ctx, c.key.Tenant, len(c.put), len(c.delete))
		}
	}
	return err
}
