package agentstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/store"
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
		if err := unmarshal(kind, rec.Data, &list[i]); err != nil {
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
	return changeWork(ctx, r, KindIntent, headerOfIntent, change)
}

// ChangePlan is [Run.ChangeIntent] for plans.
func (r *Run) ChangePlan(ctx context.Context, change func(newest *frames.Plan) (*frames.Plan, error)) (*frames.Plan, error) {
	return changeWork(ctx, r, KindPlan, headerOfPlan, change)
}

// AddPlan calls plan with the newest intent and the newest plan, which are nil if there are none.
// It stores the plan that plan returns, and names it in the intent, both or neither. If another
// process changed the intents or the plans in the meantime, plan is called again.
func (r *Run) AddPlan(ctx context.Context, plan func(in *frames.Intent, newest *frames.Plan) (*frames.Plan, error)) (added *frames.Plan, err error) {
	err = r.retry(func() error {
		in, err := readNewest(ctx, r, KindIntent, headerOfIntent)
		if err != nil {
			return err
		}
		before, err := readNewest(ctx, r, KindPlan, headerOfPlan)
		if err != nil {
			return err
		}
		if added, err = plan(in.document, before.document); err != nil {
			return err
		}
		put, err := before.replaceBy(added)
		if err != nil {
			return err
		}
		name := store.Change{Key: in.key, IfNewest: &in.seq}
		if in.document != nil {
			in.document.Plan = added.ObjectID
			if name, err = in.replaceBy(in.document); err != nil {
				return err
			}
		}
		if err := r.Store.Apply(ctx, put, name); err != nil {
			return fmt.Errorf("store plan: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return added, nil
}

func headerOfIntent(in *frames.Intent) *frames.Header { return &in.Header }

func headerOfPlan(p *frames.Plan) *frames.Header { return &p.Header }

// changes is the maximum number of attempts of a change while others change the same document. An
// attempt fails only if another change succeeded.
const changes = 100

// retry calls change until it no longer fails because others changed the same documents.
func (r *Run) retry(change func() error) error {
	for try := 1; ; try++ {
		err := change()
		if err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) || try == changes {
			return fmt.Errorf("run %q: %w", r.ID, err)
		}
	}
}

func changeWork[T work](ctx context.Context, r *Run, kind string, headerOf func(*T) *frames.Header, change func(*T) (*T, error)) (next *T, err error) {
	err = r.retry(func() error {
		now, err := readNewest(ctx, r, kind, headerOf)
		if err != nil {
			return err
		}
		if next, err = change(now.document); err != nil || next == nil {
			return err
		}
		put, err := now.replaceBy(next)
		if err != nil {
			return err
		}
		if err := r.Store.Apply(ctx, put); err != nil {
			return fmt.Errorf("store %s: %w", kind, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// newest is the newest document of a kind, as it is stored.
type newest[T work] struct {
	key      store.Key
	headerOf func(*T) *frames.Header
	document *T     // nil if there is none
	id       string // of its record
	seq      int64
}

func readNewest[T work](ctx context.Context, r *Run, kind string, headerOf func(*T) *frames.Header) (newest[T], error) {
	n := newest[T]{key: r.key(kind), headerOf: headerOf}
	last, err := r.Store.Last(ctx, n.key, 1)
	if err != nil {
		return n, fmt.Errorf("read %s: %w", kind, err)
	}
	if len(last) == 0 {
		return n, nil
	}
	n.document, n.id, n.seq = new(T), last[0].ID, last[0].Seq
	if err := unmarshal(kind, last[0].Data, n.document); err != nil {
		return n, fmt.Errorf("stored %s %s: %w", kind, last[0].ID, err)
	}
	return n, nil
}

// replaceBy returns the change that stores next in place of the newest document if it has the same
// id, and after it otherwise.
func (n *newest[T]) replaceBy(next *T) (store.Change, error) {
	header := n.headerOf(next)
	id := header.ObjectID.String()
	put := store.Change{Key: n.key, IfNewest: &n.seq}
	if id == n.id {
		// It becomes a new record, so that its new number shows other processes that it has
		// changed.
		put.Delete = []string{id}
		header.UpdatedAt, header.Checksum = time.Now().UTC(), ""
	}
	data, err := json.Marshal(next)
	if err != nil {
		return put, fmt.Errorf("encode %s: %w", n.key.Kind, err)
	}
	put.Put = []store.Record{{ID: id, Data: data}}
	return put, nil
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
	if err := BoundIntent(&in); err != nil {
		return err
	}
	return checkOwnID(rec, in.ObjectID)
}

func checkPlan(_ store.Key, rec *store.Record) error {
	var p frames.Plan
	if err := unmarshal(KindPlan, rec.Data, &p); err != nil {
		return err
	}
	if err := BoundPlan(&p); err != nil {
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
