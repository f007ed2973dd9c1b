package failures

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	// prunedTogether is how many records of what was forgotten go with each new one, and notedTogether of how many owners
	// one is.
	prunedTogether, notedTogether = 8, 10_000
)

// Forget deletes the failures of owners from a store, and returns how many there were. Those that wait on other hosts
// are not written any more, unless the store is full. It deletes damaged ones too: nobody knows whose they are. Many
// owners at once cost one reading of the failures.
func Forget(ctx context.Context, s store.Store, owners ...Owner) (int, error) {
	if len(owners) == 0 {
		return 0, nil
	}
	n, err := forget(ctx, s, owners)
	if err != nil {
		return n, fmt.Errorf("failures of plugins: delete those of tenant %.100q: %w", owners[0].Tenant, err)
	}
	return n, nil
}

func forget(ctx context.Context, s store.Store, owners []Owner) (int, error) {
	noted := note(ctx, s, owners) // first: a host that has read before does not write what it read
	if noted != nil && !errors.Is(noted, store.ErrFull) {
		return 0, noted
	}
	gone := map[Owner]bool{}
	for _, o := range owners {
		gone[o] = true
	}
	var ids []string
	own := 0
	err := scan(ctx, s, key, 0, func(rec *store.Record) {
		f := decode(rec)
		if f == nil {
			return
		}
		mine := slices.ContainsFunc(f.owners(), func(o Owner) bool { return gone[o] })
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
		_ = note(ctx, s, owners) // there may be room now
	}
	return own, nil
}

// note notes that owners were forgotten.
func note(ctx context.Context, s store.Store, owners []Owner) error {
	for some := range slices.Chunk(owners, notedTogether) {
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
		digests := make([]string, len(some))
		for i, o := range some {
			digests[i] = o.digest()
		}
		data, err := json.Marshal(digests)
		if err != nil {
			return err
		}
		c.Put = []store.Record{{Data: data}}
		if err := s.Apply(ctx, c); err != nil {
			return err
		}
	}
	return nil
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
		var digests []string
		if newest = rec.Seq; json.Unmarshal(rec.Data, &digests) == nil {
			for _, of := range digests {
				l.gone[of] = rec.Time
			}
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
	for _, o := range f.owners() {
		if at, ok := gone[o.digest()]; ok && f.First.Before(at.Add(lateTime)) {
			return true
		}
	}
	return false
}

// owners are those with whom a failure goes.
func (f *Failure) owners() []Owner {
	t := f.Tenant
	return []Owner{{Tenant: t}, {Tenant: t, User: f.owner.User}, {Tenant: t, Conversation: f.owner.Conversation}, {Tenant: t, Run: f.owner.Run}}
}
