package queue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/internal/testkit/pgtest"
	"github.com/anchor-host/anchor-host/server/jobs"
)

// However many jobs a tenant submits at the same time, no more than may wait are kept, and another tenant has room.
func TestMany(t *testing.T) {
	both(t, func(t *testing.T, database string) {
		const waiting, senders = 50, 8
		each := 50
		if os.Getenv("ANCHOR_LONG_TESTS") != "" {
			each = 10_000 / senders
		}
		q := open(t, Options{Database: database, Waiting: waiting})
		var accepted, refused atomic.Int64
		var all sync.WaitGroup
		for sender := range senders {
			all.Go(func() {
				for i := range each {
					_, _, err := q.Submit(t.Context(), list("many", fmt.Sprint(sender, i)))
					switch {
					case err == nil:
						accepted.Add(1)
					case errors.Is(err, jobs.ErrBusy):
						refused.Add(1)
					default:
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		if accepted.Load() != waiting || parts(t, q, "f") != waiting || refused.Load() != int64(senders*each-waiting) {
			t.Errorf("%d accepted, %d refused", accepted.Load(), refused.Load())
		}
		submit(t, q, list("one", "x"))
	})
}

// The database goes away while a job runs, and comes back: the job is done, with each result once.
func TestAway(t *testing.T) {
	t.Parallel()
	pgtest.Skip(t)
	server, err := pgtest.Start(pgtest.Options{Kept: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	began, goOn := make(chan bool, 10), make(chan bool)
	q := open(t, Options{Database: server.Fresh(t), Workers: 1, retryAfter: 1, Do: func(ctx context.Context, r *jobs.Run) (any, error) {
		began <- true
		<-goOn
		return nil, errors.Join(r.Keep(ctx, 0, false, []byte("a")), r.Keep(ctx, 1, false, []byte("b")))
	}})
	doc := submit(t, q, list("a", "x"))
	<-began
	server.Kill()
	goOn <- true
	close(goOn)
	if _, err := q.List(t.Context(), jobs.Filter{Tenant: "a"}); err == nil {
		t.Error("no error while the database is away")
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	id := doc.ID
	if !await.True(func() bool {
		doc, err = q.Get(t.Context(), "a", id)
		return err == nil && jobs.Ended(doc.State)
	}) || doc.State != jobs.Done || doc.Results != 2 {
		t.Errorf("%+v, %v", doc, err)
	}
}

// BenchmarkJobs submits jobs that do nothing of 100 tenants from 8 senders, and waits until all are done.
func BenchmarkJobs(b *testing.B) {
	run := func(b *testing.B, database string) {
		var done atomic.Int64
		q := open(b, Options{Database: database, Workers: 8, Running: 8, Waiting: 1 << 30, Do: func(context.Context, *jobs.Run) (any, error) {
			done.Add(1)
			return nil, nil
		}})
		var next atomic.Int64
		var all sync.WaitGroup
		b.ResetTimer()
		for range 8 {
			all.Go(func() {
				for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
					if _, _, err := q.Submit(b.Context(), list(fmt.Sprint("tenant", i%100), fmt.Sprint(i))); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		submitted := b.Elapsed()
		if !await.True(func() bool { idle, err := q.Idle(b.Context()); return err != nil || idle }) {
			b.Fatalf("%d done", done.Load())
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		b.ReportMetric(float64(b.N)/submitted.Seconds(), "submitted/s")
	}
	b.Run("sqlite", func(b *testing.B) { run(b, filepath.Join(b.TempDir(), "jobs")) })
	b.Run("postgres", func(b *testing.B) {
		server, err := pgtest.Start(pgtest.Options{Fsync: true})
		if err != nil {
			b.Skip(err)
		}
		defer server.Close()
		run(b, server.Fresh(b))
	})
}
