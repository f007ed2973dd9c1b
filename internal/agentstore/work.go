package agentstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// work is an intent or a plan of a run. Only the newest document of each kind changes.
type work interface{ frames.Intent | frames.Plan }

// Intents returns the intents of the run, oldest first.
func (r *Run) Intents(ctx context.Context) ([]frames.Intent, error) {
	return readWork[frames.Intent](ctx, r, KindIntent)
}

// Plans returns the plans of the run, oldest first.
func (r *Run) Plans(ctx context.Context) ([]frames.Plan, error) {
	return readWork[frames.Plan](ctx, r, KindPlan)
}

func readWork[T work](ctx context.Context, r *Run, kind string) ([]T, error) {
	recs, err := r.Store.Read(ctx, r.key(kind), 0, 0)
	if err != nil {
		return nil, fmt.Errorf("run %q: read %ss: %w", r.ID, kind, err)
	}
	list := make([]T, len(recs))
	for i, rec := range recs {
		if err := json.Unmarshal(rec.Data, &list[i]); err != nil {
			return nil, fmt.Errorf("run %q: stored %s %s: %w", r.ID, kind, rec.ID, err)
		}
	}
	return list, nil
}

// ChangeIntent calls change with the newest intent, which is nil if there is none, and stores the
// result. A result with the same id replaces the newest intent; another one is added after it. A
// nil result without an error changes nothing. If another process changed the intents in the
// meantime, change is called again.
func (r *Run) ChangeIntent(ctx context.Context, change func(newest *frames.Intent) (*frames.Intent, error)) (*frames.Intent, error) {
	return changeWork(ctx, r, KindIntent, func(in *frames.Intent) string { return in.ObjectID.String() }, change)
}

// ChangePlan is [Run.ChangeIntent] for plans.
func (r *Run) ChangePlan(ctx context.Context, change func(newest *frames.Plan) (*frames.Plan, error)) (*frames.Plan, error) {
	return changeWork(ctx, r, KindPlan, func(p *frames.Plan) string { return p.ObjectID.String() }, change)
}

// changes is the maximum number of attempts of a change while others change the same document. An
// attempt fails only if another change succeeded.
const changes = 100

func changeWork[T work](ctx context.Context, r *Run, kind string, idOf func(*T) string, change func(*T) (*T, error)) (*T, error) {
	for try := 1; ; try++ {
		changed, err := changeNewest(ctx, r, kind, idOf, change)
		if err == nil {
			return changed, nil
		}
		if !errors.Is(err, store.ErrConflict) || try == changes {
			return nil, fmt.Errorf("run %q: %w", r.ID, err)
		}
	}
}

func changeNewest[T work](ctx context.Context, r *Run, kind string, idOf func(*T) string, change func(*T) (*T, error)) (*T, error) {
	last, err := r.Store.Last(ctx, r.key(kind), 1)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kind, err)
	}
	var newest *T
	var seq int64
	if len(last) > 0 {
		newest, seq = new(T), last[0].Seq
		if err := json.Unmarshal(last[0].Data, newest); err != nil {
			return nil, fmt.Errorf("stored %s %s: %w", kind, last[0].ID, err)
		}
	}
	next, err := change(newest)
	if err != nil || next == nil {
		return nil, err
	}
	data, err := json.Marshal(next)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", kind, err)
	}
	put := store.Change{Key: r.key(kind), Put: []store.Record{{ID: idOf(next), Data: data}}, IfNewest: &seq}
	if len(last) > 0 && last[0].ID == idOf(next) {
		// It becomes a new record, so that its new number shows other processes that it has
		// changed.
		put.Delete = []string{last[0].ID}
	}
	if err := r.Store.Apply(ctx, put); err != nil {
		return nil, fmt.Errorf("store %s: %w", kind, err)
	}
	return next, nil
}

// AddSnapshot stores a snapshot and returns it with its number.
func (r *Run) AddSnapshot(ctx context.Context, s frames.Snapshot) (frames.Snapshot, error) {
	s.ID = 0
	data, err := json.Marshal(s)
	if err != nil {
		return s, fmt.Errorf("run %q: encode snapshot: %w", r.ID, err)
	}
	first, err := r.Store.Append(ctx, r.key(KindSnapshot), store.Record{Data: data, Time: s.CreatedAt})
	if err != nil {
		return s, fmt.Errorf("run %q: store snapshot: %w", r.ID, err)
	}
	s.ID = uint64(first)
	return s, nil
}

// Snapshots returns the snapshots of the run, oldest first.
func (r *Run) Snapshots(ctx context.Context) ([]frames.Snapshot, error) {
	recs, err := r.Store.Read(ctx, r.key(KindSnapshot), 0, 0)
	if err != nil {
		return nil, fmt.Errorf("run %q: read snapshots: %w", r.ID, err)
	}
	list := make([]frames.Snapshot, len(recs))
	for i, rec := range recs {
		if err := json.Unmarshal(rec.Data, &list[i]); err != nil {
			return nil, fmt.Errorf("run %q: stored snapshot %d: %w", r.ID, rec.Seq, err)
		}
		list[i].ID = uint64(rec.Seq)
	}
	return list, nil
}

func checkIntent(_ store.Key, rec *store.Record) error {
	var in frames.Intent
	if err := json.Unmarshal(rec.Data, &in); err != nil {
		return err
	}
	return checkOwnID(rec, in.ObjectID)
}

func checkPlan(_ store.Key, rec *store.Record) error {
	var p frames.Plan
	if err := json.Unmarshal(rec.Data, &p); err != nil {
		return err
	}
	return checkOwnID(rec, p.ObjectID)
}

// checkOwnID refuses a record whose id differs from that of its document.
func checkOwnID(rec *store.Record, id frames.UUID) error {
	if rec.ID != id.String() {
		return fmt.Errorf("id %.100q: %w (want %.100q, the object_id)", rec.ID, pipeline.ErrInvalid, id.String())
	}
	return nil
}

func checkSnapshot(_ store.Key, rec *store.Record) error {
	var s frames.Snapshot
	if err := json.Unmarshal(rec.Data, &s); err != nil {
		return err
	}
	if rec.ID != "" && !store.IsAutoID(rec.ID) {
		return fmt.Errorf("id %.100q: %w (want # and its number)", rec.ID, pipeline.ErrInvalid)
	}
	return nil
}
