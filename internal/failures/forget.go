package failures

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

// forgotten is the list of whose failures were forgotten of late, as digests, so that no host writes those that
// still wait on it.
var forgotten = store.Key{Tenant: store.ClusterTenant, Kind: "forgotten"}

const (
	// heedTime is how long failures may wait to be written. What was forgotten is known for an hour longer, as clocks differ.
	heedTime = 24 * time.Hour
	// lateTime is for how long after an owner was forgotten what fails still is: clocks differ, and work goes on.
	lateTime = 5 * time.Second
	// putTries is how often failures are written while others are forgotten.
	putTries = 3
	// prunedTogether is how many records of what was forgotten go with each new one.
	prunedTogether = 8
)

// Forget deletes the failures of an owner from a store, and returns how many there were. Those that wait on other hosts
// are not written any more, unless the store is full. With a user or a tenant it deletes damaged ones too: nobody knows
// whose they are.
func Forget(ctx context.Context, s store.Store, o Owner) (int, error) {
	n, err := forget(ctx, s, o)
	if err != nil {
		return n, fmt.Errorf("failures of plugins: delete those of tenant %.100q: %w", o.Tenant, err)
	}
	return n, nil
}

func forget(ctx context.Context, s store.Store, o Owner) (int, error) {
	noted := note(ctx, s, o) // first: a host that has read before does not write what it read
	if noted != nil && !errors.Is(noted, store.ErrFull) {
		return 0, noted
	}
	var name []byte // without which a record cannot be meant, so that most need not be decoded
	if of := cmp.Or(o.Conversation, o.Run); of != "" {
		name, _ = json.Marshal(of) // as records are written
	}
	var ids []string
	own := 0
	err := scan(ctx, s, key, 0, func(rec *store.Record) {
		if rec.Data != nil && !bytes.Contains(rec.Data, name) {
			return
		}
		f := decode(rec)
		if f == nil {
			return
		}
		mine := f.of(o)
		if mine {
			own++
		}
		if mine || f.Plugin == "" {
			ids = append(ids, f.key)
		}
	})
	if err != nil {
		return 0, err
	}
	if n, err := remove(ctx, s, ids); err != nil {
		return min(n, own), err
	}
	if noted != nil {
		_ = note(ctx, s, o) // there may be room now
	}
	return own, nil
}

// note notes that an owner was forgotten.
func note(ctx context.Context, s store.Store, o Owner) error {
	c := store.Change{Key: forgotten}
	old, err := s.Read(ctx, forgotten, 0, prunedTogether)
	for i := range old {
		if time.Since(old[i].Time) > heedTime+time.Hour {
			c.Delete = append(c.Delete, old[i].ID)
		}
	}
	if damaged, ok := errors.AsType[*store.CorruptError](err); ok {
		c.Delete, err = append(c.Delete, damaged.ID), nil
	}
	if err != nil {
		return err
	}
	data, err := json.Marshal(o.digest())
	if err != nil {
		return err
	}
	c.Put = []store.Record{{Data: data}}
	return s.Apply(ctx, c)
}

// digest stands for an owner in the store, which need not have the names of who was forgotten.
func (o Owner) digest() string { return digest(o.Tenant, o.User, o.Conversation, o.Run) }

// heed drops what waits of owners that were forgotten, and what has waited for too long to know. The caller has the turn.
func (l *Log) heed(ctx context.Context, s store.Store) error {
	newest := l.heeded
	if l.gone == nil {
		l.gone = map[string]time.Time{}
	}
	err := scan(ctx, s, forgotten, l.heeded, func(rec *store.Record) {
		var of string
		if newest = rec.Seq; json.Unmarshal(rec.Data, &of) == nil {
			l.gone[of] = rec.Time
		}
	})
	if err != nil {
		return fmt.Errorf("failures of plugins: read what was forgotten: %w", err)
	}
	if newest != l.heeded {
		l.heeded, l.read = newest, time.Time{} // what was read may be deleted
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.waiting.all() {
		late := time.Since(f.First) > heedTime
		if late {
			l.lost += f.Count
		}
		if late || f.goneBy(l.gone) {
			l.waiting.remove(f)
		}
	}
	maps.DeleteFunc(l.gone, func(_ string, at time.Time) bool { return time.Since(at) > lateTime }) // what fails from now on is younger
	return nil
}

// goneBy reports whether a failure is of an owner that was forgotten at a time, by its digest, and not younger.
func (f *Failure) goneBy(gone map[string]time.Time) bool {
	if len(gone) == 0 {
		return false
	}
	o := f.owner
	for _, of := range []Owner{{Tenant: o.Tenant}, {Tenant: o.Tenant, User: o.User}, {Tenant: o.Tenant, Conversation: o.Conversation}, {Tenant: o.Tenant, Run: o.Run}} {
		if at, ok := gone[of.digest()]; ok && f.First.Before(at.Add(lateTime)) {
			return true
		}
	}
	return false
}
