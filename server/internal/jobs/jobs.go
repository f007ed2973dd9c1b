// Package jobs runs work in the background for the tenants of a service: bounded in number, until it ends, is
// cancelled or the service ends. What came of it is kept for some time.
package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/server/jobs"
)

// The states of a job.
const (
	Waiting   = jobs.Waiting
	Running   = jobs.Running
	Done      = jobs.Done
	Failed    = jobs.Failed
	Cancelled = jobs.Cancelled
)

// Limits bound the jobs of a [Set].
type Limits struct {
	// Running is how many run at the same time, and Own how many of them are of one tenant.
	Running, Own int
	// Waiting is how many of one tenant may wait for their turn.
	Waiting int
	// Kept is how many that have ended are kept, Own those of one tenant, and For how long.
	Kept, KeptOwn int
	For           time.Duration
	// Time bounds each job.
	Time time.Duration
	// Report is the largest report in bytes, and TooLarge the error if one is larger.
	Report   int
	TooLarge error
}

// Errors of [Set.Start].
var (
	ErrBusy   = errors.New("as many jobs run as may")
	ErrClosed = errors.New("the service ends")
)

// Doc is a job as clients see it.
type Doc = jobs.Doc

// Work does a job, and says how far it is. Its report is written as JSON.
type Work func(ctx context.Context, j *Job) (report any, err error)

// Job is one job.
type Job struct {
	tenant string
	ctx    context.Context
	cancel context.CancelFunc
	work   Work
	end    func()

	mu  sync.Mutex
	doc Doc
}

// Snapshot returns the document of the job.
func (j *Job) Snapshot(withReport bool) Doc {
	j.mu.Lock()
	defer j.mu.Unlock()
	doc := j.doc
	if !withReport {
		doc.Report = nil
	}
	return doc
}

// Progress says how far the job is.
func (j *Job) Progress(done, total int, bytes int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.doc.Done, j.doc.Total, j.doc.Bytes = done, total, bytes
}

// Cancel cancels the job. One that has ended stays as it is.
func (j *Job) Cancel() { j.cancel() }

func (j *Job) state() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.doc.State
}

// ended reports whether the job has ended, and when.
func (j *Job) ended() (time.Time, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.doc.Ended == nil {
		return time.Time{}, false
	}
	return *j.doc.Ended, true
}

// Set are the jobs of one kind. It is safe for concurrent use.
type Set struct {
	limits Limits
	ctx    context.Context
	stop   context.CancelFunc
	live   sync.WaitGroup

	mu    sync.Mutex
	list  []*Job         // oldest first
	turns map[string]int // the last turn of each tenant of the list
	turn  int
}

// New returns a set without jobs.
func New(l Limits) *Set {
	ctx, stop := context.WithCancel(context.Background())
	return &Set{limits: l, ctx: ctx, stop: stop, turns: map[string]int{}}
}

// Close cancels all jobs and waits for their end. None can be started from then on.
func (s *Set) Close() {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.live.Wait()
}

// Room returns [ErrBusy] if a tenant has as many jobs as it may, and [ErrClosed] after Close.
func (s *Set) Room(tenant string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.room(tenant)
}

func (s *Set) room(tenant string) error {
	running, own := s.count(tenant)
	switch {
	case s.ctx.Err() != nil:
		return ErrClosed
	case own >= s.limits.Own+s.limits.Waiting, s.limits.Waiting == 0 && running >= s.limits.Running:
		return ErrBusy
	}
	return nil
}

// count returns how many jobs run, and how many of a tenant have not ended.
func (s *Set) count(tenant string) (running, own int) {
	for _, j := range s.list {
		if _, ended := j.ended(); ended {
			continue
		}
		if j.tenant == tenant {
			own++
		}
		if j.state() == Running {
			running++
		}
	}
	return running, own
}

// Start starts a job, or lets it wait for its turn. doc has what does not change. end is called when it has
// ended, also if it never ran; it is not called if Start fails.
func (s *Set) Start(tenant string, doc Doc, work Work, end func()) (*Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.room(tenant); err != nil {
		return nil, err
	}
	s.forget(tenant)
	doc.ID, doc.State, doc.Started = rand.Text(), Waiting, time.Now().UTC()
	ctx, cancel := context.WithCancel(s.ctx)
	j := &Job{tenant: tenant, ctx: ctx, cancel: cancel, work: work, end: end, doc: doc}
	s.list = append(s.list, j)
	s.live.Add(1)
	context.AfterFunc(ctx, func() { // one that waits ends at once
		s.mu.Lock()
		waits := j.state() == Waiting
		if waits {
			j.finish(nil, context.Canceled, &s.limits)
		}
		s.mu.Unlock()
		if waits {
			s.gone(j)
		}
	})
	s.next()
	return j, nil
}

// next starts the jobs that may run: of the tenant that waits longest for a turn, its oldest. The caller
// holds mu.
func (s *Set) next() {
	for {
		var first *Job
		running, own := 0, map[string]int{}
		for _, j := range s.list {
			if j.state() == Running {
				running, own[j.tenant] = running+1, own[j.tenant]+1
			}
		}
		for _, j := range s.list {
			if j.state() == Waiting && own[j.tenant] < s.limits.Own && (first == nil || s.turns[j.tenant] < s.turns[first.tenant]) {
				first = j
			}
		}
		if first == nil || running >= s.limits.Running || s.ctx.Err() != nil {
			return
		}
		s.turn++
		s.turns[first.tenant] = s.turn
		first.mu.Lock()
		first.doc.State = Running
		first.mu.Unlock()
		go s.run(first)
	}
}

// run runs a job.
func (s *Set) run(j *Job) {
	ctx, stop := context.WithTimeout(j.ctx, s.limits.Time)
	defer stop()
	report, err := j.work(ctx, j)
	if err != nil && j.ctx.Err() != nil {
		err = context.Canceled
	}
	s.mu.Lock()
	j.finish(report, err, &s.limits)
	s.next()
	s.mu.Unlock()
	s.gone(j)
}

// gone ends what a job that has ended held.
func (s *Set) gone(j *Job) {
	defer s.live.Done()
	if j.end != nil {
		j.end()
	}
	j.cancel()
}

// finish notes how the job ended.
func (j *Job) finish(report any, err error, l *Limits) {
	var data []byte
	if err == nil {
		if data, err = json.Marshal(report); err == nil && len(data) > l.Report {
			err = l.TooLarge
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now().UTC()
	j.work, j.doc.Ended = nil, &now
	switch {
	case err == nil:
		j.doc.State, j.doc.Report = Done, data
	case errors.Is(err, context.Canceled):
		j.doc.State = Cancelled
	default:
		detail := failure.Public(err).Error
		j.doc.State, j.doc.Error = Failed, &detail
	}
}

// forget removes old jobs, those of the tenant that starts one first. The caller holds mu.
func (s *Set) forget(tenant string) {
	kept, own := 0, 0
	for i, j := range slices.Backward(s.list) {
		at, ended := j.ended()
		if !ended {
			continue
		}
		if kept++; j.tenant == tenant {
			own++
		}
		if kept >= s.limits.Kept || j.tenant == tenant && own >= s.limits.KeptOwn || time.Since(at) > s.limits.For {
			s.list = slices.Delete(s.list, i, i+1)
		}
	}
	for t := range s.turns {
		if !slices.ContainsFunc(s.list, func(j *Job) bool { return j.tenant == t }) {
			delete(s.turns, t)
		}
	}
}

// Find returns a job of a tenant, nil if it has no such job.
func (s *Set) Find(tenant, id string) *Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.list {
		if j.doc.ID == id && j.tenant == tenant {
			return j
		}
	}
	return nil
}

// List returns the jobs of a tenant without their reports, the newest first.
func (s *Set) List(tenant string) []Doc {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Doc{}
	for _, j := range s.list {
		if j.tenant == tenant {
			out = append(out, j.Snapshot(false))
		}
	}
	slices.SortStableFunc(out, func(a, b Doc) int { return cmp.Compare(b.Started.UnixNano(), a.Started.UnixNano()) })
	return out
}

// Len returns the number of jobs, also of those that have ended.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list)
}
