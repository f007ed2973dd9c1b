package jobs

import (
	"context"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/server/jobs"
)

// Queue shows a set of ingestions as a queue, which takes no jobs. Kept are older ones, which others have submitted and
// work on; it may be nil.
type Queue struct {
	Set  *Set
	Kept jobs.Queue
}

// Submit implements [jobs.Queue].
func (Queue) Submit(context.Context, jobs.Submission) (doc Doc, added bool, err error) {
	return doc, false, fmt.Errorf("%w: the service runs no such jobs (the operator has to set server.jobs.workers)", jobs.ErrInvalid)
}

// List implements [jobs.Queue].
func (q Queue) List(ctx context.Context, f jobs.Filter) ([]Doc, error) {
	list := q.Set.List(f.Tenant)
	if f.Kinds != nil && !slices.Contains(f.Kinds, jobs.Ingest) {
		list = []Doc{}
	}
	from := slices.IndexFunc(list, func(d Doc) bool { return d.ID == f.Before }) + 1
	if f.Before != "" && from == 0 && q.Kept != nil {
		return q.Kept.List(ctx, f)
	}
	list = list[from:min(from+f.Limit, len(list))]
	if q.Kept == nil || len(list) == f.Limit {
		return list, nil
	}
	f.Before, f.Limit = "", f.Limit-len(list)
	older, err := q.Kept.List(ctx, f)
	return append(list, older...), err
}

// find returns a job of the set, or the queue that may have it.
func (q Queue) find(tenant, id string) (*Job, jobs.Queue, error) {
	j := q.Set.Find(tenant, id)
	if j == nil && q.Kept == nil {
		return nil, nil, jobs.ErrNotFound
	}
	return j, q.Kept, nil
}

// Get implements [jobs.Queue].
func (q Queue) Get(ctx context.Context, tenant, id string) (doc Doc, err error) {
	j, kept, err := q.find(tenant, id)
	switch {
	case err != nil:
		return doc, err
	case j == nil:
		return kept.Get(ctx, tenant, id)
	}
	return j.Snapshot(true), nil
}

// Cancel implements [jobs.Queue].
func (q Queue) Cancel(ctx context.Context, tenant, id string) (doc Doc, err error) {
	j, kept, err := q.find(tenant, id)
	switch {
	case err != nil:
		return doc, err
	case j == nil:
		return kept.Cancel(ctx, tenant, id)
	}
	j.Cancel()
	return j.Snapshot(false), nil
}

// Log implements [jobs.Queue]. The report of an ingestion has what others log.
func (q Queue) Log(ctx context.Context, tenant, id string) ([]byte, error) {
	j, kept, err := q.find(tenant, id)
	if err != nil || j != nil {
		return nil, err
	}
	return kept.Log(ctx, tenant, id)
}

// Results implements [jobs.Queue]. An ingestion has none.
func (q Queue) Results(ctx context.Context, tenant, id string, from, limit int, each func(int, []byte) error) error {
	j, kept, err := q.find(tenant, id)
	if err != nil || j != nil {
		return err
	}
	return kept.Results(ctx, tenant, id, from, limit, each)
}
