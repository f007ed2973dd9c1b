package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/server/jobs"
)

const (
	// flush is how often a worker writes how far it is, if that has changed.
	flush = time.Second
	// maxText bounds the text of a job's progress and of an error that River keeps, in bytes.
	maxText = 1000
	// lastTime bounds what a worker writes after its job has ended.
	lastTime = 10 * time.Second
)

// retries says when a job that has failed is begun again: after 2, 8, 18 and 32 seconds, and up to a tenth more.
type retries struct{ after time.Duration }

func (r retries) NextRetry(job *rivertype.JobRow) time.Time {
	wait := time.Duration(len(job.Errors)+1) * time.Duration(len(job.Errors)+1) * 2 * time.Second
	if r.after > 0 {
		wait = r.after
	}
	return time.Now().Add(wait + rand.N(wait/10+1)) //nolint:gosec // nothing depends on who guesses it
}

// worker runs the jobs of all kinds.
type worker struct {
	river.WorkerDefaults[args]
	q *Queue
}

// wholeKey is the key of the context of a job that ends when the job is cancelled or given back, and not before.
type wholeKey struct{}

// whole is the middleware that keeps that context.
type whole struct{ river.MiddlewareDefaults }

func (*whole) Work(ctx context.Context, _ *rivertype.JobRow, inner func(context.Context) error) error {
	return inner(context.WithValue(ctx, wholeKey{}, ctx))
}

func (w *worker) Middleware(*rivertype.JobRow) []rivertype.WorkerMiddleware {
	return []rivertype.WorkerMiddleware{&whole{}}
}

// attempt is one attempt at a job.
type attempt struct {
	q      *Queue
	id     int64
	number int
	cancel context.CancelCauseFunc

	mu          sync.Mutex
	done, total int
	text        string
	lines       []byte
	logged      int
	full        bool // of the log
	dirty       bool
}

var errLost = errors.New("the job was given to another worker")

// Work implements [river.Worker]. River bounds a job by the time after which it gives it to another worker, so
// that a long job would have a host that died wait for hours. This job shows instead that it is alive, and has a bound
// of its own.
func (w *worker) Work(short context.Context, job *river.Job[args]) error {
	ctx, ok := short.Value(wholeKey{}).(context.Context)
	if !ok {
		ctx = short
	}
	q := w.q
	a := &attempt{q: q, id: job.ID, number: job.Attempt}
	run, wait, err := q.begin(ctx, a, job)
	if err != nil {
		return plainError(err)
	}
	if wait > 0 {
		return river.JobSnooze(wait)
	}
	ctx, stop := context.WithTimeout(ctx, maxTime)
	defer stop()
	ctx, a.cancel = context.WithCancelCause(observe.Discreet(ctx))
	defer a.cancel(nil)
	q.mu.Lock()
	q.running[a.id] = a
	q.mu.Unlock()
	var beating sync.WaitGroup
	beating.Go(func() { a.live(ctx) })
	report, err := a.do(ctx, run)
	lost := errors.Is(context.Cause(ctx), errLost) || errors.Is(err, errLost)
	a.cancel(nil)
	beating.Wait()
	q.mu.Lock()
	delete(q.running, a.id)
	q.mu.Unlock()
	if lost {
		return errLost // if the other worker has begun, River lets the job begin once more, which changes nothing
	}
	return a.end(context.WithoutCancel(ctx), short, report, err)
}

// do does the job. A panic is an error of this job alone.
func (a *attempt) do(ctx context.Context, run *jobs.Run) (report any, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			a.q.log.Error("job panics", "job", a.id, "problem", problem, "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return a.q.o.Do(ctx, run)
}

var errPanic = errors.New("an error of the program ended the job; the log of the service has more")

// begin takes a place among the running jobs of the tenant. If there is none, wait says when to try again.
func (q *Queue) begin(ctx context.Context, a *attempt, job *river.Job[args]) (run *jobs.Run, wait time.Duration, err error) {
	run = &jobs.Run{ID: strconv.FormatInt(a.id, 10), Progress: a.progress, Log: a.line, Has: a.has, Keep: a.keep}
	err = q.base.within(ctx, func(t transaction) error {
		if err := q.lock(ctx, t, job.Args.Tenant); err != nil {
			return err
		}
		var running, waiting int64
		err := t.query(ctx, "SELECT count(*) FROM {s}anchor_job a JOIN {s}river_job j ON j.id = a.id WHERE a.tenant = ?1 AND a.slot > 0 AND a.id <> ?2 AND a.slot = j.attempt AND j.state = 'running'",
			func(scan scanner) error { return scan(&running) }, job.Args.Tenant, a.id)
		if err != nil {
			return err
		}
		if running >= int64(q.o.Running) { // the more jobs wait, the less often each looks
			err := t.query(ctx, "SELECT count(*) FROM {s}anchor_job a JOIN {s}river_job j ON j.id = a.id WHERE a.tenant = ?1 AND j.finalized_at IS NULL",
				func(scan scanner) error { return scan(&waiting) }, job.Args.Tenant)
			if err != nil {
				return err
			}
			wait = min(max(time.Duration(waiting)*50*time.Millisecond, 200*time.Millisecond), time.Minute)
			wait += rand.N(wait) //nolint:gosec // nothing depends on who guesses it
			return nil
		}
		if _, err := t.exec(ctx, "UPDATE {s}anchor_job SET slot = ?1, started = ?2, done = 0, total = 0, note = '' WHERE id = ?3", a.number, time.Now().UnixMilli(), a.id); err != nil {
			return err
		}
		return t.query(ctx, "SELECT tenant, owner, task, files, logged FROM {s}anchor_job WHERE id = ?1", func(scan scanner) error { return a.read(scan, run) }, a.id)
	})
	return run, wait, err
}

// read reads what the row of the job says.
func (a *attempt) read(scan scanner, run *jobs.Run) error {
	var task, files string
	var logged int64
	if err := scan(&run.Tenant, &run.Key, &task, &files, &logged); err != nil {
		return err
	}
	a.logged = int(logged)
	var inputs []input
	if err := errors.Join(json.Unmarshal([]byte(task), &run.Task), json.Unmarshal([]byte(files), &inputs)); err != nil {
		return fmt.Errorf("job %d is damaged: %w", a.id, err)
	}
	for i, f := range inputs {
		run.Files = append(run.Files, jobs.Input{Name: f.Name, Size: f.Size, Open: func(ctx context.Context) io.Reader {
			return &reader{q: a.q, ctx: ctx, job: a.id, item: i, left: f.Size}
		}})
	}
	return nil
}

// reader reads a file of a job, a piece at a time.
type reader struct {
	q     *Queue
	ctx   context.Context //nolint:containedctx // a reader has no other place for it
	job   int64
	item  int
	piece int
	left  int64
	data  []byte
}

func (r *reader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		if r.left <= 0 {
			return 0, io.EOF
		}
		err := r.q.base.query(r.ctx, "SELECT data FROM {s}anchor_job_part WHERE job = ?1 AND stream = 'f' AND item = ?2 AND piece = ?3",
			func(scan scanner) error { return scan(&r.data) }, r.job, r.item, r.piece)
		if err != nil {
			return 0, err
		}
		if len(r.data) == 0 {
			return 0, io.ErrUnexpectedEOF
		}
		r.piece, r.left = r.piece+1, r.left-int64(len(r.data))
	}
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

// progress notes how far the job is.
func (a *attempt) progress(done, total int, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done, a.total, a.text, a.dirty = done, total, cut(text), true
}

// cut bounds a text, between two characters.
func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "")
}

// line adds a line to the log, as far as there is room.
func (a *attempt) line(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.full {
		return
	}
	line := time.Now().UTC().Format(time.RFC3339) + " " + cut(strings.Join(strings.Fields(text), " ")) + "\n"
	const rest = "the log is full\n"
	if a.logged+len(a.lines)+len(line) > jobs.MaxLog-len(rest) {
		a.full, line = true, rest
	}
	a.lines, a.dirty = append(a.lines, line...), true
}

// live shows that the job is alive, and writes how far it is, until ctx ends.
func (a *attempt) live(ctx context.Context) {
	tick := time.NewTicker(min(flush, a.q.o.rescueAfter/4))
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if time.Since(last) >= a.q.o.rescueAfter/8 {
			n, err := a.q.base.exec(ctx, "UPDATE {s}river_job SET attempted_at = {now} WHERE id = ?1 AND state = 'running' AND attempt = ?2", a.id, a.number)
			switch {
			case err == nil && n == 0, err != nil && time.Since(last) > a.q.o.rescueAfter:
				a.cancel(errLost)
				return
			case err == nil:
				last = time.Now()
			}
		}
		if err := a.write(ctx); err != nil && ctx.Err() == nil {
			a.q.log.Warn("job cannot write how far it is", "job", a.id, "error", err)
		}
	}
}

// write writes what has changed since it was written last. If that fails, it is written later.
func (a *attempt) write(ctx context.Context) error {
	a.mu.Lock()
	done, total, text, lines, dirty := a.done, a.total, a.text, a.lines, a.dirty
	a.dirty, a.lines = false, nil
	a.logged += len(lines)
	item := a.logged
	a.mu.Unlock()
	if !dirty {
		return nil
	}
	err := a.q.base.within(ctx, func(t transaction) error {
		if _, err := t.exec(ctx, "UPDATE {s}anchor_job SET done = ?1, total = ?2, note = ?3, logged = ?4 WHERE id = ?5", done, total, text, item, a.id); err != nil || len(lines) == 0 {
			return err
		}
		_, err := t.exec(ctx, "INSERT INTO {s}anchor_job_part (job, stream, item, piece, data) VALUES (?1, 'l', ?2, ?3, ?4)", a.id, item, a.number, lines)
		return err
	})
	if err != nil {
		a.mu.Lock()
		a.dirty, a.lines, a.logged = true, append(lines, a.lines...), a.logged-len(lines)
		a.mu.Unlock()
	}
	return err
}

// has returns the results that are there.
func (a *attempt) has(ctx context.Context) (map[int]bool, error) {
	list := map[int]bool{}
	err := a.q.base.query(ctx, "SELECT item, piece FROM {s}anchor_job_part WHERE job = ?1 AND stream = 'r'", func(scan scanner) error {
		var item, failed int64
		err := scan(&item, &failed)
		list[int(item)] = failed > 0
		return err
	}, a.id)
	return list, err
}

// keep keeps a result, if this attempt still has the job.
func (a *attempt) keep(ctx context.Context, index int, failed bool, data []byte) error {
	return a.q.base.within(ctx, func(t transaction) error {
		kept, there := int64(0), false
		err := t.query(ctx, "SELECT a.kept FROM {s}anchor_job a JOIN {s}river_job j ON j.id = a.id WHERE a.id = ?1 AND j.state = 'running' AND j.attempt = ?2", func(scan scanner) error {
			there = true
			return scan(&kept)
		}, a.id, a.number)
		switch {
		case err != nil:
			return err
		case !there:
			return errLost
		case kept+int64(len(data)) > jobs.MaxResults:
			return jobs.ErrLarge
		}
		n, err := t.exec(ctx, "DELETE FROM {s}anchor_job_part WHERE job = ?1 AND stream = 'r' AND item = ?2", a.id, index)
		if err != nil {
			return err
		}
		kind := 0
		if failed {
			kind = 1
		}
		if _, err := t.exec(ctx, "INSERT INTO {s}anchor_job_part (job, stream, item, piece, data) VALUES (?1, 'r', ?2, ?3, ?4)", a.id, index, kind, data); err != nil {
			return err
		}
		_, err = t.exec(ctx, "UPDATE {s}anchor_job SET kept = kept + ?1, results = results + ?2 WHERE id = ?3", len(data), 1-n, a.id)
		return err
	})
}

// end writes what came of the attempt, and returns what River does with the job.
func (a *attempt) end(ctx, rivers context.Context, report any, err error) error {
	ctx, stop := context.WithTimeout(ctx, lastTime)
	defer stop()
	var data []byte
	if err == nil {
		if data, err = json.Marshal(report); err == nil && len(data) > jobs.MaxReport {
			err = fmt.Errorf("%w: its report has more than %d MiB", jobs.ErrInvalid, jobs.MaxReport>>20)
		}
	}
	whole, _ := rivers.Value(wholeKey{}).(context.Context)
	cut := err != nil && whole != nil && whole.Err() != nil // it was cancelled, or the service ends
	permanent := err != nil && !cut && jobs.Permanent(err)
	problem := ""
	if err != nil && !cut {
		detail := failure.Public(err).Error
		text, failed := json.Marshal(detail)
		if failed != nil {
			return failed
		}
		problem = string(text)
		a.line("attempt " + strconv.Itoa(a.number) + ": " + detail.Message)
		a.q.log.Warn("job fails", "job", a.id, "attempt", a.number, "error", err)
	}
	if failed := a.write(ctx); failed != nil {
		return plainError(failed)
	}
	failed := a.q.base.within(ctx, func(t transaction) error { return a.settle(ctx, t, data, problem, permanent, err == nil) })
	switch {
	case failed != nil:
		return plainError(failed)
	case permanent:
		return river.JobCancel(plainError(err))
	case cut:
		return context.Canceled // at the end of the service the attempt does not count
	case err != nil:
		return plainError(err)
	}
	return nil
}

// settle writes the report or the error of the attempt, and gives its place to others: River says a moment later that
// it has ended. The files of a job that does not begin again go.
func (a *attempt) settle(ctx context.Context, t transaction, report []byte, problem string, permanent, done bool) error {
	failed := 0
	if permanent {
		failed = 1
	}
	if _, err := t.exec(ctx, "UPDATE {s}anchor_job SET report = ?1, problem = ?2, failed = ?3, slot = 0 WHERE id = ?4", report, problem, failed, a.id); err != nil {
		return err
	}
	if !done && !permanent {
		return nil
	}
	if _, err := t.exec(ctx, "DELETE FROM {s}anchor_job_part WHERE job = ?1 AND stream = 'f'", a.id); err != nil {
		return err
	}
	_, err := t.exec(ctx, "UPDATE {s}anchor_job SET input = 0 WHERE id = ?1", a.id)
	return err
}

// plainError is an error as River keeps it: short, and without the character that Postgres does not keep.
func plainError(err error) error {
	if text := err.Error(); len(text) > maxText || strings.Contains(text, "\x00") {
		return errors.New(strings.ReplaceAll(cut(text), "\x00", ""))
	}
	return err
}
