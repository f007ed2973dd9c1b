package server

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/testkit/storefault"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/server/jobs"
	"github.com/anchor-host/anchor-host/store"
)

// content is what the store has, and how many records of each key. Whose a conversation or a run is, and the frame
// of a run that has nothing yet, may be noted before a request is refused: only the same user asks again.
func content(t *testing.T, s store.Store) (all, counts string) {
	t.Helper()
	keys, err := s.Keys(t.Context(), store.DefaultTenant, "")
	if err != nil {
		t.Fatal(err)
	}
	var records, numbers strings.Builder
	for _, key := range keys {
		list, err := s.Read(t.Context(), key, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&numbers, "%s %d\n", key, len(list))
		if key.Kind == "owner" || key.Kind == "run" {
			continue
		}
		for _, r := range list {
			fmt.Fprintf(&records, "%s %s %s\n", key, r.ID, r.Data)
		}
	}
	return records.String(), numbers.String()
}

// Whichever call to the store fails while a request is carried out: an answer that says busy means that nothing was
// written, and who sends the request again has what one request writes.
func TestBusyMeansNothingWritten(t *testing.T) {
	const config = words + "memory: {facts: {}}\nagent: {max_tokens: 1000}\n"
	for _, request := range []struct{ path, body string }{
		{"/v1/conversations/c/turns", `{"turns": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]}`},
		{"/v1/memory/facts", `{"id": "new", "content": "a new fact"}`},
		{"/v1/memory/search", `{"query": "fact", "touch": true}`},
		{"/v1/runs/r/frames", `{"kind": "tool_call", "summary": "x", "global_summary": "all", "max_frames": 5}`},
		{"/v1/assemble?run=r&user=u", `{"messages": [{"role": "user", "content": "x"}]}`},
		{"/v1/builds?conversation=c&remember=true&user=u", `{"query": "q"}`},
	} {
		t.Run(strings.Split(request.path, "?")[0], func(t *testing.T) {
			whole := ""
			for n := -1; ; n++ {
				refused, failed, counts := sendBroken(t, config, request.path, request.body, n)
				switch {
				case n < 0:
					whole = counts // that of a request without a fault
				case counts != whole:
					t.Errorf("call %d fails, and the request is sent again if it was refused (%t):\n%swant\n%s", n, refused, counts, whole)
				case !failed:
					if n < 1 {
						t.Errorf("the request makes %d calls", n)
					}
					return
				}
			}
		})
	}
}

// sendBroken sends a request while a call to the store fails, and again if it was refused.
func sendBroken(t *testing.T, config, path, body string, n int) (refused, failed bool, counts string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{Sync: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	b := storefault.New(s)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	l := startWith(t, config, anchor.Options{Store: b}, Options{})
	for path, body := range map[string]string{
		"/v1/memory/facts": `{"id": "f", "content": "a fact"}`, "/v1/conversations/c/turns": `{"turns": [{"role": "user", "content": "before"}]}`,
	} {
		if a := l.api("POST", path, body); a.status != 201 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	before, _ := content(t, s)
	b.After(n)
	a := l.api("POST", path, body)
	failed = b.After(-1)
	after, _ := content(t, s)
	if refused = a.status >= 300; refused && (a.status != 503 || a.reason() != "busy" || after != before) {
		t.Errorf("call %d fails: %d %s, and before\n%safter\n%s", n, a.status, a.body, before, after)
	}
	if refused {
		if a = l.api("POST", path, body); a.status >= 300 {
			t.Errorf("again: %d %s", a.status, a.body)
		}
	}
	_, counts = content(t, s)
	return refused, failed, counts
}

// A request that is cut at the end of the service is to be sent again, unless its write had begun: nobody knows what
// came of that.
func TestCutWrites(t *testing.T) {
	s := newServer(t, words, Options{})
	s.cut.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, v := range []struct {
		method string
		err    error
		reason string
		remedy string
	}{
		{"POST", ctx.Err(), "draining", "send the request again"},
		{"POST", fmt.Errorf("%w: %w", store.ErrUnknown, ctx.Err()), "outcome_unknown", "read whether"},
		{"DELETE", store.Partly(true, ctx.Err()), "outcome_unknown", "send the request again"}, // of several writes, neither all nor nothing
	} {
		c := &call{s: s, ctx: ctx, r: httptest.NewRequestWithContext(ctx, v.method, "/", nil)}
		if status, doc := c.failure(v.err); status != 503 || doc.Error.Reason != v.reason || !strings.Contains(doc.Error.Remedy, "the service ends: "+v.remedy) {
			t.Errorf("%s, %v: %d %+v", v.method, v.err, status, doc.Error)
		}
	}
}

// A write that had begun when the time of a request was up may be done: "timeout" would ask for the same again with more
// time.
func TestLateWrites(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	s := newServer(t, words, Options{})
	c := &call{s: s, ctx: ctx, r: httptest.NewRequestWithContext(t.Context(), "POST", "/", nil), w: newWriter(s, httptest.NewRecorder())}
	for want, err := range map[string]error{"read whether": store.ErrUnknown, "GET /v1/jobs": jobs.ErrUnknown} {
		if status, doc := c.failure(c.jobError(fmt.Errorf("%w: %w", err, ctx.Err()))); status != 503 || doc.Error.Reason != "outcome_unknown" || !strings.HasPrefix(doc.Error.Remedy, want) {
			t.Errorf("%v: %d %+v", err, status, doc.Error)
		}
	}
}
