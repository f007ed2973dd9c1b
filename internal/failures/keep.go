package failures

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

// What waits is written at once, and while a plugin goes on failing ever more seldom, so that a flood costs a
// few writes a minute.
const (
	shortestPause = time.Second
	longestPause  = time.Minute
)

// storeTime bounds one use of the store, freshTime is for how long what was read serves further readers.
const (
	storeTime = 5 * time.Second
	freshTime = time.Second
)

// maxAge is how long the store keeps a failure. A host that has read or written failures looks every pruneTime for
// older ones; else they go with the next write.
const (
	maxAge    = 30 * 24 * time.Hour
	pruneTime = 24 * time.Hour
)

// key is the list of the failures of all hosts and tenants, so that one read finds what to drop. The ID of a
// record is the key of its failure.
var key = store.Key{Tenant: store.ClusterTenant, Kind: "failure"}

// row is a record.
type row struct {
	Failure
	Owner
	Public string `json:"public,omitempty"`
}

// Keep writes the failures into the store that open returns, until Close. Each of them belongs to one host, so
// hosts that share a store need no agreement. Call it once.
func (l *Log) Keep(open func(context.Context) (store.Store, error), logger *slog.Logger) {
	ctx, end := context.WithCancel(context.Background())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.store, l.logger, l.end, l.done = open, logger, end, make(chan struct{})
	l.wake, l.turn = make(chan struct{}, 1), make(chan struct{}, 1)
	if len(l.waiting.plugins) > 0 {
		l.signal()
	}
	go l.run(ctx, l.wake)
}

// stored reports whether there is a store.
func (l *Log) stored() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.store != nil
}

// run writes what waits, until ctx ends.
func (l *Log) run(ctx context.Context, wake chan struct{}) {
	defer close(l.done)
	for pause := shortestPause / 2; ; {
		ended := time.Now()
		select {
		case <-wake: // during the pause
		default:
			select {
			case <-wake:
			case <-time.After(pruneTime):
			case <-ctx.Done():
				return
			}
		}
		if pause = min(2*pause, longestPause); time.Since(ended) >= longestPause {
			pause = shortestPause
		}
		l.write(context.WithoutCancel(ctx)) // the end waits for it
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// Close writes what waits. It is for a log with a store, and before the store is closed.
func (l *Log) Close(ctx context.Context) {
	l.end()
	<-l.done
	l.write(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.waiting.all() {
		l.lost += f.Count
	}
	if l.lost > 0 {
		l.logger.Warn("failures of plugins are lost, because the store could not be written", "lost", l.lost)
	}
}

// write writes what waits. What the store does not take waits on.
func (l *Log) write(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	unlock, err := l.take(ctx)
	if err == nil {
		defer unlock()
		err = store.ErrConflict
		for range putTries {
			if errors.Is(err, store.ErrConflict) {
				err = l.put(ctx)
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && !l.away { // once, however long the store is away
		l.logger.Warn("failures of plugins are not written to the store", "error", err, "waiting", len(l.waiting.all()), "lost", l.lost)
	}
	if l.away = err != nil; l.away {
		l.signal()
	}
}

// take waits for the turn to use the store.
func (l *Log) take(ctx context.Context) (leave func(), err error) {
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// put writes what waits, and deletes what then is beyond the bounds. The caller has the turn.
func (l *Log) put(ctx context.Context) error {
	if len(l.waits()) == 0 && !slices.ContainsFunc(l.kept, (*Failure).old) {
		return nil
	}
	l.read = time.Time{}
	if err := l.load(ctx); err != nil {
		return err
	}
	waiting, all := l.waits(), l.valid()
	changed := map[string]bool{}
	for _, f := range waiting {
		one := *f
		one.complete()
		all.add(&one)
		changed[f.key] = true
	}
	list := all.all()
	if err := l.apply(ctx, list, changed); err != nil {
		return err
	}
	l.read, l.kept = time.Now(), list
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting.written(waiting)
	return nil
}

// waits are the failures that wait, the oldest first.
func (l *Log) waits() []*Failure {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting.all()
}

// apply makes a list of the store, unless something was forgotten since it was read. changed are the keys of those that are to be written.
func (l *Log) apply(ctx context.Context, list []*Failure, changed map[string]bool) error {
	s, err := l.store(ctx)
	if err != nil {
		return err
	}
	ids, c := map[string]bool{}, store.Change{Key: key}
	for _, f := range list {
		if ids[f.key] = true; !changed[f.key] {
			continue
		}
		doc, err := json.Marshal(row{*f, f.owner, f.public})
		if err != nil {
			return fmt.Errorf("failure of plugin %.100q: encode it: %w", f.Plugin, err)
		}
		c.Put = append(c.Put, store.Record{ID: f.key, Time: f.Last, Data: bytes.ToValidUTF8(doc, []byte("\uFFFD"))}) // a case may have what is none
	}
	for _, f := range l.kept {
		if !ids[f.key] {
			c.Delete = append(c.Delete, f.key)
		}
	}
	if len(c.Put)+len(c.Delete) > store.MaxBatch {
		if _, err := remove(ctx, s, c.Delete); err != nil {
			return err
		}
		c.Delete = nil
	}
	err = s.Apply(ctx, c, store.Change{Key: forgotten, IfNewest: &l.heeded})
	if errors.Is(err, store.ErrConflict) { // something was forgotten since, or the store is that of before
		l.heeded = 0
	}
	return err
}

// remove deletes records, and returns how many there were.
func remove(ctx context.Context, s store.Store, ids []string) (deleted int, err error) {
	for batch := range slices.Chunk(ids, store.MaxBatch) {
		n, err := s.Delete(ctx, key, batch...)
		if err != nil {
			return deleted, store.Partly(deleted > 0, err)
		}
		deleted += n
	}
	return deleted, nil
}

// written removes what was written of what waits. What failed again since stays, without the count that was
// written.
func (r *rows) written(list []*Failure) {
	for _, f := range list {
		i := slices.IndexFunc(r.plugins[f.Plugin], func(o *Failure) bool { return o.key == f.key })
		if i < 0 {
			continue
		}
		switch now := r.plugins[f.Plugin][i]; {
		case now == f:
			r.remove(f)
		case now.First.Equal(f.First): // else f was dropped meanwhile
			rest := *now
			rest.Count, rest.First = now.Count-f.Count, f.Last
			r.plugins[f.Plugin][i] = &rest
		}
	}
}

// load reads what the store has, the oldest first, after what was forgotten. The caller has the turn.
func (l *Log) load(ctx context.Context) error {
	s, err := l.store(ctx)
	if err == nil {
		err = l.heed(ctx, s)
	}
	if err != nil || !l.read.IsZero() && time.Since(l.read) < freshTime {
		return err
	}
	list, err := read(ctx, s)
	if err != nil {
		return err
	}
	l.read, l.kept = time.Now(), list
	return nil
}

// read reads the failures of a store. Records that cannot be read are failures of no plugin, so that they can be deleted.
func read(ctx context.Context, s store.Store) (list []*Failure, err error) {
	err = scan(ctx, s, key, 0, func(rec *store.Record) {
		if f := decode(rec); f != nil {
			list = append(list, f)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("failures of plugins: read them: %w", err)
	}
	slices.SortStableFunc(list, func(a, b *Failure) int { return a.Last.Compare(b.Last) })
	return list, nil
}

// decode is the failure of a record, nil for one by which nothing can be deleted.
func decode(rec *store.Record) *Failure {
	var r row
	if json.Unmarshal(rec.Data, &r) != nil {
		r = row{} // no valid one
		if _, err := hex.DecodeString(rec.ID); rec.Data == nil && err != nil {
			return nil
		}
	}
	f := &r.Failure
	f.key, f.owner, f.public = rec.ID, r.Owner, r.Public
	f.owner.Tenant = f.Tenant
	return f
}

// scan calls f for the records of a key after a number. Those that the store cannot read have no data.
func scan(ctx context.Context, s store.Store, key store.Key, after int64, f func(*store.Record)) error {
	for {
		recs, err := s.Read(ctx, key, after, 0)
		for i := range recs {
			f(&recs[i])
			after = recs[i].Seq
		}
		damaged, ok := errors.AsType[*store.CorruptError](err)
		if !ok || damaged.Seq <= after {
			return err
		}
		after = damaged.Seq
		f(&store.Record{Seq: damaged.Seq, ID: damaged.ID})
	}
}

// valid are the rows of the store that are to stay. The caller has the turn.
func (l *Log) valid() (r rows) {
	for _, f := range l.kept {
		if f.Plugin != "" && !f.old() {
			one := *f
			r.add(&one)
		}
	}
	return r
}

// old reports whether the store need not keep a failure any more.
func (f *Failure) old() bool { return time.Since(f.Last) >= maxAge }
