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
	User   string `json:"user,omitempty"`
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
		err = l.put(ctx)
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
	l.mu.Lock()
	waiting := l.waiting.all()
	l.mu.Unlock()
	if len(waiting) == 0 && !slices.ContainsFunc(l.kept, (*Failure).old) {
		return nil
	}
	l.read = time.Time{}
	if err := l.load(ctx); err != nil {
		return err
	}
	all := l.valid()
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

// apply makes a list of the store. changed are the keys of those that are to be written.
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
		doc, err := json.Marshal(row{*f, f.user, f.public})
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
	return s.Apply(ctx, c)
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
			rest.Count -= f.Count
			r.plugins[f.Plugin][i] = &rest
		}
	}
}

// load reads what the store has, the oldest first. The caller has the turn.
func (l *Log) load(ctx context.Context) error {
	if !l.read.IsZero() && time.Since(l.read) < freshTime {
		return nil
	}
	s, err := l.store(ctx)
	if err != nil {
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
	for after := int64(0); ; {
		recs, err := s.Read(ctx, key, after, 0)
		for i := range recs {
			var r row
			if json.Unmarshal(recs[i].Data, &r) != nil {
				r = row{} // no valid one
			}
			f := &r.Failure
			f.key, f.user, f.public = recs[i].ID, r.User, r.Public
			list, after = append(list, f), recs[i].Seq
		}
		damaged, ok := errors.AsType[*store.CorruptError](err)
		switch {
		case ok && damaged.Seq > after:
			after = damaged.Seq
			if _, err := hex.DecodeString(damaged.ID); err == nil { // else nothing can be deleted by it
				list = append(list, &Failure{key: damaged.ID})
			}
			continue
		case err != nil:
			return nil, fmt.Errorf("failures of plugins: read them: %w", err)
		}
		slices.SortStableFunc(list, func(a, b *Failure) int { return a.Last.Compare(b.Last) })
		return list, nil
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

// Forget deletes the failures of a tenant from a store, or those of one user of it, and returns how many there were. It
// deletes damaged ones too: nobody knows whose they are.
func Forget(ctx context.Context, s store.Store, tenant, user string) (int, error) {
	list, err := read(ctx, s)
	if err != nil {
		return 0, err
	}
	var ids []string
	own := 0
	for _, f := range list {
		mine := f.of(tenant, user)
		if mine {
			own++
		}
		if mine || f.Plugin == "" {
			ids = append(ids, f.key)
		}
	}
	if n, err := remove(ctx, s, ids); err != nil {
		return min(n, own), fmt.Errorf("failures of plugins: delete those of tenant %.100q: %w", tenant, err)
	}
	return own, nil
}

// Forget removes the failures of a tenant that wait to be written, or those of one user of it. It waits for what
// is being written, so that [Forget] finds that in the store.
func (l *Log) Forget(ctx context.Context, tenant, user string) error {
	if l == nil {
		return nil
	}
	if l.stored() {
		unlock, err := l.take(ctx)
		if err != nil {
			return fmt.Errorf("failures of plugins: wait until they are written: %w", err)
		}
		defer unlock()
		l.read, l.kept = time.Time{}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting.forget(tenant, user)
	return nil
}
