package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/server/jobs"
	"github.com/anchor-host/anchor-host/server/jobs/queue"
)

// work starts a server with a queue and workers.
func work(t *testing.T, workers, waiting int, admission Admission) (l *live, folder string) {
	t.Helper()
	folder = t.TempDir()
	do := &jobs.Worker{Folder: folder}
	q, err := queue.Open(t.Context(), queue.Options{Database: filepath.Join(t.TempDir(), "jobs"), Workers: workers, Waiting: waiting, Do: do.Do})
	if err != nil {
		t.Fatal(err)
	}
	l = start(t, words, Options{Authenticator: staticKeys{}, Jobs: q, Admission: admission})
	do.App, do.Around = l.app, l.AroundBuild
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l, folder
}

func (l *live) submitted(key, body string) answer {
	l.t.Helper()
	return l.api("POST", "/v1/jobs", body, "Authorization", "Bearer "+key)
}

// Jobs of all kinds are submitted and done over HTTP; their builds are admitted as others; no other tenant sees them.
func TestJobs(t *testing.T) {
	admission := &countedBuilds{}
	l, folder := work(t, 2, 10, admission)
	if err := os.MkdirAll(filepath.Join(folder, "tenant-a", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "tenant-a", "sub", "ship.md"), []byte("The ferry leaves at ten."), 0o644); err != nil {
		t.Fatal(err)
	}
	upload := l.finished("a", l.api("POST", "/v1/collections/docs/documents?name=t.md", "The train leaves at nine.", "Authorization", "Bearer a", "Content-Type", "text/markdown"))
	read := l.finished("a", l.submitted("a", `{"kind": "ingest", "collection": "docs", "folder": "sub"}`))
	for _, doc := range []jobs.Doc{upload, read} {
		if doc.State != jobs.Done || doc.Kind != jobs.Ingest || doc.Done != 1 || !bytes.Contains(doc.Report, []byte(`"added":1`)) {
			t.Errorf("%+v %s", doc, doc.Report)
		}
	}
	for _, word := range []string{"train", "ferry"} {
		if got := l.api("POST", "/v1/collections/docs/search", `{"query": "`+word+`"}`, "Authorization", "Bearer a"); !bytes.Contains(got.body, []byte(word)) {
			t.Errorf("%s is not found: %s", word, got.body)
		}
	}
	if got := l.api("POST", "/v1/collections/docs/search", `{"query": "train ferry"}`, "Authorization", "Bearer b"); bytes.Contains(got.body, []byte("train")) {
		t.Errorf("another tenant: %s", got.body)
	}
	embed := l.finished("a", l.submitted("a", `{"kind": "embed", "collection": "docs"}`))
	eval := l.finished("a", l.submitted("a", `{"kind": "evaluate", "questions": "{\"question\": \"train\", \"documents\": [\"none.md\"], \"collection\": \"docs\"}\n"}`))
	if embed.State != jobs.Done || !bytes.Contains(embed.Report, []byte(`"failed":0`)) { // there are vectors of the built-in table already
		t.Errorf("%+v %s", embed, embed.Report)
	}
	if eval.State != jobs.Failed || eval.Error == nil || eval.Attempt != 1 { // there is no such document
		t.Errorf("%+v %+v", eval, eval.Error)
	}
	built := l.finished("a", l.submitted("a", "{\"kind\": \"builds\", \"requests\": [{\n\"query\": \"one\"}, {\"query\": \"two\"}, {\"wrong\": 1}]}"))
	if built.State != jobs.Done || built.Results != 3 || !strings.Contains(string(built.Report), `"failed":1`) || admission.builds.Load() != 3 {
		t.Errorf("%+v %s, %d builds admitted", built, built.Report, admission.builds.Load())
	}
	var page jobResultsDoc
	l.as("a", "GET", l.data, "/v1/jobs/"+built.ID+"/results?limit=2").into(t, &page)
	if len(page.Results) != 2 || page.Next == nil || *page.Next != 2 || !bytes.Contains(page.Results[0], []byte(`"query":"one"`)) {
		t.Errorf("%s", page.Results)
	}
	l.as("a", "GET", l.data, "/v1/jobs/"+built.ID+"/results?from=2").into(t, &page)
	if len(page.Results) != 1 || !bytes.Contains(page.Results[0], []byte(`"error"`)) {
		t.Errorf("%s", page.Results)
	}
	if got := l.as("a", "GET", l.data, "/v1/jobs/"+built.ID+"/logs"); !bytes.Contains(got.body, []byte("build 2: ")) {
		t.Errorf("%s", got.body)
	}
	var list jobsDoc
	l.as("a", "GET", l.data, "/v1/jobs?limit=2").into(t, &list)
	if len(list.Jobs) != 2 || list.Jobs[0].ID != built.ID || list.Next != list.Jobs[1].ID {
		t.Errorf("%+v", list)
	}
	for _, path := range []string{"", "/logs", "/results"} {
		if got := l.as("b", "GET", l.data, "/v1/jobs/"+built.ID+path); got.status != http.StatusNotFound {
			t.Errorf("another tenant: %s: %d %s", path, got.status, got.body)
		}
	}
	for path, want := range map[string]int{"": 200, "/logs": 403, "/results": 403} { // both have texts of the requests
		if got := l.as("n", "GET", l.data, "/v1/jobs/"+built.ID+path); got.status != want {
			t.Errorf("another key of the tenant: %s: %d %s", path, got.status, got.body)
		}
	}
	if got := l.as("b", "DELETE", l.data, "/v1/jobs/"+built.ID); got.status != http.StatusNotFound {
		t.Errorf("another tenant: %d", got.status)
	}
	if got := l.as("b", "GET", l.data, "/v1/jobs"); string(got.body) != `{"jobs":[]}`+"\n" {
		t.Errorf("another tenant: %s", got.body)
	}
}

// A tenant has as many jobs as may wait, and gets back the one that is the same. It reads nothing of the host, and no
// files of others.
func TestJobsRefused(t *testing.T) {
	l, folder := work(t, 0, 3, nil)
	for _, name := range []string{"tenant-a", "tenant-b"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	one := func(n int) string { return fmt.Sprintf(`{"kind": "builds", "requests": [{"query": "%d"}]}`, n) }
	var first, again jobs.Doc
	for i := range 3 {
		got := l.submitted("a", one(i))
		if got.status != http.StatusAccepted {
			t.Fatalf("%d %s", got.status, got.body)
		}
		if i == 0 {
			got.into(t, &first)
		}
	}
	for range 50 {
		if got := l.submitted("a", one(9)); got.status != http.StatusTooManyRequests || got.reason() != "too_many_jobs" || got.header.Get("Retry-After") == "" {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	got := l.submitted("a", one(0))
	if got.into(t, &again); got.status != http.StatusOK || again.ID != first.ID {
		t.Errorf("%d %+v", got.status, again)
	}
	if got := l.submitted("b", one(0)); got.status != http.StatusAccepted {
		t.Errorf("another tenant: %d %s", got.status, got.body)
	}
	if got := l.submitted("r", one(0)); got.status != http.StatusForbidden {
		t.Errorf("without a scope: %d", got.status)
	}
	l.as("a", "DELETE", l.data, "/v1/jobs/"+first.ID).into(t, &again)
	if again.State != jobs.Cancelled {
		t.Errorf("%+v", again)
	}
	for _, body := range []string{
		`{"kind": "x"}`, `{"kind": "builds"}`, `{"kind": "builds", "requests": []}`, `{"kind": "ingest", "collection": "c"}`, `{"kind": "embed"}`, `{"kind": "evaluate", "corpus": "x"}`,
		`{"kind": "builds", "requests": [{}], "priority": 5}`, `{"kind": "embed", "collection": "` + strings.Repeat("x", 2000) + `"}`, `{"kind": "embed", "collection": "c", "folder": "x"}`,
	} {
		if got := l.submitted("b", body); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%.60s: %d %s", body, got.status, got.body)
		}
	}
}

// countedBuilds counts the builds that are admitted.
type countedBuilds struct{ builds atomic.Int64 }

func (*countedBuilds) Enter(Principal, Cost) error { return nil }

func (a *countedBuilds) Admit(_ context.Context, p Principal, c Cost) (func(Usage), error) {
	if c.Action == "build" && p.Tenant == "tenant-a" && p.KeyID == "ka" {
		a.builds.Add(1)
	}
	return func(Usage) {}, nil
}

// A service without workers shows the jobs that others do, and takes none.
func TestJobsOfOthers(t *testing.T) {
	q, err := queue.Open(t.Context(), queue.Options{Database: filepath.Join(t.TempDir(), "jobs")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	doc, _, err := q.Submit(t.Context(), jobs.Submission{Task: jobs.Task{Kind: jobs.Embed, Collection: "docs"}, Tenant: "tenant-a"})
	if err != nil {
		t.Fatal(err)
	}
	l := start(t, words, Options{Authenticator: staticKeys{}, KeptJobs: q})
	for key, sees := range map[string]bool{"a": true, "b": false} {
		for _, path := range []string{"/v1/jobs", "/v1/jobs/" + doc.ID} {
			if a := l.api("GET", path, "", "Authorization", "Bearer "+key); strings.Contains(string(a.body), jobs.NoWorker) != sees {
				t.Errorf("%s of %s: %s", path, key, a.body)
			}
		}
	}
	if a := l.submitted("a", `{"kind": "embed", "collection": "docs"}`); a.status != http.StatusUnprocessableEntity || !strings.Contains(string(a.body), "server.jobs.workers") {
		t.Errorf("a job: %+v", a)
	}
}
