package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A registry and an embedder that ask to wait are waited for, with a line for each wait, but not for
// longer than the flag or the setting allows. The error then names it.
func TestWaitsAreTold(t *testing.T) {
	var asked atomic.Int32
	var after atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		if asked.Add(1); after.Load() == "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Retry-After", after.Swap("").(string))
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	storeFolder(t, map[string]string{
		"anchor.yaml": fmt.Sprintf("embedders:\n  far: {http: {base_url: %q, model: m, timeout: 20s}}\ncollections: {docs: {embedder: far}}\n", server.URL),
		"a.md":        "# Rail\n\nThe train departs at nine.\n",
	})
	pull := []string{"plugin", "save", "oci://" + host + "/acme/p:1"}
	ingest := []string{"ingest", "a.md", "--collection", "docs"}
	for _, each := range []struct {
		after string
		args  []string
		code  int
		says  []string
	}{
		{"1", pull, 6, []string{host + ": answers 429 Too Many Requests: asks again in 1s\n", "answers 404"}},
		{"29", append(pull, "--timeout", "20s"), 7, []string{host + ": answers 429 Too Many Requests: a wait of 29s is longer than --timeout allows"}},
		{"1000000", pull, 1, []string{host + ": answers 429 Too Many Requests, and asks to come back in 277h46m40s"}},
		{"1", ingest, 1, []string{`embedding model "m": answers 429 Too Many Requests: asks again in 1s` + "\n", "answers 404"}},
		{"1000000", ingest, 1, []string{"it asks to wait 277h46m40s, at most 1m0s is waited for it: wait as long, or raise timeout"}},
	} {
		after.Store(each.after)
		begin := time.Now()
		code, _, stderr := run(t, "", each.args...)
		for _, want := range each.says {
			if code != each.code || !strings.Contains(stderr, want) {
				t.Errorf("%v, Retry-After %s: exit code %d, %s, want %q", each.args, each.after, code, stderr, want)
			}
		}
		if took := time.Since(begin); took > 25*time.Second {
			t.Errorf("%v, Retry-After %s: took %s", each.args, each.after, took)
		}
	}
}
