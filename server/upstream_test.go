package server

import (
	"encoding/json"
	"fmt"
	"github.com/anchor-host/anchor-host/server/internal/jobs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/modeltest"
)

// vendorText is what the server of an embedder or a model says when it refuses.
// Its words are no digits, which the times and the fuel of an answer can have by chance.
const vendorText = "deployment contoso-7 of account quokka is throttled"

// upstream is a server of an embedder and a model that can refuse.
type upstream struct {
	*httptest.Server
	mode atomic.Int32
}

// The modes of an upstream.
const (
	serves = iota
	failsWithText
	refusesWithText
	answersNonsense
	hangsUp
)

func newUpstream(t *testing.T) *upstream {
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch u.mode.Load() {
		case failsWithText:
			http.Error(w, `{"error": {"message": "`+vendorText+`"}}`, http.StatusInternalServerError)
			return
		case refusesWithText:
			http.Error(w, `{"error": {"message": "`+vendorText+`"}}`, http.StatusBadRequest)
			return
		case answersNonsense:
			_, _ = w.Write([]byte(vendorText))
			return
		case hangsUp:
			panic(http.ErrAbortHandler)
		}
		var q struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		var data []any
		for i, text := range q.Input {
			data = append(data, map[string]any{"index": i, "embedding": modeltest.Vector(text)})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(u.Close)
	return u
}

// What an embedder and a model answer, and where they are, is for the log: answers, diagnostics,
// events and reports of evaluations do not say it.
func TestUpstreamsStayHidden(t *testing.T) {
	up := newUpstream(t)
	dir := plugins(t, "services")
	l := start(t, fmt.Sprintf(`
counting: {tokenizer: words}
plugins:
  dir: %q
  instances:
    asks: {plugin: services, grants: {embed: {embedder: far}, search: {collections: [docs]}, llm: {models: [small, claude]}}, limits: {timeout: 20s, tokens: unlimited}}
embedders: {far: {http: {base_url: %q, model: vectors, retries: 0}}}
models: {small: {api: openai, base_url: %q, model: tiny, retries: 0}, claude: {api: anthropic, base_url: %q, model: tiny, retries: 0}}
collections: {docs: {embedder: far}}
retrievers: {docs: {collection: docs, by: hybrid}}
pipelines:
  skip: {steps: [{name: s, use: docs, must: false}]}
  raise: {steps: [{name: s, use: docs, must: true}]}
  asks: {steps: [{name: s, operation: retrieve, use: asks, must: true}]}
`, dir, up.URL, up.URL, up.URL), Options{})
	fill(t, l)
	build := func(pipeline, accept string) answer {
		return l.api("POST", "/v1/builds", `{"query": "train", "pipeline": "`+pipeline+`"}`, "Accept", accept)
	}
	for name, mode := range map[string]int32{"fails": failsWithText, "refuses": refusesWithText, "nonsense": answersNonsense, "hangs up": hangsUp, "gone": -1} {
		if mode < 0 {
			continue // below: nothing comes after it
		}
		up.mode.Store(mode)
		l.checkHidden(t, name, up.URL, build)
	}
	up.Close()
	l.checkHidden(t, "gone", up.URL, build)
}

// checkHidden asks everything that needs the upstream, while it does not serve.
func (l *live) checkHidden(t *testing.T, mode, url string, build func(pipeline, accept string) answer) {
	t.Helper()
	address := strings.TrimPrefix(url, "http://")
	eval := l.evaluate(`{"pipeline": "raise"}`)
	answers := map[string]answer{
		"search":          l.api("POST", "/v1/collections/docs/search", `{"query": "train", "by": "hybrid"}`, "X-Request-Id", "find-"+strings.ReplaceAll(mode, " ", "-")),
		"skipped step":    build("skip", "application/json"),
		"failed step":     build("raise", "application/json"),
		"stream":          build("raise", "text/event-stream"),
		"skipped, stream": build("skip", "text/event-stream"),
		"plugin":          build("asks", "application/json"),
		"evaluation":      eval,
	}
	for name, a := range answers {
		for _, hidden := range []string{address, "127.0.0.1", "contoso", "quokka", "dial tcp", "EOF"} {
			if strings.Contains(string(a.body), hidden) {
				t.Errorf("%s, %s: the answer has %q: %s", mode, name, hidden, a.body)
			}
		}
	}
	if a := answers["search"]; a.status < 500 {
		t.Errorf("%s: a search has status %d: %s", mode, a.status, a.body)
	}
	if a := answers["skipped step"]; a.status != 200 || !strings.Contains(string(a.body), "step_failures") {
		t.Errorf("%s: a skipped step: %d %s", mode, a.status, a.body)
	}
	id := "request=find-" + strings.ReplaceAll(mode, " ", "-")
	for line := range strings.Lines(l.log.String()) {
		if strings.Contains(line, id) && strings.Contains(line, address) {
			return
		}
	}
	t.Errorf("%s: the log has no line with %s and %s:\n%s", mode, id, address, l.log)
}

// evaluate runs an evaluation to its end, and returns what became of it.
func (l *live) evaluate(options string) answer {
	l.t.Helper()
	body, contentType := evalForm(options, evalFiles...)
	got := l.api("POST", "/v1/evals", body, "Content-Type", contentType)
	var doc jobs.Doc
	if got.into(l.t, &doc); got.status < 300 {
		got, _ = l.awaitJob(doc.ID)
	}
	return got
}

// Where the file of the store is, and what SQLite says, is for the log.
func TestStoreStaysHidden(t *testing.T) {
	l := start(t, words, Options{}) // the store is opened when it is first needed
	path := filepath.Join(filepath.Dir(l.file()), "store.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("this is no store\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, a := range []answer{
		l.api("GET", "/v1/memory/facts", ""), l.api("GET", "/v1/collections", ""),
		l.api("POST", "/v1/memory/facts", `{"content": "a"}`, "X-Request-Id", "lost"), l.api("POST", "/v1/builds?conversation=c", `{"query": "q"}`),
	} {
		if a.status < 500 || strings.Contains(string(a.body), filepath.Base(filepath.Dir(path))) || strings.Contains(string(a.body), "store.db") {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if log := l.log.String(); !strings.Contains(log, "request=lost") || !strings.Contains(log, path) {
		t.Errorf("the log has not the file: %s", log)
	}
}
