package sdk_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
)

// reachServer repeats a body and a header, and never answers.
func reachServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/never" {
			<-r.Context().Done()
			return
		}
		w.Header().Set("X-Word", r.Header.Get("X-Word"))
		w.WriteHeader(http.StatusCreated)
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestReach holds HTTP, the key-value store and token counts in each helper library to the
// same: bytes that are no text, headers and status of answers, a time for each request, and
// several requests at once.
func TestReach(t *testing.T) {
	if testing.Short() {
		t.Skip("runs compilers")
	}
	h, url := newHost(t, nil), reachServer(t)
	for _, language := range []string{"c", "rust", "zig", "ts", "js"} {
		t.Run(language, func(t *testing.T) {
			p, err := h.Load(t.Context(), buildGuest(t, "reach", language), host.PluginConfig{Grants: host.Grants{
				HTTP: &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*"}, Methods: []string{"GET", "POST"}, Private: true},
				KV:   &host.KVGrant{}, Services: []string{"count_tokens"},
			}})
			if err != nil {
				t.Fatal(err)
			}
			c, err := steps.Classifier(p, steps.Options{Settings: map[string]any{"url": url}})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				label, err := c.Classify(t.Context(), &pipeline.Query{Text: "three small words"})
				if want := "201 wörd 0 201 1 0 timeout stored 3"; err != nil || label != want {
					t.Errorf("label %q, %v; want %q", label, err, want)
				}
			}
		})
	}
}
