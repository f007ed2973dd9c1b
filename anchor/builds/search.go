package builds

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/anchor-host/anchor-host/store"
)

// Bounds of an index.
const (
	// indexBytes is what it holds of all tenants, about.
	indexBytes = 64 << 20
	// idleIndex is how long it holds a tenant that nobody searches.
	idleIndex = 15 * time.Minute
	// readTogether is how many records it reads at a time.
	readTogether = 512
)

// Index finds records without reading all of them from the store: it holds in memory what filters
// compare. It reads a tenant's records at the first search, and those that came since at each further one. Its
// zero value is ready for use. It is safe for concurrent use.
type Index struct {
	mu      sync.Mutex
	tenants map[string]*indexed
	most    int64 // instead of indexBytes, for tests
}

// indexed is what is known of the records of one tenant.
type indexed struct {
	mu   sync.Mutex
	rows []indexRow // from the oldest on
	// last is the number of the newest record that was read, and cut that of the newest one that is
	// left out for want of room.
	last, cut int64
	bytes     int64
	used      time.Time
}

// indexRow is what filters compare of a record. The question is folded.
type indexRow struct {
	seq                                                                                      int64
	time                                                                                     time.Time
	pipeline, conversation, generation, user, session, key, requestID, outcome, query, marks string
}

// size is about what a row takes in memory, in bytes.
func (r *indexRow) size() int64 {
	const fields = 256
	return int64(fields + len(r.requestID) + len(r.query) + len(r.marks))
}

// put writes what a row has into a summary.
func (r *indexRow) put(m *marked) {
	m.Time, m.Outcome, m.Query, m.Marks = r.time, Outcome(r.outcome), r.query, r.marks
	m.Pipeline, m.Conversation, m.Generation = r.pipeline, r.conversation, r.generation
	m.User, m.Session, m.Key, m.RequestID = r.user, r.session, r.key, r.requestID
}

// Find is [List] with an index. A page that ends where the index does has a cursor, from which on it
// continues as List does.
func (x *Index) Find(ctx context.Context, s store.Store, tenant string, f Filter, cursor string, limit int) (Page, error) {
	if limit < 1 || limit > MaxPage {
		return Page{}, fmt.Errorf("find builds: limit %d: %w (want 1 to %d)", limit, store.ErrInvalid, MaxPage)
	}
	if f.Request != "" {
		return List(ctx, s, tenant, f, cursor, limit)
	}
	t := x.of(tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.refresh(ctx, s, tenant, x.room())
	x.bound(t)
	if err != nil {
		return Page{}, err
	}
	from := int64(store.MaxSeq)
	if cursor != "" {
		if from, err = strconv.ParseInt(cursor, 10, 64); err != nil || from < 1 || from > store.MaxSeq {
			return Page{}, fmt.Errorf("find builds: %w: %w", store.ErrInvalid, ErrCursor)
		}
		if from <= t.cut+1 {
			return List(ctx, s, tenant, f, cursor, limit)
		}
	}
	return t.find(ctx, s, tenant, f, from, limit)
}

// find looks for rows before a number.
func (t *indexed) find(ctx context.Context, s store.Store, tenant string, f Filter, from int64, limit int) (Page, error) {
	page := Page{Builds: []Summary{}}
	rows, _ := slices.BinarySearchFunc(t.rows, from, func(r indexRow, seq int64) int { return int(min(1, max(-1, r.seq-seq))) })
	mark, words := markOf(f.Item), wordsOf(f.Text)
	var m marked
	for n := rows - 1; n >= 0; n-- {
		r := &t.rows[n]
		if n%4096 == 0 && ctx.Err() != nil {
			return page, ctx.Err()
		}
		if r.put(&m); !f.matchSummary(&m.Summary) || f.Item != "" && !hasMark(r.marks, mark) || !hasWords(r.query, words) {
			continue
		}
		recs, err := s.Read(ctx, store.Key{Tenant: tenant, Kind: KindSummary}, r.seq-1, 1)
		if err != nil {
			return page, err
		}
		if len(recs) == 0 || recs[0].Seq != r.seq {
			continue // it was deleted
		}
		one, err := decodeSummary(&recs[0])
		if err != nil {
			return page, err
		}
		if !f.match(&one.marked) {
			continue
		}
		if len(page.Builds) == limit {
			page.Next = strconv.FormatInt(r.seq+1, 10)
			return page, nil
		}
		page.Builds = append(page.Builds, one.Summary)
	}
	if t.cut > 0 {
		page.Next = strconv.FormatInt(t.cut+1, 10)
	}
	return page, nil
}

// refresh reads the records that came since, and forgets those that are no longer there.
func (t *indexed) refresh(ctx context.Context, s store.Store, tenant string, room int64) error {
	key := store.Key{Tenant: tenant, Kind: KindSummary}
	first, err := s.Read(ctx, key, 0, 1)
	if err != nil {
		return err
	}
	if len(first) == 0 {
		t.rows, t.bytes, t.cut = nil, 0, 0
		return nil
	}
	t.forget(first[0].Seq)
	names := map[string]string{}
	for {
		recs, err := s.Read(ctx, key, t.last, readTogether)
		if err != nil || len(recs) == 0 {
			return err
		}
		for i := range recs {
			t.last = recs[i].Seq
			if t.add(&recs[i], names); t.bytes > room {
				t.trim(room)
			}
		}
	}
}

// forget forgets the rows before a number.
func (t *indexed) forget(first int64) {
	n := 0
	for ; n < len(t.rows) && t.rows[n].seq < first; n++ {
		t.bytes -= t.rows[n].size()
	}
	if t.rows = t.rows[n:]; n > 0 && n > len(t.rows) {
		t.rows = slices.Clone(t.rows)
	}
	if t.cut < first {
		t.cut = 0
	}
}

// add adds a record. Names has the names that rows share.
func (t *indexed) add(rec *store.Record, names map[string]string) {
	var m marked
	if jsonv2.Unmarshal(rec.Data, &m) != nil {
		return // a list names it
	}
	same := func(name string) string {
		if _, known := names[name]; !known && len(names) < 10_000 {
			names[name] = name
		}
		return cmp.Or(names[name], name)
	}
	row := indexRow{
		seq: rec.Seq, time: m.Time, requestID: m.RequestID, query: folded(m.Query), marks: m.Marks, outcome: same(string(m.Outcome)), generation: same(m.Generation),
		pipeline: same(m.Pipeline), conversation: same(m.Conversation), user: same(m.User), session: same(m.Session), key: same(m.Key),
	}
	t.rows = append(t.rows, row)
	t.bytes += row.size()
}

// trim forgets the oldest rows until they take at most half of the room, so that it is not done each time.
func (t *indexed) trim(room int64) {
	n := 0
	for ; n < len(t.rows) && t.bytes > room/2; n++ {
		t.bytes -= t.rows[n].size()
		t.cut = t.rows[n].seq
	}
	t.rows = slices.Clone(t.rows[n:])
}

func (x *Index) room() int64 {
	if x.most > 0 {
		return x.most
	}
	return indexBytes
}

// of returns what is known of a tenant.
func (x *Index) of(tenant string) *indexed {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.tenants == nil {
		x.tenants = map[string]*indexed{}
	}
	t := x.tenants[tenant]
	if t == nil {
		t = &indexed{}
		x.tenants[tenant] = t
	}
	t.used = time.Now()
	return t
}

// Forget forgets a tenant whose records were deleted, so that memory has no texts of them.
func (x *Index) Forget(tenant string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.tenants, tenant)
}

// bound forgets the tenants that nobody searches, and those that were searched longest ago while all take too
// much. kept is locked, and stays.
func (x *Index) bound(kept *indexed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		total, oldest := kept.bytes, ""
		for name, t := range x.tenants {
			if t == kept || !t.mu.TryLock() {
				continue // somebody searches it
			}
			total += t.bytes
			t.mu.Unlock()
			if passed(t.used, time.Now(), idleIndex) {
				delete(x.tenants, name)
			} else if oldest == "" || t.used.Before(x.tenants[oldest].used) {
				oldest = name
			}
		}
		if total <= x.room() || oldest == "" {
			return
		}
		delete(x.tenants, oldest)
	}
}
