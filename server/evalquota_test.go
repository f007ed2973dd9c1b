package server

import (
	"context"
	"fmt"
	"github.com/anchor-host/anchor-host/server/internal/jobs"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// partAdmission notes what was admitted and used.
type partAdmission struct {
	mu    sync.Mutex
	costs []Cost
	used  []Usage
	// refuse says how many parts are refused before one is admitted.
	refuse int
	now    int // parts that run
	most   int
}

func (a *partAdmission) Admit(_ context.Context, p Principal, c Cost) (func(Usage), error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.Answer == nil && a.refuse > 0 {
		a.refuse--
		return nil, &Refusal{Status: http.StatusTooManyRequests, Reason: "quota_exceeded", Message: "not yet", RetryAfter: 10 * time.Millisecond}
	}
	if c.Answer != nil {
		return func(Usage) {}, nil
	}
	a.costs = append(a.costs, c)
	a.now++
	a.most = max(a.most, a.now)
	return func(u Usage) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.now--
		a.used = append(a.used, u)
	}, nil
}

// Each build of an evaluation is admitted and counted as a build of its tenant, and waits if it is
// refused for now.
func TestEvaluationsAreCounted(t *testing.T) {
	a := &partAdmission{refuse: 3}
	dir := plugins(t, "keep-first")
	l := start(t, fmt.Sprintf("plugins: {dir: %q}\ncounting: {tokenizer: words}\nsteps: [{name: k, use: keep-first, operation: filter}]\n", dir), Options{Admission: a})
	files := []string{
		"corpus", `{"_id": "1", "text": "the night train"}` + "\n" + `{"_id": "2", "text": "a day"}` + "\n",
		"queries", `{"_id": "q", "text": "train"}` + "\n" + `{"_id": "r", "text": "day"}` + "\n", "qrels", "query-id\tcorpus-id\tscore\nq\t1\t1\nr\t2\t1\n",
	}
	body, contentType := evalForm(`{"corpus_items": true}`, files...)
	got := l.api("POST", "/v1/evals", body, "Content-Type", contentType)
	var doc jobs.Doc
	got.into(t, &doc)
	got, doc = l.awaitJob(doc.ID)
	if doc.State != jobs.Done {
		t.Fatalf("%s", got.body)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.costs) != 2 || len(a.used) != 2 || a.most != 1 || a.refuse != 0 || a.costs[0].Scope != ScopeBuild {
		t.Fatalf("admitted %+v, used %+v, %d at once, %d refusals left", a.costs, a.used, a.most, a.refuse)
	}
	for _, u := range a.used {
		if u.Fuel == 0 || u.Tokens == 0 || u.Took <= 0 {
			t.Errorf("used %+v", u)
		}
	}
}

// An evaluation that is refused for good fails, and one that waits ends when it is cancelled.
func TestRefusedEvaluation(t *testing.T) {
	a := &partAdmission{refuse: 1 << 30}
	l := start(t, words+"steps: [{name: s, use: sort}]\n", Options{Admission: a})
	body, contentType := evalForm("", evalFiles...)
	var doc jobs.Doc
	l.api("POST", "/v1/evals", body, "Content-Type", contentType).into(t, &doc)
	if !await.True(func() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.refuse < 1<<30 }) {
		t.Fatal("no build of the evaluation is refused")
	}
	if got := l.api("DELETE", "/v1/evals/"+doc.ID, ""); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if _, doc = l.awaitJob(doc.ID); doc.State != jobs.Cancelled || strings.Contains(l.log.String(), "evaluation fails") {
		t.Errorf("%+v, log %s", doc, l.log)
	}
}
