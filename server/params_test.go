package server

import "testing"

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
