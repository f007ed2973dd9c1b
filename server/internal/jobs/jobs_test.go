package jobs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/server/internal/jobs"
	docs "github.com/anchor-host/anchor-host/server/jobs"
)

func newSet(t *testing.T, change func(*jobs.Limits)) *jobs.Set {
	t.Helper()
	l := jobs.Limits{Running: 1, Own: 1, Waiting: 3, Kept: 10, KeptOwn: 3, For: time.Hour, Time: time.Hour, Report: 100, TooLarge: errors.New("too large")}
	if change != nil {
		change(&l)
	}
	s := jobs.New(l)
	t.Cleanup(s.Close)
	return s
}

// until waits for a state of a job.
func until(t *testing.T, j *jobs.Job, state string) jobs.Doc {
	t.Helper()
	if !await.True(func() bool { return j.Snapshot(false).State == state }) {
		t.Fatalf("the job is %s, not %s", j.Snapshot(false).State, state)
	}
	return j.Snapshot(true)
}

// A tenant with many jobs does not keep another one from its turn.
func TestTurns(t *testing.T) {
	s := newSet(t, nil)
	order, next := make(chan string, 5), make(chan struct{})
	start := func(tenant string) {
		t.Helper()
		if _, err := s.Start(tenant, jobs.Doc{}, func(context.Context, *jobs.Job) (any, error) {
			order <- tenant
			<-next
			return nil, nil
		}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		start("a")
	}
	start("b")
	var got []string
	for range 4 {
		got = append(got, <-order)
		next <- struct{}{}
	}
	if !slices.Equal(got, []string{"a", "b", "a", "a"}) {
		t.Errorf("turns: %v", got)
	}
}

// Each way in which a job can end shows, and end is called once, also for one that never ran.
func TestEnds(t *testing.T) {
	wait := func(ctx context.Context, _ *jobs.Job) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for name, c := range map[string]struct {
		work   jobs.Work
		state  string
		cancel bool
		says   string
	}{
		"done":      {func(context.Context, *jobs.Job) (any, error) { return "it", nil }, jobs.Done, false, `"it"`},
		"failed":    {func(context.Context, *jobs.Job) (any, error) { return nil, errors.New("no luck") }, jobs.Failed, false, "no luck"},
		"too large": {func(context.Context, *jobs.Job) (any, error) { return strings.Repeat("a", 200), nil }, jobs.Failed, false, "too large"},
		"time":      {wait, jobs.Failed, false, "deadline"},
		"cancelled": {wait, jobs.Cancelled, true, ""},
	} {
		s := newSet(t, func(l *jobs.Limits) {
			if name == "time" {
				l.Time = 50 * time.Millisecond
			}
		})
		ends := make(chan bool, 2)
		j, err := s.Start(name, jobs.Doc{}, c.work, func() { ends <- true })
		if err != nil {
			t.Fatal(err)
		}
		if c.cancel {
			j.Cancel()
		}
		doc := until(t, j, c.state)
		said := string(doc.Report)
		if doc.Error != nil {
			said = doc.Error.Message
		}
		if <-ends; !strings.Contains(said, c.says) || doc.Ended == nil {
			t.Errorf("%s: %+v %s", name, doc, said)
		}
		if j.Cancel(); j.Snapshot(false).State != c.state || len(ends) > 0 {
			t.Errorf("%s: cancelled after its end: %+v, %d further ends", name, j.Snapshot(false), len(ends))
		}
	}
}

// The number of jobs is bounded, old ones are forgotten, and the end of a set cancels all.
func TestBounds(t *testing.T) {
	s := newSet(t, nil)
	quick := func(context.Context, *jobs.Job) (any, error) { return nil, nil }
	for range 9 {
		j, err := s.Start("a", jobs.Doc{}, quick, nil)
		if err != nil {
			t.Fatal(err)
		}
		until(t, j, jobs.Done)
	}
	if list := s.List("a"); len(list) != 3 || s.Find("a", list[0].ID) == nil || s.Find("b", list[0].ID) != nil {
		t.Errorf("kept: %d", len(list))
	}
	begun, ends := make(chan bool, 1), make(chan bool, 4)
	var all []*jobs.Job
	for range 4 {
		j, err := s.Start("a", jobs.Doc{}, func(ctx context.Context, _ *jobs.Job) (any, error) {
			begun <- true
			<-ctx.Done()
			return nil, ctx.Err()
		}, func() { ends <- true })
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, j)
	}
	if _, err := s.Start("a", jobs.Doc{}, quick, nil); !errors.Is(err, jobs.ErrBusy) || !errors.Is(s.Room("a"), jobs.ErrBusy) || s.Room("b") != nil {
		t.Errorf("a fifth job: %v", err)
	}
	<-begun
	s.Close()
	for i, j := range all {
		if doc := j.Snapshot(false); doc.State != jobs.Cancelled {
			t.Errorf("job %d is %s", i, doc.State)
		}
	}
	if len(ends) != 4 || !errors.Is(s.Room("b"), jobs.ErrClosed) {
		t.Errorf("%d ends, then %v", len(ends), s.Room("b"))
	}
}

// kept is a queue with two jobs.
type kept struct{ docs.Queue }

func (kept) List(_ context.Context, f docs.Filter) ([]docs.Doc, error) {
	list := []docs.Doc{{ID: "2"}, {ID: "1"}}
	for i, d := range list {
		if d.ID == f.Before {
			list = list[i+1:]
			break
		}
	}
	return list[:min(f.Limit, len(list))], nil
}

func (kept) Get(_ context.Context, _, id string) (docs.Doc, error) { return docs.Doc{ID: id}, nil }

// Jobs in a database are listed after the ingestions of this process, page by page, and found.
func TestKept(t *testing.T) {
	s := newSet(t, nil)
	j, err := s.Start("a", jobs.Doc{Kind: docs.Ingest}, func(ctx context.Context, _ *jobs.Job) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	own := j.Snapshot(false).ID
	q := jobs.Queue{Set: s, Kept: kept{}}
	for limit := 1; limit <= 4; limit++ {
		var ids []string
		for before := ""; ; before = ids[len(ids)-1] {
			page, err := q.List(t.Context(), docs.Filter{Tenant: "a", Before: before, Limit: limit})
			if err != nil || len(page) > limit {
				t.Fatalf("%v, %v", page, err)
			}
			for _, d := range page {
				ids = append(ids, d.ID)
			}
			if len(page) < limit {
				break
			}
		}
		if !slices.Equal(ids, []string{own, "2", "1"}) {
			t.Errorf("pages of %d: %v", limit, ids)
		}
	}
	for _, id := range []string{own, "1"} {
		if doc, err := q.Get(t.Context(), "a", id); err != nil || doc.ID != id {
			t.Errorf("%s: %+v, %v", id, doc, err)
		}
	}
}
