package sqlindex

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/segment"
)

// Segments of about the same size are merged when there are eight, so that each byte of a
// collection is rewritten a few times only, and a search looks into some dozens of segments.
const (
	mergeCount = 8
	// tierBytes is the size of the smallest segments.
	tierBytes = 64 << 10
	// tierBits is the logarithm of mergeCount.
	tierBits = 3
	// maxMerged bounds the size of a merged segment, and so the time that other writers
	// wait for it, and the memory for it, which is five times as much.
	maxMerged = 32 << 20
	// maxDead is the share of dead documents, one in so many, at which segments are
	// rewritten.
	maxDead = 3
)

// maintain merges segments if there are many, and rewrites those of which much is dead. What
// fails here changes nothing, and the next write tries again; a segment that is corrupt makes
// searches fail with the remedy.
func (x *Index) maintain(ctx context.Context, col retrieve.Collection) {
	if !x.state.merging.TryLock() {
		return // another write is at it
	}
	defer x.state.merging.Unlock()
	for x.mergeOnce(ctx, col, false) == nil {
	}
}

// errNothing means that there is nothing to merge.
var errNothing = errors.New("nothing to merge")

// Compact implements [retrieve.Index].
func (x *Index) Compact(ctx context.Context, col retrieve.Collection) error {
	x.state.merging.Lock()
	defer x.state.merging.Unlock()
	for {
		err := x.mergeOnce(ctx, col, true)
		switch {
		case err == nil, errors.Is(err, errChanged): // another process was faster: look again
		case errors.Is(err, errNothing):
			return nil
		default:
			return x.fail(err, col, "compact")
		}
	}
}

// mergeOnce merges some segments of a collection, or returns errNothing. all means to rewrite
// every segment that has dead documents.
func (x *Index) mergeOnce(ctx context.Context, col retrieve.Collection, all bool) error {
	var c collection
	var merged merge
	err := x.peeking(ctx, col, func(conn *conn, found collection) error {
		c = found
		list, err := conn.segments(c.id)
		if err != nil {
			return err
		}
		dead, err := conn.dead(c.id)
		if err != nil {
			return err
		}
		if chosen := chooseTier(list); chosen != nil {
			return merged.run(conn, c.id, chosen, dead)
		}
		return merged.rewrite(conn, c.id, list, dead, all)
	})
	if err != nil {
		return err
	}
	return x.writing(ctx, col.Tenant, len(merged.data)+len(merged.vectors), func(t *tx) error { return t.writeMerged(col, c, &merged) })
}

// chooseTier returns segments to merge, nil if there are not many.
func chooseTier(list []storedSegment) []int64 {
	tiers := make(map[int][]storedSegment)
	for _, s := range list {
		tier := (bits.Len64(uint64(s.size/tierBytes)) + tierBits - 1) / tierBits
		tiers[tier] = append(tiers[tier], s)
	}
	for tier := range 16 {
		if len(tiers[tier]) < mergeCount {
			continue
		}
		var chosen []int64
		size := int64(0)
		slices.SortStableFunc(tiers[tier], func(a, b storedSegment) int { return cmp.Compare(a.size, b.size) })
		for _, s := range tiers[tier] {
			if size += s.size; size > maxMerged {
				break
			}
			chosen = append(chosen, s.id)
		}
		if len(chosen) >= mergeCount/2 {
			return chosen
		}
	}
	return nil
}

// merge is a segment that takes the place of others.
type merge struct {
	old           []int64 // the segments
	gone          []int64 // dead documents that no segment has any more
	documents     int
	data, vectors []byte
}

// run merges the chosen segments.
func (m *merge) run(c *conn, collection int64, chosen, dead []int64) error {
	parts := make([]*segment.Part, len(chosen))
	for i, id := range chosen {
		s, err := c.segment(id, collection)
		if err != nil {
			return err
		}
		parts[i] = segment.NewPart(s, dead)
		m.documents += s.Documents() - parts[i].Dead()
		for _, num := range s.Numbers() {
			if _, gone := slices.BinarySearch(dead, num); gone {
				m.gone = append(m.gone, num)
			}
		}
	}
	m.old = chosen
	var err error
	m.data, m.vectors, err = segment.Merge(parts)
	return err
}

// rewrite rewrites the first segment that has dead documents, if there are many or all is
// set.
func (m *merge) rewrite(c *conn, collection int64, list []storedSegment, dead []int64, all bool) error {
	total := 0
	for _, s := range list {
		total += s.documents
	}
	if len(dead) == 0 || !all && len(dead)*maxDead < total {
		return errNothing
	}
	for _, stored := range list {
		s, err := c.segment(stored.id, collection)
		if err != nil {
			return err
		}
		if segment.NewPart(s, dead).Dead() > 0 {
			return m.run(c, collection, []int64{stored.id}, dead)
		}
	}
	m.gone = dead // no segment has them
	return nil
}

// writeMerged puts a merged segment into its place. Documents that died meanwhile are in it,
// and are still on the list of the dead.
func (t *tx) writeMerged(col retrieve.Collection, c collection, m *merge) error {
	now, err := t.conn.collection(col)
	if err != nil {
		return err
	}
	if now.id != c.id {
		return errChanged
	}
	for _, id := range m.old {
		if _, there, err := t.conn.number("SELECT id FROM segments WHERE id = ?", id); err != nil {
			return err
		} else if !there {
			return errChanged // another process has merged it
		}
	}
	if err := t.conn.replaceSegments(c.id, m.old, m.documents, m.data, m.vectors); err != nil {
		return err
	}
	for _, num := range m.gone {
		if err := t.conn.Exec(deleteDead, c.id, num); err != nil {
			return err
		}
	}
	return t.touch(now)
}
