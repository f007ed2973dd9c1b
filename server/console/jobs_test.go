package console

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/server/jobs"
	"github.com/anchor-host/anchor-host/server/jobs/queue"
)

// The page of jobs shows those of the tenant, and why they fail; its texts do nothing.
func TestJobs(t *testing.T) {
	const evil = "<script>alert(1)</script>"
	q, err := queue.Open(t.Context(), queue.Options{Database: filepath.Join(t.TempDir(), "jobs"), Workers: 1, Do: func(context.Context, *jobs.Run) (any, error) {
		return nil, errors.Join(jobs.ErrInvalid, errors.New(evil))
	}})
	if err == nil {
		err = q.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := newSite(t, nil)
	u := &user{site: s}
	if page := u.send("/console/jobs", nil).Body.String(); !strings.Contains(page, "server.jobs.workers") {
		t.Errorf("without jobs: %s", page)
	}
	s.o.Jobs = q
	for _, tenant := range []string{"default", "other"} {
		doc, _, err := q.Submit(t.Context(), jobs.Submission{Task: jobs.Task{Kind: jobs.Builds, Pipeline: tenant}, Tenant: tenant, Files: []jobs.File{{Name: "requests", Content: io.NewSectionReader(strings.NewReader("{}"), 0, 2)}}})
		if err != nil {
			t.Fatal(err)
		}
		if !await.True(func() bool { doc, err = q.Get(t.Context(), tenant, doc.ID); return err != nil || jobs.Ended(doc.State) }) || err != nil {
			t.Fatal(doc, err)
		}
	}
	page := u.send("/console/jobs", nil).Body.String()
	if strings.Count(page, ">builds<") != 1 || !strings.Contains(page, "failed") || strings.Contains(page, evil) || !strings.Contains(page, "alert(1)") {
		t.Error(page)
	}
	checkPage(t, "/console/jobs", page)
}
