package queue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/server/jobs"
)

// childDatabase is the variable with the database of the process that is killed.
const childDatabase = "ANCHOR_JOBS_CHILD"

// child runs jobs until it is killed. Each keeps one result and then hangs.
func child() {
	ctx := context.Background()
	q, err := Open(ctx, Options{Database: os.Getenv(childDatabase), Workers: 1, rescueAfter: 2 * time.Second, Do: func(ctx context.Context, r *jobs.Run) (any, error) {
		if err := r.Keep(ctx, 0, false, []byte("child")); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	if err == nil {
		err = q.Start(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// The job of a worker that is killed goes back, keeps what it had, and is done once.
func TestKilled(t *testing.T) {
	bothAtOnce(t, func(t *testing.T, database string) {
		q := open(t, Options{Database: database})
		doc := submit(t, q, list("a", "x"))
		process := exec.CommandContext(t.Context(), os.Args[0])
		process.Env, process.Stderr = append(os.Environ(), childDatabase+"="+database), os.Stderr
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		if !await.True(func() bool { return parts(t, q, "r") == 1 }) {
			t.Error("the job does not begin")
		}
		_ = process.Process.Kill()
		_ = process.Wait() // it was killed
		var begun int
		worker := open(t, Options{Database: database, Workers: 1, rescueAfter: 2 * time.Second, retryAfter: 1, Do: func(ctx context.Context, r *jobs.Run) (any, error) {
			begun++
			has, err := r.Has(ctx)
			if _, kept := has[0]; !kept || len(has) != 1 {
				t.Errorf("the results are %v", has)
			}
			if err == nil {
				err = r.Keep(ctx, 1, false, []byte("second"))
			}
			return nil, err
		}})
		if doc = ended(t, worker, "a", doc.ID); doc.State != jobs.Done || doc.Attempt != 2 || doc.Results != 2 || begun != 1 {
			t.Errorf("begun %d times: %+v", begun, doc)
		}
	})
}

// A long job is not given to another worker while it shows that it is alive.
func TestLong(t *testing.T) {
	bothAtOnce(t, func(t *testing.T, database string) {
		var began atomic.Int32
		var doc jobs.Doc
		if !await.Enough(3*time.Second, func(limit time.Duration) bool { // for signs of life
			began.Store(0)
			o := Options{Database: database, Workers: 1, rescueAfter: limit, retryAfter: 1, Do: func(ctx context.Context, r *jobs.Run) (any, error) {
				began.Add(1)
				select {
				case <-time.After(7 * limit / 3): // more than twice as long as a worker may give no sign
				case <-ctx.Done():
				}
				return nil, ctx.Err()
			}}
			q := open(t, o)
			other := open(t, o) // it looks for jobs that are stuck, too
			doc = ended(t, other, "a", submit(t, q, list("a", limit.String())).ID)
			if err := errors.Join(q.Close(t.Context()), other.Close(t.Context())); err != nil {
				t.Error(err)
			}
			return doc.State == jobs.Done && doc.Attempt == 1 && began.Load() == 1
		}) {
			t.Errorf("begun %d times: %+v", began.Load(), doc)
		}
	})
}
