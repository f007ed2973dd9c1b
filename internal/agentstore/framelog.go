package agentstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/store"
)

// FrameLog is a [frames.Log] in a store. It has one record per frame, and the id of the record is
// the number of the frame. The sequence number of a record is at least the number of its frame
// plus one, and exactly that if no record was ever deleted. A read from a frame on can therefore
// start at its number.
type FrameLog struct {
	store store.Store
	key   store.Key

	mu   sync.Mutex
	tail tail // the end of the log after the last append of this FrameLog
}

// tail is the known end of a log.
type tail struct {
	next uint64 // the number of the next frame
	seq  int64  // the last used sequence number, 0 if it is not known
}

var _ frames.Log = (*FrameLog)(nil)

// NewFrameLog returns the log of a run of a tenant.
func NewFrameLog(s store.Store, tenant, run string) *FrameLog {
	return &FrameLog{store: s, key: store.Key{Tenant: tenant, Kind: KindFrame, Stream: run}}
}

// Append implements [frames.Log]. It fails with [frames.ErrOrder] if another process has appended
// frames in the meantime.
func (l *FrameLog) Append(ctx context.Context, records []frames.Record) error {
	if len(records) == 0 {
		return nil
	}
	recs := make([]store.Record, len(records))
	gaps := false
	for i := range records {
		r := &records[i]
		if i > 0 && r.ID <= records[i-1].ID {
			return fmt.Errorf("log: frame %d after %d: %w", r.ID, records[i-1].ID, frames.ErrOrder)
		}
		data, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("log: encode frame %d: %w", r.ID, err)
		}
		if r.ID >= store.MaxSeq {
			return fmt.Errorf("log: frame %d: %w (want less than %d)", r.ID, pipeline.ErrInvalid, int64(store.MaxSeq))
		}
		recs[i] = store.Record{Seq: int64(r.ID) + 1, ID: frameID(r.ID), Data: data, Time: r.CreatedAt}
		gaps = gaps || r.ID != records[0].ID+uint64(i)
	}
	end := l.remembered()
	if end.seq == 0 || records[0].ID != end.next || gaps {
		var err error
		if end, err = l.end(ctx); err != nil {
			return err
		}
	}
	switch {
	case records[0].ID < end.next:
		return l.disorder(records[0].ID, nil)
	case records[0].ID > end.next || gaps:
		// These are the frames of a document: its window, which has gaps because frames were
		// evicted.
		l.remember(tail{})
		return l.store.Apply(ctx, store.Change{Key: l.key, Put: recs, KeepSeq: true})
	}
	return l.extend(ctx, end, recs)
}

// extend appends the frames that follow the known end. If other processes have appended since,
// the id of the first frame exists already, or its sequence number is not the expected one.
func (l *FrameLog) extend(ctx context.Context, end tail, recs []store.Record) error {
	first, err := l.store.Append(ctx, l.key, recs...)
	if err == nil && (end.seq == 0 || first == end.seq+1) {
		n := len(recs)
		l.remember(tail{next: end.next + uint64(n), seq: first + int64(n) - 1})
		return nil
	}
	l.remember(tail{})
	switch {
	case errors.Is(err, store.ErrExists):
		return l.disorder(end.next, err)
	case err != nil:
		return err
	}
	return l.disorder(end.next, l.withdraw(ctx, recs))
}

// withdraw deletes frames that were appended after frames with greater numbers.
func (l *FrameLog) withdraw(ctx context.Context, recs []store.Record) error {
	ids := make([]string, len(recs))
	for i := range recs {
		ids[i] = recs[i].ID
	}
	_, err := l.store.Delete(context.WithoutCancel(ctx), l.key, ids...)
	return err
}

func (l *FrameLog) remembered() tail {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail
}

func (l *FrameLog) remember(t tail) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = t
}

func (l *FrameLog) disorder(id uint64, cause error) error {
	err := fmt.Errorf("log: frame %d exists already: %w (another writer has added frames to the run %q: try again)", id, frames.ErrOrder, l.key.Stream)
	if cause != nil {
		return errors.Join(err, cause)
	}
	return err
}

// end reads where the log ends.
func (l *FrameLog) end(ctx context.Context) (tail, error) {
	last, err := l.store.Last(ctx, l.key, 1)
	if err != nil || len(last) == 0 {
		return tail{}, err
	}
	id, err := strconv.ParseUint(last[0].ID, 10, 63)
	if err != nil {
		return tail{}, fmt.Errorf("log: record %q: %w (want the number of a frame)", last[0].ID, store.ErrCorrupt)
	}
	return tail{next: id + 1}, nil // later records may have been deleted, so the next seq is unknown
}

// Read implements [frames.Log].
func (l *FrameLog) Read(ctx context.Context, from uint64, limit int) ([]frames.Record, error) {
	if limit < 0 {
		return nil, fmt.Errorf("log: limit %d: %w (want 0 or more)", limit, pipeline.ErrInvalid)
	}
	var out []frames.Record
	after := int64(min(from, math.MaxInt64))
	for limit == 0 || len(out) < limit {
		want := limit
		if limit > 0 {
			want -= len(out)
		}
		recs, err := l.store.Read(ctx, l.key, after, want)
		if err != nil {
			return nil, err
		}
		for _, rec := range recs {
			var r frames.Record
			if err := unmarshal(KindFrame, rec.Data, &r); err != nil {
				return nil, fmt.Errorf("log: frame %s: %w", rec.ID, err)
			}
			if after = rec.Seq; r.ID >= from {
				out = append(out, r)
			}
		}
		if limit == 0 || len(recs) < want {
			break
		}
	}
	return out, nil
}

func frameID(id uint64) string { return strconv.FormatUint(id, 10) }
