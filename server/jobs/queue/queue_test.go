package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/internal/testkit/pgtest"
	"github.com/anchor-host/anchor-host/server/jobs"
)

func TestMain(m *testing.M) {
	if os.Getenv(childDatabase) != "" {
		child()
		return
	}
	os.Exit(pgtest.Run(m))
}

// both runs a test with each database.
func both(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		t.Cleanup(func() { goleak.VerifyNone(t, before) }) // after the queues are closed
		test(t, filepath.Join(t.TempDir(), "jobs.db"))
	})
	t.Run("postgres", func(t *testing.T) { test(t, pgtest.URL(t)) })
}

// bothAtOnce is both for tests that wait most of the time. They run beside each other, after all others.
func bothAtOnce(t *testing.T, test func(t *testing.T, database string)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, filepath.Join(t.TempDir(), "jobs.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, pgtest.URL(t))
	})
}

// open opens a queue, which the test closes.
func open(t testing.TB, o Options) *Queue {
	t.Helper()
	q, err := Open(t.Context(), o)
	if err == nil {
		err = q.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // another Close changes nothing
		if err := q.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return q
}

// list is a job with a list of builds.
func list(tenant, text string) jobs.Submission {
	return jobs.Submission{Task: jobs.Task{Kind: jobs.Builds}, Tenant: tenant, Key: "k", Files: []jobs.File{file("requests", text)}}
}

func file(name, text string) jobs.File {
	return jobs.File{Name: name, Content: io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))}
}

func submit(t testing.TB, q *Queue, s jobs.Submission) jobs.Doc {
	t.Helper()
	doc, _, err := q.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// ended waits for the end of a job.
func ended(t testing.TB, q *Queue, tenant, id string) (doc jobs.Doc) {
	t.Helper()
	if !await.True(func() bool {
		var err error
		if doc, err = q.Get(t.Context(), tenant, id); err != nil {
			t.Fatal(err)
		}
		return jobs.Ended(doc.State)
	}) {
		t.Fatalf("the job does not end: %+v", doc)
	}
	return doc
}

// A job gets its files, reports how far it is, and keeps its results, its log and its report; its tenant alone sees it.
func TestJob(t *testing.T) {
	both(t, func(t *testing.T, database string) {
		text := strings.Repeat("0123456789", 3*piece/20) // of two pieces
		q := open(t, Options{Database: database, Workers: 2, Do: func(ctx context.Context, r *jobs.Run) (any, error) {
			data, err := io.ReadAll(r.Files[0].Open(ctx))
			if err != nil || string(data) != text || r.Tenant != "acme" || r.Key != "k" || r.Kind != jobs.Builds || r.Files[0].Size != int64(len(text)) {
				t.Errorf("%v, %d bytes, %+v", err, len(data), r)
			}
			r.Progress(1, 2, "half")
			r.Log("one\ntwo")
			return map[string]int{"n": 3}, errors.Join(r.Keep(ctx, 1, true, []byte("b")), r.Keep(ctx, 0, false, []byte("a")), r.Keep(ctx, 1, false, []byte("c")))
		}})
		doc := ended(t, q, "acme", submit(t, q, list("acme", text)).ID)
		if doc.State != jobs.Done || string(doc.Report) != `{"n":3}` || doc.Done != 1 || doc.Total != 2 || doc.Text != "half" || doc.Results != 2 || doc.Attempt != 1 || doc.Priority != jobs.DefaultPriority || doc.Ended == nil {
			t.Errorf("%+v", doc)
		}
		log, err := q.Log(t.Context(), "acme", doc.ID)
		if err != nil || !strings.HasSuffix(string(log), " one two\n") {
			t.Errorf("%q, %v", log, err)
		}
		got := ""
		err = q.Results(t.Context(), "acme", doc.ID, 0, 10, func(i int, data []byte) error { got += fmt.Sprint(i, string(data)); return nil })
		if err != nil || got != "0 a1 c" && got != "0a1c" {
			t.Errorf("%q, %v", got, err)
		}
		if n := parts(t, q, "f"); n != 0 {
			t.Errorf("%d pieces of files are left", n)
		}
		for _, id := range []string{"0", "-1", "x", "01", "99999999999999999999"} {
			if _, err := q.Get(t.Context(), "acme", id); !errors.Is(err, jobs.ErrNotFound) {
				t.Errorf("%q: %v", id, err)
			}
		}
		_, get := q.Get(t.Context(), "other", doc.ID)
		_, cancel := q.Cancel(t.Context(), "other", doc.ID)
		_, lines := q.Log(t.Context(), "other", doc.ID)
		results := q.Results(t.Context(), "other", doc.ID, 0, 1, func(int, []byte) error { return nil })
		for _, err := range []error{get, cancel, lines, results} {
			if !errors.Is(err, jobs.ErrNotFound) {
				t.Errorf("another tenant: %v", err)
			}
		}
		mine, err := q.List(t.Context(), jobs.Filter{Tenant: "acme", Limit: 10, Kinds: []string{jobs.Builds}})
		if err != nil || len(mine) != 1 || mine[0].ID != doc.ID || mine[0].Report != nil {
			t.Errorf("%+v, %v", mine, err)
		}
		for _, f := range []jobs.Filter{{Tenant: "other", Limit: 10}, {Tenant: "acme", Kinds: []string{jobs.Ingest}, Limit: 10}, {Tenant: "acme", Before: doc.ID, Limit: 10}} {
			if none, err := q.List(t.Context(), f); err != nil || len(none) != 0 {
				t.Errorf("%+v: %+v, %v", f, none, err)
			}
		}
	})
}

// parts counts the parts that jobs keep of a stream.
func parts(t testing.TB, q *Queue, stream string) (n int64) {
	t.Helper()
	if err := q.base.query(t.Context(), "SELECT count(*) FROM {s}anchor_job_part WHERE stream = ?1", func(scan scanner) error { return scan(&n) }, stream); err != nil {
		t.Fatal(err)
	}
	return n
}

// The same job of the same tenant is the one that waits; a tenant has as many as may wait, and others do not feel it.
func TestSame(t *testing.T) {
	both(t, func(t *testing.T, database string) {
		q := open(t, Options{Database: database, Waiting: 2})
		first := submit(t, q, list("a", "x"))
		again, added, err := q.Submit(t.Context(), list("a", "x"))
		if err != nil || added || again.ID != first.ID {
			t.Errorf("%+v, %v, %v", again, added, err)
		}
		if other := submit(t, q, list("b", "x")); other.ID == first.ID {
			t.Error("two tenants share a job")
		}
		submit(t, q, list("a", "y"))
		if _, _, err := q.Submit(t.Context(), list("a", "z")); !errors.Is(err, jobs.ErrBusy) {
			t.Errorf("a third one: %v", err)
		}
		if again, added, err = q.Submit(t.Context(), list("a", "x")); err != nil || added || again.ID != first.ID {
			t.Errorf("the same one when there is no room: %+v, %v, %v", again, added, err)
		}
		if doc, err := q.Cancel(t.Context(), "a", first.ID); err != nil || doc.State != jobs.Cancelled {
			t.Errorf("%+v, %v", doc, err)
		}
		if doc := submit(t, q, list("a", "x")); doc.ID == first.ID {
			t.Error("a job that was cancelled is submitted no more")
		}
		if n := parts(t, q, "f"); n != 4 {
			t.Errorf("%d files, want 4", n)
		}
	})
}

// A job that always fails, and one that panics, is begun a bounded number of times; one that cannot be done, once.
// Others go on.
func TestFailures(t *testing.T) {
	both(t, func(t *testing.T, database string) {
		var begun [3]atomic.Int64
		q := open(t, Options{Database: database, Workers: 3, Running: 3, retryAfter: 1, Do: func(ctx context.Context, r *jobs.Run) (any, error) {
			data, err := io.ReadAll(r.Files[0].Open(ctx))
			switch string(data) {
			case "panic":
				begun[0].Add(1)
				panic("poison")
			case "fail":
				begun[1].Add(1)
				return nil, errors.New("\x00" + strings.Repeat("a long reason ", 10_000))
			case "wrong":
				begun[2].Add(1)
				return nil, fmt.Errorf("%w: wrong", jobs.ErrInvalid)
			}
			return "fine", err
		}})
		poison, fail, wrong := submit(t, q, list("a", "panic")), submit(t, q, list("a", "fail")), submit(t, q, list("a", "wrong"))
		if doc := ended(t, q, "a", submit(t, q, list("a", "ok")).ID); doc.State != jobs.Done {
			t.Errorf("%+v", doc)
		}
		for i, id := range []string{poison.ID, fail.ID, wrong.ID} {
			doc := ended(t, q, "a", id)
			want := int64(attempts)
			if id == wrong.ID {
				want = 1
			}
			if doc.State != jobs.Failed || doc.Error == nil || doc.Error.Message == "" || begun[i].Load() != want || int64(doc.Attempt) != want {
				t.Errorf("begun %d times, want %d: %+v", begun[i].Load(), want, doc)
			}
		}
		counts, err := q.Counts(t.Context())
		if err != nil || fmt.Sprint(counts) != "[{builds done 1} {builds failed 3}]" {
			t.Errorf("%v, %v", counts, err)
		}
	})
}

// A job that runs is cancelled, and one that the end of the service cuts is done by the next one.
func TestCut(t *testing.T) {
	both(t, func(t *testing.T, database string) {
		began, block := make(chan string, 10), true
		o := Options{Database: database, Workers: 1, Do: func(ctx context.Context, r *jobs.Run) (any, error) {
			began <- r.ID
			if block {
				<-ctx.Done()
			}
			return nil, ctx.Err()
		}}
		q := open(t, o)
		first := submit(t, q, list("a", "1"))
		if id := <-began; id != first.ID {
			t.Fatal(id)
		}
		if _, err := q.Cancel(t.Context(), "a", first.ID); err != nil {
			t.Fatal(err)
		}
		if doc := ended(t, q, "a", first.ID); doc.State != jobs.Cancelled || doc.Error != nil {
			t.Errorf("%+v", doc)
		}
		second := submit(t, q, list("a", "2"))
		<-began
		if err := q.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		block = false
		q = open(t, o)
		if doc := ended(t, q, "a", second.ID); doc.State != jobs.Done || doc.Attempt != 1 {
			t.Errorf("%+v", doc)
		}
	})
}

// One tenant with many jobs does not keep all workers, and the jobs of others get done.
func TestTurns(t *testing.T) {
	both(t, func(t *testing.T, database string) {
		var own, most atomic.Int64
		release := make(chan struct{})
		q := open(t, Options{Database: database, Workers: 4, Do: func(ctx context.Context, r *jobs.Run) (any, error) {
			if r.Tenant != "many" {
				return nil, nil
			}
			for n := own.Add(1); ; {
				if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
					break
				}
			}
			defer own.Add(-1)
			select {
			case <-release:
			case <-ctx.Done():
			}
			return nil, ctx.Err()
		}})
		var last jobs.Doc
		for i := range 12 {
			last = submit(t, q, list("many", fmt.Sprint(i)))
		}
		if doc := ended(t, q, "one", submit(t, q, list("one", "x")).ID); doc.State != jobs.Done {
			t.Errorf("%+v", doc)
		}
		await.True(func() bool { return most.Load() >= 2 }) // the second may have to begin
		close(release)
		if doc := ended(t, q, "many", last.ID); doc.State != jobs.Done || most.Load() != 2 {
			t.Errorf("%d of one tenant at a time, want 2: %+v", most.Load(), doc)
		}
	})
}

// What a job keeps is bounded, its log and its results.
func TestBounds(t *testing.T) {
	both(t, func(t *testing.T, database string) {
		const size = 8 << 20
		q := open(t, Options{Database: database, Workers: 1, Do: func(ctx context.Context, r *jobs.Run) (any, error) {
			for range 2 * jobs.MaxLog / 100 {
				r.Log(strings.Repeat("x", 100))
			}
			data := bytes.Repeat([]byte("y"), size)
			for i := range jobs.MaxResults/size + 1 {
				if err := r.Keep(ctx, i, false, data); err != nil {
					return nil, err
				}
			}
			return nil, nil
		}})
		doc := ended(t, q, "a", submit(t, q, list("a", "x")).ID)
		if doc.State != jobs.Failed || doc.Results != jobs.MaxResults/size || doc.Error == nil || !strings.Contains(doc.Error.Message, "64 MiB") {
			t.Errorf("%+v", doc)
		}
		log, err := q.Log(t.Context(), "a", doc.ID)
		if err != nil || len(log) > jobs.MaxLog || len(log) < jobs.MaxLog/2 || !strings.Contains(string(log), "the log is full\n") {
			t.Errorf("%d bytes, %v", len(log), err)
		}
	})
}

// A file that is no database is named, and a list that begins nowhere is refused.
func TestMistakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	if err := os.WriteFile(path, []byte("no database, but longer than the header of one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Database: path}); err == nil || !strings.Contains(err.Error(), path) || !strings.HasSuffix(err.Error(), ")") {
		t.Errorf("damaged: %v", err)
	}
	q := open(t, Options{Database: path + "2"})
	if _, err := q.List(t.Context(), jobs.Filter{Tenant: "a", Before: "x", Limit: 1}); !errors.Is(err, jobs.ErrInvalid) {
		t.Errorf("before x: %v", err)
	}
}

// A job that waits says so if no worker of any process runs, and only then.
func TestNobodyWorks(t *testing.T) {
	both(t, func(t *testing.T, database string) {
		if _, err := Open(t.Context(), Options{Database: database, Existing: true}); !errors.Is(err, jobs.ErrNotFound) {
			t.Errorf("a database without jobs: %v", err)
		}
		shows := open(t, Options{Database: database, Running: 1})
		waits := submit(t, shows, list("a", "x"))
		text := func() string {
			t.Helper()
			doc, err := shows.Get(t.Context(), "a", waits.ID)
			if err != nil {
				t.Fatal(err)
			}
			all, err := shows.List(t.Context(), jobs.Filter{Tenant: "a", Limit: 10})
			if err != nil || len(all) == 0 || all[len(all)-1].Text != doc.Text {
				t.Errorf("%+v, %v; one: %+v", all, err, doc)
			}
			return doc.Text
		}
		if waits.State != jobs.Waiting || waits.Text != jobs.NoWorker || text() != jobs.NoWorker {
			t.Errorf("without a worker: %+v, %q", waits, text())
		}
		hold := make(chan struct{})
		worker := open(t, Options{Database: database, Workers: 1, Running: 1, Do: func(ctx context.Context, _ *jobs.Run) (any, error) {
			select {
			case <-hold:
			case <-ctx.Done():
			}
			return nil, ctx.Err()
		}})
		second := submit(t, shows, list("a", "y")) // the worker is busy with the first
		if !await.True(func() bool {
			doc, err := shows.Get(t.Context(), "a", second.ID)
			return err == nil && doc.State == jobs.Waiting && doc.Text == "" && text() == ""
		}) {
			t.Error("with a worker it says that there is none")
		}
		if err := worker.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if doc, err := shows.Get(t.Context(), "a", second.ID); err != nil || doc.State != jobs.Waiting || doc.Text != jobs.NoWorker {
			t.Errorf("the worker has ended: %+v, %v", doc, err)
		}
		close(hold)
		again, err := Open(t.Context(), Options{Database: database, Existing: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A URL that asks for one connection does not make hosts wait for themselves.
func TestOneConnection(t *testing.T) {
	q := open(t, Options{Database: pgtest.URL(t) + "&pool_max_conns=1"})
	submit(t, q, list("a", "x"))
}

// forgetful is a database that breaks off once a transaction is committed.
type forgetful struct {
	base
	gone bool
}

func (f *forgetful) within(ctx context.Context, work func(transaction) error) error {
	err := f.base.within(ctx, work)
	f.gone = true
	return err
}

func (f *forgetful) query(ctx context.Context, statement string, row func(scanner) error, args ...any) error {
	if f.gone {
		return io.ErrUnexpectedEOF
	}
	return f.base.query(ctx, statement, row, args...)
}

// A job that was accepted is answered with, also if it cannot be read any more: who is refused would submit it again.
func TestAcceptedInAFault(t *testing.T) {
	both(t, func(t *testing.T, database string) {
		q := open(t, Options{Database: database})
		f := &forgetful{base: q.base}
		q.base = f
		doc, added, err := q.Submit(t.Context(), list("a", "x"))
		if err != nil || !added {
			t.Fatal(added, err)
		}
		f.gone = false
		there, err := q.Get(t.Context(), "a", doc.ID)
		doc.Submitted, doc.Started, there.Submitted, there.Started, there.Text = nil, time.Time{}, nil, time.Time{}, ""
		if !reflect.DeepEqual(doc, there) || err != nil {
			t.Errorf("%+v, want %+v, %v", doc, there, err)
		}
	})
}

// If the connection breaks during the commit, nobody knows whether the job is accepted.
func TestCommitBreaks(t *testing.T) {
	q := open(t, Options{Database: pgtest.URL(t)})
	err := q.base.within(t.Context(), func(own transaction) error {
		for _, statement := range []string{
			"CREATE TEMP TABLE last (n int)",
			"CREATE FUNCTION pg_temp.die() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'",
			"CREATE CONSTRAINT TRIGGER die AFTER INSERT ON last DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pg_temp.die()",
			"INSERT INTO last VALUES (1)",
		} {
			if _, err := own.exec(t.Context(), statement); err != nil {
				return err
			}
		}
		return nil
	})
	if !errors.Is(err, jobs.ErrUnknown) {
		t.Error(err)
	}
	if err := q.base.within(t.Context(), func(transaction) error { return io.ErrUnexpectedEOF }); errors.Is(err, jobs.ErrUnknown) {
		t.Errorf("nothing was committed, but %v", err)
	}
}
