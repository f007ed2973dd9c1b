package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/anchor-host/anchor-host/pipeline/internal/sqlindex"
	"github.com/anchor-host/anchor-host/store"
)

var errNumbers = fmt.Errorf("%w: all %d sequence numbers are used up (continue under another key)", store.ErrFull, int64(store.MaxSeq))

const (
	lockList   = "SELECT id, last FROM lists WHERE tenant = $1 AND kind = $2 AND stream = $3 FOR UPDATE"
	createList = `INSERT INTO lists (tenant, kind, stream, last) VALUES ($1, $2, $3, 0)
		ON CONFLICT (tenant, kind, stream) DO UPDATE SET last = lists.last RETURNING id, last`
	updateList = "UPDATE lists SET last = $2 WHERE id = $1"
	newestSeq  = "SELECT coalesce(max(seq), 0) FROM records WHERE list = $1"
	findRows   = `SELECT seq, id, NULL::bytea FROM records WHERE list = $1 AND id = ANY($2::text[])
		UNION ALL SELECT seq, NULL, NULL FROM records WHERE list = $1 AND seq = ANY($3::bigint[]) AND id IS NULL`
	findData = `SELECT seq, id, data FROM records WHERE list = $1 AND id = ANY($2::text[])
		UNION ALL SELECT seq, NULL, data FROM records WHERE list = $1 AND seq = ANY($3::bigint[]) AND id IS NULL`
	insertMany = `INSERT INTO records (list, seq, id, time, sum, data)
		SELECT $1, v.seq, nullif(v.id, ''), v.time, v.sum, v.data
		FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bytea[]) AS v(seq, id, time, sum, data)`
	updateMany = `UPDATE records r SET time = v.time, sum = v.sum, data = v.data
		FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bytea[]) AS v(seq, id, time, sum, data)
		WHERE r.list = $1 AND r.seq = v.seq`
	deleteMany = "DELETE FROM records WHERE list = $1 AND seq = ANY($2::bigint[])"
	deleteAll  = "DELETE FROM records WHERE list = $1"
)

// tx is a transaction that holds the lists that it changes.
type tx struct {
	store  *Store
	conn   *pgx.Conn
	tenant string // whose rows it sees
}

// as makes the next statements of a batch those of a tenant.
func (t *tx) as(b *pgx.Batch, tenant string) {
	if t.tenant != tenant {
		b.Queue(setTenant, tenant)
		t.tenant = tenant
	}
}

func (t *tx) send(ctx context.Context, b *pgx.Batch) error { return t.conn.SendBatch(ctx, b).Close() }

// work is a change while it is made.
type work struct {
	*change
	id, last int64            // of the list; no id: there is none
	seqs     map[string]int64 // of the IDs that are there
	gone     int
	insert   columns
	update   columns
	names    []string       // the IDs of the records of put
	fresh    map[string]int // where the rows to insert and to update are, by ID
	renewed  map[string]int
}

// outcome is what changes have done.
type outcome struct {
	deleted int
	first   int64 // the number of the first record that the last change may have appended
}

// changes makes changes in one transaction.
func (s *Store) changes(ctx context.Context, all ...change) (done outcome, err error) {
	all = slices.DeleteFunc(all, func(c change) bool { return c.empty() })
	if len(all) == 0 {
		return done, s.usable(ctx)
	}
	// Everybody locks in the same order, so that nobody waits in a circle.
	slices.SortFunc(all, func(a, b change) int {
		return cmp.Or(strings.Compare(a.key.Tenant, b.key.Tenant), strings.Compare(a.key.Kind, b.key.Kind), strings.Compare(a.key.Stream, b.key.Stream))
	})
	err = s.write(ctx, func(ctx context.Context, c *pgx.Conn, begun *bool) error {
		t, works := &tx{store: s, conn: c}, make([]*work, len(all))
		for i := range all {
			works[i] = &work{change: &all[i], seqs: make(map[string]int64)}
		}
		if err := t.lock(ctx, works); err != nil {
			return err
		}
		if err := t.look(ctx, works); err != nil {
			return err
		}
		done = outcome{}
		own := &conn{ctx: ctx, c: c}
		for _, w := range works {
			done.first = w.last + 1
			if err := w.plan(); err != nil {
				return err
			}
			done.deleted += w.gone
			t.as(&own.later, w.key.Tenant)
			w.queue(&own.later, &done.deleted)
			if err := s.indexFacts(own, w); err != nil {
				return err
			}
		}
		own.later.Queue("COMMIT")
		*begun = true
		return own.flush()
	})
	for i := range all {
		if c := &all[i]; err == nil && sqlindex.IsFacts(c.key) {
			s.Tidy(ctx, c.key.Tenant, len(c.put), len(c.delete))
		}
	}
	return done, err
}

// indexFacts brings the index of facts in step with a planned change.
func (s *Store) indexFacts(c *conn, w *work) error {
	if !sqlindex.IsFacts(w.key) || w.id == 0 {
		return nil
	}
	gone, facts := slices.Clone(w.delete), []*sqlindex.Fact(nil)
	for i := range w.put {
		if f, ok := sqlindex.NewFact(w.names[i], w.put[i].data); ok {
			facts = append(facts, f)
		} else { // what the index has of the record before goes
			gone = append(gone, w.names[i])
		}
	}
	return s.Changed(c, w.key.Tenant, w.id, w.clear, gone, facts)
}

// lock begins the transaction and locks the lists. A list that a change fills or depends on is made if
// there is none, so that no other transaction makes it meanwhile.
func (t *tx) lock(ctx context.Context, works []*work) error {
	var b pgx.Batch
	b.Queue("BEGIN")
	for _, w := range works {
		t.as(&b, w.key.Tenant)
		b.Queue(lockList, w.key.Tenant, w.key.Kind, w.key.Stream).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := rows.Scan(&w.id, &w.last); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	if err := t.send(ctx, &b); err != nil {
		return err
	}
	var create pgx.Batch
	for _, w := range works {
		if w.id == 0 && (len(w.put) > 0 || w.change.last > 0 || w.newest != nil || len(w.same) > 0) {
			t.as(&create, w.key.Tenant)
			create.Queue(createList, w.key.Tenant, w.key.Kind, w.key.Stream).QueryRow(func(r pgx.Row) error { return r.Scan(&w.id, &w.last) })
		}
	}
	if create.Len() == 0 {
		return nil
	}
	return t.send(ctx, &create)
}

// names splits IDs into those of callers and the numbers of those of the store.
func names(ids []string) (own []string, seqs []int64) {
	for _, id := range ids {
		if seq, ok := store.ParseAutoID(id); ok && seq <= store.MaxSeq {
			seqs = append(seqs, seq)
		} else if !store.IsAutoID(id) && id != "" {
			own = append(own, id)
		}
	}
	return own, seqs
}

// look finds which of the IDs are there, and checks the conditions.
func (t *tx) look(ctx context.Context, works []*work) error {
	var b pgx.Batch
	for _, w := range works {
		if w.id == 0 {
			continue
		}
		t.as(&b, w.key.Tenant)
		ids := slices.Clone(w.delete)
		for i := range w.put {
			ids = append(ids, w.put[i].id)
		}
		if own, seqs := names(ids); len(own)+len(seqs) > 0 {
			b.Queue(findRows, w.id, own, seqs).Query(func(rows pgx.Rows) error {
				return eachRow(rows, func(id string, seq int64, _ []byte) { w.seqs[id] = seq })
			})
		}
		if w.newest != nil {
			b.Queue(newestSeq, w.id).QueryRow(func(r pgx.Row) error {
				newest := int64(0)
				if err := r.Scan(&newest); err != nil || newest == *w.newest {
					return err
				}
				return fmt.Errorf("%w: the newest record is %d, not %d", store.ErrConflict, newest, *w.newest)
			})
		}
		if len(w.same) > 0 {
			w.lookSame(&b)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return t.send(ctx, &b)
}

// lookSame asks for the records that must be there, and for their data only where these matter.
func (w *work) lookSame(b *pgx.Batch) {
	ids, query := make([]string, len(w.same)), findRows
	for i := range w.same {
		ids[i] = w.same[i].id
		if w.same[i].data != nil {
			query = findData
		}
	}
	own, seqs := names(ids)
	b.Queue(query, w.id, own, seqs).Query(func(rows pgx.Rows) error {
		found := make(map[string][]byte)
		if err := eachRow(rows, func(id string, _ int64, data []byte) { found[id] = data }); err != nil {
			return err
		}
		for i := range w.same {
			if data, there := found[w.same[i].id]; !there || !w.same[i].matches(data) {
				return fmt.Errorf("%w: record %.100q", store.ErrConflict, w.same[i].id)
			}
		}
		return nil
	})
}

func eachRow(rows pgx.Rows, f func(id string, seq int64, data []byte)) error {
	for rows.Next() {
		var seq int64
		var id *string
		var data []byte
		if err := rows.Scan(&seq, &id, &data); err != nil {
			return err
		}
		if id == nil {
			f(store.AutoID(seq), seq, data)
		} else {
			f(*id, seq, data)
		}
	}
	return rows.Err()
}

// plan decides what is written, in the order of the change: deletions before insertions, and a record
// that comes twice replaces itself.
func (w *work) plan() error {
	deleted := make(map[string]bool, len(w.delete))
	for _, id := range w.delete {
		if _, there := w.seqs[id]; there && !deleted[id] {
			w.gone++
		}
		deleted[id] = true
	}
	w.fresh, w.renewed = make(map[string]int), make(map[string]int)
	for i := range w.put {
		r := &w.put[i]
		seq, there := w.seqs[r.id]
		there = there && !deleted[r.id]
		switch at, again := w.fresh[r.id]; {
		case there && w.append:
			return fmt.Errorf("id %q: %w", r.id, store.ErrExists)
		case r.id != "" && again:
			w.names = append(w.names, r.id)
			w.insert.set(at, r)
			continue
		case there:
			w.names = append(w.names, r.id)
			w.renew(seq, r)
			continue
		case store.IsAutoID(r.id) && !w.keepSeq:
			return fmt.Errorf("id %q: %w (IDs that begin with # are reserved for the store)", r.id, store.ErrNotFound)
		}
		w.last = w.nextSeq(r)
		if w.last > store.MaxSeq {
			return errNumbers
		}
		id := r.id
		if id == "" || store.IsAutoID(id) { // it changes with the number
			id = store.AutoID(w.last)
		}
		w.names = append(w.names, id)
		w.fresh[id] = len(w.insert.seqs)
		w.insert.add(w.last, r)
	}
	w.last = max(w.last, w.change.last)
	return nil
}

func (w *work) renew(seq int64, r *row) {
	if at, again := w.renewed[r.id]; again {
		w.update.set(at, r)
		return
	}
	w.renewed[r.id] = len(w.update.seqs)
	w.update.add(seq, r)
}

func (w *work) nextSeq(r *row) int64 {
	if w.keepSeq && r.seq > w.last {
		return r.seq
	}
	return w.last + 1
}

// set replaces a row that was added.
func (c *columns) set(at int, r *row) {
	id := c.ids[at]
	c.times[at], c.sums[at], c.data[at] = r.time, checksum(id, r.time, r.data), r.data
}

// queue adds the statements of a planned change.
func (w *work) queue(b *pgx.Batch, deleted *int) {
	if w.id == 0 {
		return
	}
	if w.clear {
		b.Queue(deleteAll, w.id).Exec(func(tag pgconn.CommandTag) error {
			*deleted += int(tag.RowsAffected())
			return nil
		})
	}
	if w.gone > 0 {
		seqs := make([]int64, 0, len(w.delete))
		for _, id := range w.delete {
			if seq, there := w.seqs[id]; there {
				seqs = append(seqs, seq)
			}
		}
		b.Queue(deleteMany, w.id, seqs)
	}
	if c := &w.update; len(c.seqs) > 0 {
		b.Queue(updateMany, w.id, c.seqs, c.ids, c.times, c.sums, c.data)
	}
	if c := &w.insert; len(c.seqs) > 0 {
		b.Queue(insertMany, w.id, c.seqs, c.ids, c.times, c.sums, c.data)
	}
	if w.change.last > 0 || len(w.insert.seqs) > 0 {
		b.Queue(updateList, w.id, w.last)
	}
}

// taken is the error of an append with an ID that is there.
func (s *Store) taken(ctx context.Context, key store.Key, rows []row) error {
	for i := range rows {
		if rows[i].id == "" {
			continue
		}
		if _, err := s.Get(ctx, key, rows[i].id); err == nil {
			return fmt.Errorf("id %q: %w", rows[i].id, store.ErrExists)
		}
	}
	return store.ErrExists
}
