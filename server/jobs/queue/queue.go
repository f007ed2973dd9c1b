// Package queue keeps jobs in a database and runs them, with River: in a file of SQLite for one host, or in Postgres
// for many. River claims jobs, repeats those that fail and gives back those of workers that are gone; this package
// adds who owns a job, how many of a tenant wait and run, and what a job has kept.
package queue

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/internal/storeurl"
	"github.com/anchor-host/anchor-host/pipeline/postgres"
	"github.com/anchor-host/anchor-host/server/jobs"
)

const (
	// attempts bounds how often a job is begun, and retention how long one that has ended is kept.
	attempts, retention = 5, 7 * 24 * time.Hour
	// maxTime bounds one attempt.
	maxTime = 6 * time.Hour
	// rescueAfter is how long a worker may give no sign of life before its jobs go back.
	rescueAfter = 2 * time.Minute
	// poll is how often a host looks for jobs that others have submitted, and cooldown the least time between two
	// looks while there are jobs.
	poll, cooldown = time.Second, 2 * time.Millisecond
	// piece is the size of the pieces of a file, in bytes.
	piece = 1 << 20
	// maxEnded bounds the jobs of a tenant that have ended.
	maxEnded = 1000
)

// Options are those of a [Queue]. The zero value of a field means its default.
type Options struct {
	// Database is the path of a file for SQLite, or an address that begins with postgres://.
	Database string
	// Workers is how many jobs this host runs at the same time. 0: none; it only submits.
	Workers int
	// Running is how many jobs of one tenant run at the same time, on all hosts. Default: half of Workers, at least 1.
	Running int
	// Waiting is how many jobs of one tenant may wait or run. Default: 100.
	Waiting int
	// Do does a job. It is required if there are workers.
	Do func(context.Context, *jobs.Run) (report any, err error)
	// Existing opens only a database that has jobs. If there are none, Open returns [jobs.ErrNotFound].
	Existing bool
	// Logger receives log lines. nil discards them.
	Logger *slog.Logger

	rescueAfter time.Duration // for tests
	retryAfter  time.Duration
}

// Queue implements [jobs.Queue]. It is safe for concurrent use.
type Queue struct {
	o    Options
	base base
	log  *slog.Logger

	started atomic.Bool
	mu      sync.Mutex
	running map[int64]*attempt
}

// Open opens the database, and brings its tables up to date. [Queue.Close] must be called.
func Open(ctx context.Context, o Options) (_ *Queue, err error) {
	o.Running = cmp.Or(o.Running, max(1, o.Workers/2))
	o.Waiting = cmp.Or(o.Waiting, 100)
	o.rescueAfter = cmp.Or(o.rescueAfter, rescueAfter)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	q := &Queue{o: o, log: o.Logger, running: map[int64]*attempt{}}
	name, remedy := "jobs", ""
	if storeurl.Is(o.Database) {
		q.base, err = openPostgres(ctx, o.Database, o.Existing)
	} else { // an address is not named, as it may have a password
		name, remedy = "jobs: "+o.Database, " (if it is damaged, move it away: the jobs in it are then gone)"
		q.base, err = openLite(o.Database, o.Existing)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: open the database: %w", name, postgres.Explain(err))
	}
	if err := q.base.migrate(ctx); err != nil {
		q.base.close()
		return nil, fmt.Errorf("%s: make the tables: %w%s", name, postgres.Explain(err), remedy)
	}
	if err := q.base.connect(q.config()); err != nil {
		q.base.close()
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return q, nil
}

// config are the settings of River.
func (q *Queue) config() *river.Config {
	workers := river.NewWorkers()
	for _, kind := range jobs.Kinds {
		river.AddWorkerArgs(workers, args{Type: kind}, &worker{q: q})
	}
	c := &river.Config{
		Workers: workers, Logger: slog.New(quiet{q.log.Handler()}), MaxAttempts: attempts, RetryPolicy: retries{q.o.retryAfter},
		JobTimeout: min(time.Minute, q.o.rescueAfter), JobStuckThreshold: maxTime, // a worker has its own bound; see worker.Work
		RescueStuckJobsAfter: q.o.rescueAfter, PollOnly: true, FetchOnlyKnownKinds: true, FetchCooldown: cooldown, FetchPollInterval: poll,
		CompletedJobRetentionPeriod: retention, CancelledJobRetentionPeriod: retention, DiscardedJobRetentionPeriod: retention,
	}
	if q.o.Workers > 0 {
		c.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: q.o.Workers}}
	}
	return c
}

// quiet is a handler of log lines that says what River has to say from warnings on.
type quiet struct{ slog.Handler }

func (h quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

// Start runs jobs until Close. Without workers it does nothing.
func (q *Queue) Start(ctx context.Context) error {
	if q.o.Workers <= 0 {
		return nil
	}
	if err := q.base.start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("jobs: start the workers: %w", postgres.Explain(err))
	}
	q.started.Store(true)
	return nil
}

// Close ends the jobs that run, which go back to the queue, and closes the database. ctx bounds how long it waits.
func (q *Queue) Close(ctx context.Context) (err error) {
	if q.started.Load() {
		if err = q.base.stop(ctx); err != nil {
			err = fmt.Errorf("jobs: end the workers: %w", err)
		}
	}
	q.base.close()
	return err
}

// args are what River keeps of a job. All of it says whether two jobs are the same.
type args struct {
	Type   string          `json:"type"`
	Tenant string          `json:"tenant"`
	Task   json.RawMessage `json:"task"`
	// Files is the digest of the files.
	Files string `json:"files"`
}

func (a args) Kind() string { return "anchor_" + a.Type }

// input is a file of a job, as its row has it.
type input struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// digest reads the files once, to say which they are.
func digest(files []jobs.File) (list []input, sum string, size int64, err error) {
	h := sha256.New()
	list = []input{}
	for _, f := range files {
		fmt.Fprintf(h, "%d %q %d\n", len(list), f.Name, f.Content.Size())
		if _, err := f.Content.Seek(0, io.SeekStart); err != nil {
			return nil, "", 0, fmt.Errorf("jobs: read a file: %w", err)
		}
		if _, err := io.Copy(h, f.Content); err != nil {
			return nil, "", 0, fmt.Errorf("jobs: read a file: %w", err)
		}
		list, size = append(list, input{f.Name, f.Content.Size()}), size+f.Content.Size()
	}
	return list, hex.EncodeToString(h.Sum(nil)), size, nil
}

// live are the states of River in which a job has not ended.
var live = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

// Submit implements [jobs.Queue].
func (q *Queue) Submit(ctx context.Context, s jobs.Submission) (doc jobs.Doc, added bool, err error) {
	if err := s.Check(); err != nil {
		return doc, false, err
	}
	files, sum, size, err := digest(s.Files)
	if err != nil {
		return doc, false, err
	}
	task, err := json.Marshal(s.Task)
	if err != nil {
		return doc, false, fmt.Errorf("jobs: write a job: %w", err)
	}
	names, err := json.Marshal(files)
	if err != nil {
		return doc, false, fmt.Errorf("jobs: write a job: %w", err)
	}
	var id int64
	err = q.base.within(ctx, func(t transaction) error {
		full := q.room(ctx, t, s.Tenant, size)
		if full != nil && !errors.Is(full, jobs.ErrBusy) && !errors.Is(full, jobs.ErrRoom) {
			return full
		}
		r, err := t.insert(ctx, args{s.Kind, s.Tenant, task, sum}, &river.InsertOpts{
			Priority: s.Priority, UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: live},
		})
		if err != nil {
			return err
		}
		id, added = r.Job.ID, !r.UniqueSkippedAsDuplicate
		if !added {
			return nil
		}
		if full != nil {
			return full // the transaction takes the job back
		}
		if _, err := t.exec(ctx, "INSERT INTO {s}anchor_job (id, tenant, owner, kind, task, files, input) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
			id, s.Tenant, s.Key, s.Kind, string(task), string(names), size); err != nil {
			return err
		}
		return store(ctx, t, id, s.Files)
	})
	if err != nil {
		return doc, false, fmt.Errorf("jobs: submit: %w", err)
	}
	if doc, err = q.Get(ctx, s.Tenant, strconv.FormatInt(id, 10)); err != nil && added { // it is accepted, also if it cannot be read now
		r := row{id: id, tenant: s.Tenant, owner: s.Key, task: string(task), priority: int64(s.Priority), maxAttempts: attempts, created: time.Now()}
		doc, err = r.doc()
	}
	return doc, added, err
}

// lock makes other transactions of the tenant wait for the end of this one.
func (q *Queue) lock(ctx context.Context, t transaction, tenant string) error {
	if !storeurl.Is(q.o.Database) {
		return nil // a transaction of SQLite has the file for itself
	}
	_, err := t.exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('anchor jobs ' || ?1, 0))", tenant)
	return err
}

// room returns why the tenant can have no more jobs, and removes old ones that are in the way.
func (q *Queue) room(ctx context.Context, t transaction, tenant string, size int64) error {
	if err := q.lock(ctx, t, tenant); err != nil {
		return err
	}
	var waiting, bytes int64
	err := t.query(ctx, "SELECT count(*), CAST(coalesce(sum(a.input + a.kept + a.logged), 0) AS BIGINT) FROM {s}anchor_job a JOIN {s}river_job j ON j.id = a.id WHERE a.tenant = ?1 AND j.finalized_at IS NULL",
		func(scan scanner) error { return scan(&waiting, &bytes) }, tenant)
	switch {
	case err != nil:
		return err
	case waiting >= int64(q.o.Waiting):
		return jobs.ErrBusy
	case bytes+size > jobs.MaxKept:
		return jobs.ErrRoom
	}
	_, err = t.exec(ctx, `DELETE FROM {s}river_job WHERE id IN (SELECT id FROM (
		SELECT a.id AS id, row_number() OVER (ORDER BY a.id DESC) AS n, sum(a.input + a.kept + a.logged) OVER (ORDER BY a.id DESC) AS bytes
		FROM {s}anchor_job a JOIN {s}river_job j ON j.id = a.id WHERE a.tenant = ?1 AND j.finalized_at IS NOT NULL) AS old
		WHERE n > ?2 OR bytes > ?3)`, tenant, maxEnded, jobs.MaxKept)
	return err
}

// store keeps the files of a job in pieces.
func store(ctx context.Context, t transaction, id int64, files []jobs.File) error {
	buffer := make([]byte, piece)
	for i, f := range files {
		if _, err := f.Content.Seek(0, io.SeekStart); err != nil {
			return err
		}
		for n := 0; ; n++ {
			got, err := io.ReadFull(f.Content, buffer)
			if got > 0 {
				if _, err := t.exec(ctx, "INSERT INTO {s}anchor_job_part (job, stream, item, piece, data) VALUES (?1, 'f', ?2, ?3, ?4)", id, i, n, buffer[:got]); err != nil {
					return err
				}
			}
			if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// columns are those of a job. The report is only read for one.
const columns = `a.id, a.tenant, a.owner, a.task, a.started, a.done, a.total, a.note, a.results, a.failed, a.problem,
	CAST(j.state AS TEXT), j.priority, j.attempt, j.max_attempts, j.created_at, j.finalized_at`

// row is a job as the database has it.
type row struct {
	id, started, results, failed   int64
	done, total                    int64
	tenant, owner, task, note      string
	problem, state                 string
	priority, attempt, maxAttempts int64
	created                        time.Time
	finalized                      *time.Time
	report                         []byte
}

func (r *row) scan(scan scanner, more ...any) error {
	return scan(append([]any{
		&r.id, &r.tenant, &r.owner, &r.task, &r.started, &r.done, &r.total, &r.note, &r.results, &r.failed, &r.problem,
		&r.state, &r.priority, &r.attempt, &r.maxAttempts, &r.created, &r.finalized,
	}, more...)...)
}

// states are those of River in the words of the API. A job that was refused for good is cancelled for River.
var states = map[string]string{
	"available": jobs.Waiting, "pending": jobs.Waiting, "scheduled": jobs.Waiting, "retryable": jobs.Waiting,
	"running": jobs.Running, "completed": jobs.Done, "cancelled": jobs.Cancelled, "discarded": jobs.Failed,
}

func (r *row) doc() (doc jobs.Doc, err error) {
	var t jobs.Task
	if err := json.Unmarshal([]byte(r.task), &t); err != nil {
		return doc, fmt.Errorf("jobs: job %d is damaged: %w", r.id, err)
	}
	created := r.created.UTC()
	doc = jobs.Doc{
		ID: strconv.FormatInt(r.id, 10), Kind: t.Kind, State: cmp.Or(states[r.state], jobs.Waiting), Done: int(r.done), Total: int(r.total), Text: r.note,
		Collection: t.Collection, Folder: t.Folder, Pipeline: t.Pipeline, Priority: int(r.priority), Attempt: int(r.attempt), MaxAttempts: int(r.maxAttempts),
		Submitted: &created, Started: created, Results: int(r.results), Report: r.report, Tenant: r.tenant, Key: r.owner,
	}
	if r.started > 0 {
		doc.Started = time.UnixMilli(r.started).UTC()
	}
	if r.finalized != nil {
		ended := r.finalized.UTC()
		doc.Ended = &ended
	}
	if r.failed > 0 && doc.State == jobs.Cancelled {
		doc.State = jobs.Failed
	}
	if r.problem != "" && doc.State != jobs.Done && doc.State != jobs.Cancelled {
		if err := json.Unmarshal([]byte(r.problem), &doc.Error); err != nil {
			return doc, fmt.Errorf("jobs: job %d is damaged: %w", r.id, err)
		}
	}
	if doc.State == jobs.Failed && doc.Error == nil {
		doc.Error = &failure.Detail{Message: "the workers of the job were gone each time it was begun", Reason: "failure"}
	}
	return doc, nil
}

// number returns the number of a job, 0 if there is no such one.
func number(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != id {
		return 0
	}
	return n
}

// List implements [jobs.Queue].
func (q *Queue) List(ctx context.Context, f jobs.Filter) ([]jobs.Doc, error) {
	before := int64(math.MaxInt64)
	if f.Before != "" {
		if before = number(f.Before); before == 0 {
			return nil, fmt.Errorf("%w: %.100q is no id (want that of the last job of a list)", jobs.ErrInvalid, f.Before)
		}
	}
	if f.Kinds == nil {
		f.Kinds = jobs.Kinds
	}
	list := []jobs.Doc{}
	err := q.base.query(ctx, "SELECT "+columns+" FROM {s}anchor_job a JOIN {s}river_job j ON j.id = a.id WHERE a.tenant = ?1 AND a.id < ?2 AND ?3 LIKE '%' || a.kind || '%' ORDER BY a.id DESC LIMIT ?4",
		func(scan scanner) error {
			var r row
			if err := r.scan(scan); err != nil {
				return err
			}
			doc, err := r.doc()
			list = append(list, q.fresh(doc))
			return err
		}, f.Tenant, before, strings.Join(f.Kinds, " "), min(max(f.Limit, 1), jobs.MaxList))
	if err == nil {
		err = q.sayWhoWaits(ctx, list)
	}
	if err != nil {
		return nil, fmt.Errorf("jobs: list: %w", err)
	}
	return list, nil
}

// sayWhoWaits gives jobs that wait a text if no worker runs. River says so: the first of its clients that run jobs
// leads, and tells every few seconds that it is there.
func (q *Queue) sayWhoWaits(ctx context.Context, list []jobs.Doc) error {
	waits := func(doc jobs.Doc) bool { return doc.State == jobs.Waiting }
	if q.started.Load() || !slices.ContainsFunc(list, waits) {
		return nil
	}
	led := false
	err := q.base.query(ctx, "SELECT 1 FROM {s}river_leader WHERE expires_at >= {now}", func(scanner) error {
		led = true
		return nil
	})
	for i := range list {
		if err == nil && !led && waits(list[i]) {
			list[i].Text = jobs.NoWorker
		}
	}
	return err
}

// Get implements [jobs.Queue].
func (q *Queue) Get(ctx context.Context, tenant, id string) (doc jobs.Doc, err error) {
	err = jobs.ErrNotFound
	failed := q.base.query(ctx, "SELECT "+columns+", a.report FROM {s}anchor_job a JOIN {s}river_job j ON j.id = a.id WHERE a.tenant = ?1 AND a.id = ?2",
		func(scan scanner) error {
			var r row
			if err := r.scan(scan, &r.report); err != nil {
				return err
			}
			doc, err = r.doc()
			doc = q.fresh(doc)
			return nil
		}, tenant, number(id))
	list := []jobs.Doc{doc}
	if failed == nil && err == nil {
		failed = q.sayWhoWaits(ctx, list)
	}
	if failed != nil {
		return doc, fmt.Errorf("jobs: read a job: %w", failed)
	}
	return list[0], err
}

// fresh adds how far a job of this host is, which the database learns later.
func (q *Queue) fresh(doc jobs.Doc) jobs.Doc {
	q.mu.Lock()
	a := q.running[number(doc.ID)]
	q.mu.Unlock()
	if a != nil && doc.State == jobs.Running {
		a.mu.Lock()
		doc.Done, doc.Total, doc.Text = a.done, a.total, a.text
		a.mu.Unlock()
	}
	return doc
}

// Cancel implements [jobs.Queue].
func (q *Queue) Cancel(ctx context.Context, tenant, id string) (jobs.Doc, error) {
	doc, err := q.Get(ctx, tenant, id)
	if err != nil || jobs.Ended(doc.State) {
		return doc, err
	}
	if err := q.base.cancel(ctx, number(id)); err != nil && !errors.Is(err, rivertype.ErrNotFound) {
		return doc, fmt.Errorf("jobs: cancel a job: %w", err)
	}
	return q.Get(ctx, tenant, id)
}

// Log implements [jobs.Queue].
func (q *Queue) Log(ctx context.Context, tenant, id string) ([]byte, error) {
	if _, err := q.Get(ctx, tenant, id); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err := q.base.query(ctx, "SELECT data FROM {s}anchor_job_part WHERE job = ?1 AND stream = 'l' ORDER BY item", func(scan scanner) error {
		var data []byte
		err := scan(&data)
		out.Write(data)
		return err
	}, number(id))
	if err != nil {
		return nil, fmt.Errorf("jobs: read a log: %w", err)
	}
	return out.Bytes(), nil
}

// Results implements [jobs.Queue].
func (q *Queue) Results(ctx context.Context, tenant, id string, from, limit int, each func(int, []byte) error) error {
	if _, err := q.Get(ctx, tenant, id); err != nil {
		return err
	}
	err := q.base.query(ctx, "SELECT item, data FROM {s}anchor_job_part WHERE job = ?1 AND stream = 'r' AND item >= ?2 ORDER BY item LIMIT ?3", func(scan scanner) error {
		var index int64
		var data []byte
		if err := scan(&index, &data); err != nil {
			return err
		}
		return each(int(index), data)
	}, number(id), from, min(max(limit, 1), jobs.MaxList))
	if err != nil {
		return fmt.Errorf("jobs: read results: %w", err)
	}
	return nil
}

// Idle reports whether no job waits or runs.
func (q *Queue) Idle(ctx context.Context) (bool, error) {
	idle := true
	err := q.base.query(ctx, "SELECT id FROM {s}river_job WHERE finalized_at IS NULL LIMIT 1", func(scanner) error {
		idle = false
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("jobs: count jobs: %w", err)
	}
	return idle, nil
}

// Count is how many jobs of a kind are in a state.
type Count struct {
	Kind, State string
	Jobs        int64
}

// Counts returns how many jobs of each kind are in each state, for metrics. Those without any are left out.
func (q *Queue) Counts(ctx context.Context) ([]Count, error) {
	sums := map[Count]int64{}
	err := q.base.query(ctx, "SELECT a.kind, CAST(j.state AS TEXT), a.failed, count(*) FROM {s}anchor_job a JOIN {s}river_job j ON j.id = a.id GROUP BY 1, 2, 3", func(scan scanner) error {
		var kind, state string
		var failed, n int64
		if err := scan(&kind, &state, &failed, &n); err != nil {
			return err
		}
		c := Count{Kind: kind, State: cmp.Or(states[state], jobs.Waiting)}
		if failed > 0 && c.State == jobs.Cancelled {
			c.State = jobs.Failed
		}
		sums[c] += n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: count jobs: %w", err)
	}
	var list []Count
	for c, n := range sums {
		c.Jobs = n
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Count) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.State, b.State)) })
	return list, nil
}
