package builds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

// sweepEvery is how often records are looked at for their age and size.
const sweepEvery = time.Minute

// sweptTogether is the number of records that are deleted together.
const sweptTogether = 200

// marked is a summary as it is stored.
type marked struct {
	Summary
	// Marks are the marks of the items; see [markOf].
	Marks string `json:"item_marks,omitempty"`
}

// numbered is a summary with its number in the store.
type numbered struct {
	marked
	seq int64
}

// decodeSummary reads a summary from its record.
func decodeSummary(rec *store.Record) (numbered, error) {
	var n numbered
	if err := json.Unmarshal(rec.Data, &n.marked); err != nil {
		return n, fmt.Errorf("build %.100q: read its summary: %w: %w", rec.ID, store.ErrCorrupt, err)
	}
	n.ID, n.seq = rec.ID, rec.Seq
	return n, nil
}

// lastSummary returns the newest summary of a tenant, nil for none.
func lastSummary(ctx context.Context, s store.Store, tenant string) (*numbered, error) {
	recs, err := s.Last(ctx, store.Key{Tenant: tenant, Kind: KindSummary}, 1)
	if err != nil || len(recs) == 0 {
		return nil, err
	}
	n, err := decodeSummary(&recs[0])
	return &n, err
}

// Size returns the size of all records of a tenant, in bytes.
func Size(ctx context.Context, s store.Store, tenant string) (int64, error) {
	last, err := lastSummary(ctx, s, tenant)
	if err != nil || last == nil {
		return 0, err
	}
	recs, err := s.Read(ctx, store.Key{Tenant: tenant, Kind: KindSummary}, 0, 1)
	if err != nil || len(recs) == 0 {
		return 0, err
	}
	first, err := decodeSummary(&recs[0])
	return max(0, last.Until-first.Until+first.Bytes), err
}

// sweep deletes the records that are too old, and the oldest ones while all take too much room.
func (k *Keeper) sweep(ctx context.Context) {
	k.swept, k.fresh = k.now(), false
	s, err := k.open(ctx)
	if err == nil {
		var n int
		n, err = Sweep(ctx, s, *k.limits.Load(), k.now())
		k.stats.deleted.Add(int64(n))
	}
	if err != nil && ctx.Err() == nil {
		k.complain("old records of builds are not deleted", err)
	}
}

// Sweep deletes the records that are older than the limits allow, and then the oldest of the tenant
// with the largest records while all are larger than they allow. It returns how many it deleted.
func Sweep(ctx context.Context, s store.Store, l Limits, now time.Time) (deleted int, err error) {
	lister, ok := s.(store.Lister)
	if !ok {
		return 0, errors.New("the store cannot list its tenants")
	}
	names, err := lister.Tenants(ctx)
	if err != nil {
		return 0, err
	}
	sizes := map[string]int64{}
	var total int64
	for _, tenant := range names {
		n, err := deleteOldest(ctx, s, tenant, func(n *numbered) bool { return l.Keep > 0 && now.Sub(n.Time) > l.Keep })
		deleted += n
		if err != nil {
			return deleted, err
		}
		if sizes[tenant], err = Size(ctx, s, tenant); err != nil {
			return deleted, err
		}
		total += sizes[tenant]
	}
	for l.MaxSize > 0 && total > l.MaxSize {
		largest := ""
		for _, tenant := range names {
			if largest == "" || sizes[tenant] > sizes[largest] {
				largest = tenant
			}
		}
		// A part at a time, so that tenants of the same size lose as much.
		part := min(total-l.MaxSize, max(sizes[largest]/10, 1))
		n, err := deleteOldest(ctx, s, largest, func(n *numbered) bool { part -= n.Bytes; return part+n.Bytes > 0 })
		deleted += n
		if err != nil || n == 0 {
			return deleted, err
		}
		after, err := Size(ctx, s, largest)
		if err != nil {
			return deleted, err
		}
		total += after - sizes[largest]
		sizes[largest] = after
	}
	return deleted, nil
}

// deleteOldest deletes records of a tenant from the oldest on, while old says so.
func deleteOldest(ctx context.Context, s store.Store, tenant string, old func(*numbered) bool) (deleted int, err error) {
	for {
		recs, err := s.Read(ctx, store.Key{Tenant: tenant, Kind: KindSummary}, 0, sweptTogether)
		if err != nil {
			return deleted, err
		}
		var ids []string
		more := len(recs) == sweptTogether
		for i := range recs {
			n, err := decodeSummary(&recs[i])
			if err == nil && !old(&n) {
				more = false
				break
			}
			ids = append(ids, recs[i].ID)
		}
		if len(ids) > 0 {
			if err := remove(ctx, s, tenant, ids); err != nil {
				return deleted, err
			}
			deleted += len(ids)
		}
		if !more {
			return deleted, nil
		}
	}
}

// remove deletes records with their details.
func remove(ctx context.Context, s store.Store, tenant string, ids []string) error {
	return s.Apply(ctx, store.Change{Key: store.Key{Tenant: tenant, Kind: KindSummary}, Delete: ids}, store.Change{Key: store.Key{Tenant: tenant, Kind: KindDetail}, Delete: ids})
}
