package server

import (
	"context"
	"testing"
)

// A parameter that is there has a value of its type. An empty one is a mistake, not the default.
func TestParameters(t *testing.T) {
	l := start(t, benchConfig, Options{Unwatched: true})
	for _, target := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/readyz?verbose", 200},
		{"GET", "/v1/memory/facts?timeout=1m30s&limit=1&expired=true&type=semantic", 200},
		{"GET", "/v1/memory/facts?timeout=", 400}, {"GET", "/v1/memory/facts?timeout=0s", 400}, {"GET", "/v1/memory/facts?timeout=soon", 400},
		{"GET", "/v1/memory/facts?limit=", 400}, {"GET", "/v1/memory/facts?limit=0", 400}, {"GET", "/v1/memory/facts?limit=10001", 400},
		{"GET", "/v1/memory/facts?expired=", 400}, {"GET", "/v1/memory/facts?expired=1", 400},
		{"GET", "/v1/memory/facts?type=", 400}, {"GET", "/v1/memory/facts?type=true", 400},
		{"GET", "/v1/memory/facts?after=gone", 404},
		{"DELETE", "/v1/memory/facts?all=false", 422}, {"DELETE", "/v1/memory/facts?all=true&user=ann", 422}, {"DELETE", "/v1/memory/facts?all=yes", 400},
		{"POST", "/v1/assemble?to=", 400}, {"POST", "/v1/assemble?from=telex", 400}, {"POST", "/v1/assemble?phase=", 400}, {"POST", "/v1/assemble?max_tokens=", 400},
	} {
		body := ""
		if target.method == "POST" {
			body = `[{"role": "user", "content": "go on"}]`
		}
		if got := l.api(target.method, target.path, body); got.status != target.status {
			t.Errorf("%s %s: status %d, want %d: %s", target.method, target.path, got.status, target.status, got.body)
		}
	}
}

// The log and the metrics of a request have the same word for its error as the answer.
func TestObserversHearTheReasonOfTheAnswer(t *testing.T) {
	t.Parallel()
	heard := make(chan string, 1)
	watch := Observer{OnRequest: func(ctx context.Context, _ *RequestInfo) (context.Context, func(*RequestInfo, Usage, error)) {
		return ctx, func(_ *RequestInfo, u Usage, _ error) { heard <- u.Reason }
	}}
	l := start(t, words, Options{Observers: []Observer{watch}})
	for _, r := range [][3]string{{"GET", "/v1/cuts/none", ""}, {"GET", "/v1/memory/facts/none", ""}, {"POST", "/v1/builds", `{"query": 1}`}, {"POST", "/v1/builds", "{"}, {"GET", "/nowhere", ""}, {"GET", "/v1/conversations", ""}} {
		var doc struct{ Error struct{ Reason string } }
		got := l.api(r[0], r[1], r[2])
		got.into(t, &doc)
		if reason := <-heard; reason != doc.Error.Reason || (reason == "") != (got.status < 400) {
			t.Errorf("%v: status %d: heard %q, answered %q", r, got.status, reason, doc.Error.Reason)
		}
	}
}
