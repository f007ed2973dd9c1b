package sdk_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
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

// TestReach holds what each helper library offers to the same. HTTP: bytes that are no text,
// headers and status of answers, a time for each request, and several requests at once. The
// key-value store and token counts. Vectors, searches and answers of models; vectors of rows. One
// warning for each column that the plugin reads and its manifest does not name. It also runs the
// tests of the libraries that need no host.
func TestReach(t *testing.T) {
	if testing.Short() {
		t.Skip("runs compilers")
	}
	var log bytes.Buffer
	h, url := newHost(t, &log), reachServer(t)
	for _, language := range []string{"go", "tinygo", "c", "rust", "zig", "ts", "js", "python", "java"} {
		t.Run(language, func(t *testing.T) {
			spec := buildGuest(t, "reach", language)
			filter, err := spec.Operation(abi.OpFilter)
			if err != nil {
				t.Fatal(err)
			}
			checkReach(t, h, spec, url)
			checkServices(t, h, spec)
			checkVectors(t, h, spec)
			for _, lane := range filter.Lanes {
				checkUnsent(t, h, spec, lane, &log)
			}
			runOwnTests(t, language)
		})
	}
}

func checkReach(t *testing.T, h *host.Host, spec *spec.Spec, url string) {
	t.Helper()
	p, err := h.Load(t.Context(), spec, host.PluginConfig{Grants: host.Grants{
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
}

// checkUnsent calls a filter that reads text, metadata, source and embedding, and whose manifest names text.
// The last calls receive no text either, which is no mistake of the plugin.
func checkUnsent(t *testing.T, h *host.Host, spec *spec.Spec, lane host.Lane, log *bytes.Buffer) {
	t.Helper()
	p, err := h.Load(t.Context(), spec, host.PluginConfig{Lane: lane})
	if err != nil {
		t.Fatal(err)
	}
	log.Reset() // what Load says of the grants that are missing
	for _, reads := range [][]string{nil, nil, {"none"}} {
		step, err := steps.New(p, abi.OpFilter, steps.Options{Reads: reads})
		if err != nil {
			t.Fatal(err)
		}
		items, err := between(t, step)
		if want := map[bool]int{true: 4, false: 0}[reads == nil]; err != nil || len(items) != want {
			t.Errorf("%s, reads %q: %d items, %v; want %d", lane, reads, len(items), err, want)
		}
	}
	var want []string
	for _, c := range []string{"embedding", "metadata", "source"} {
		want = append(want, `level=WARN msg="filter reads the column `+c+`, but the manifest does not name it, so it is empty: name `+c+` under reads of filter in plugin.yaml" plugin=reach`)
	}
	var got []string
	for line := range strings.Lines(log.String()) {
		if _, entry, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(entry, "level=WARN") {
			got = append(got, entry)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%s: warnings\n%q, want\n%q", lane, got, want)
	}
}
