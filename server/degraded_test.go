package server

import (
	"context"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/server/internal/degraded"
)

// A window without the answer of a step is never given in silence: its header names the step, and the
// log says why, once for many builds.
func TestDegradedBuildsAreLoud(t *testing.T) {
	t.Parallel()
	said := make(chan int, 5) // by the line of each request
	watch := Observer{OnRequest: func(ctx context.Context, _ *RequestInfo) (context.Context, func(*RequestInfo, Usage, error)) {
		return ctx, func(_ *RequestInfo, u Usage, _ error) { said <- u.Degraded }
	}}
	l := start(t, "counting: {tokenizer: words}\nsteps: [{name: redact, use: absent, must: false}]\n", Options{Observers: []Observer{watch}})
	for range 3 {
		got := l.api("POST", "/v1/builds", `{"query": "q"}`, "X-Request-Id", "the-request")
		if values := got.header.Values(degraded.Header); got.status != 200 || len(values) != 1 || !strings.HasPrefix(values[0], "step=redact;reason=") {
			t.Errorf("status %d, %s: %q", got.status, degraded.Header, values)
		}
	}
	if got := l.api("POST", "/v1/builds", `{"query": "q", "steps": []}`); got.status != 200 || got.header.Get(degraded.Header) != "" {
		t.Errorf("nothing is missing: status %d, %s: %q", got.status, degraded.Header, got.header.Get(degraded.Header))
	}
	if got := l.api("POST", "/v1/builds", `{"query": "q", "steps": [{"name": "other", "use": "absent", "must": false}]}`, "Accept", "text/event-stream"); got.status != 200 || !strings.Contains(string(got.body), `"skipped_steps":["other"]`) {
		t.Errorf("a stream: status %d, %s", got.status, got.body)
	}
	lacking := 0
	for range 5 {
		lacking += <-said
	}
	if lacking != 4 {
		t.Errorf("the requests lack %d things, want 4", lacking)
	}
	var lines []string
	for line := range strings.Lines(l.log.String()) {
		if strings.Contains(line, "step skipped") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 2 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[0], "step=redact") || !strings.Contains(lines[0], "absent") || !strings.Contains(lines[0], "request=the-request") || !strings.Contains(lines[1], "step=other") {
		t.Errorf("want one line for redact and one for other, got %q", lines)
	}
}

// The cost of a model without a price is not known, and the log says so, once for many builds. A model that
// is free has no such line.
func TestModelsWithoutAPriceAreLoud(t *testing.T) {
	l := start(t, "counting: {tokenizer: words}\n", Options{})
	ctx, used := ledger.Own(t.Context())
	used.SetRates(func(u ledger.Use) (ledger.Rate, bool) {
		return ledger.Rate{Model: u.Name + "-1"}, u.Name == "free"
	})
	for _, name := range []string{"free", "lost"} {
		used.Note(ledger.Use{Service: "llm", Name: name}, ledger.Amount{Calls: 1, InputTokens: 5})
	}
	for range 3 {
		c := call{s: l.Server, ctx: ctx, info: RequestInfo{ID: "the-request"}}
		c.account(used)
		if c.usage.ModelCalls != 2 || len(c.usage.Services) != 2 {
			t.Errorf("%+v", c.usage)
		}
	}
	log := l.log.String()
	if n := strings.Count(log, "model without a price"); n != 1 || !strings.Contains(log, "level=WARN") || !strings.Contains(log, `lost-1`) || !strings.Contains(log, "request=the-request") || strings.Contains(log, "free-1") {
		t.Errorf("want one line: %s", log)
	}
}

// lackingSite has a collection without documents, retrievers among several that are missing, and an
// agent that has room for few messages.
const lackingSite = `counting: {tokenizer: words}
retrievers: {docs: {collection: docs}, none: {collection: none}}
agent: {max_tokens: 20, frames: {enabled: false}}
pipelines:
  empty: {steps: [{name: found, use: docs}]}
  several: {steps: [{name: both, retrievers: [{use: docs}, {use: none}, {use: absent}]}]}
`

// What an answer lacks is said three times: in the answer, in its header, in the log. With
// builds.strict such an answer is refused.
func TestWhatAnAnswerLacks(t *testing.T) {
	t.Parallel()
	list := `[{"role": "system", "content": "be short"}, {"role": "user", "content": "` + strings.Repeat("one ", 30) + `"}, {"role": "assistant", "content": "yes"}, {"role": "user", "content": "and two"}]`
	asks := []struct{ path, body, kind, header, log string }{
		{"/v1/builds", `{"query": "q", "pipeline": "empty"}`, "missing", "step=found;reason=empty", "collection missing"},
		{"/v1/builds", `{"query": "q", "pipeline": "several"}`, "missing", "step=both;reason=not_found", "collection missing"},
		{"/v1/builds", `{"query": "q", "pipeline": "several"}`, "unanswered", "step=both;reason=not_found", "service gave no answer"},
		{"/v1/assemble", list, "dropped", "step=truncation;reason=budget", "message left out"},
	}
	for _, strictly := range []bool{false, true} {
		text := lackingSite
		if strictly {
			text += "builds: {strict: true}\n"
		}
		l := start(t, text, Options{TenantClass: func(string) string { return "gold" }})
		if _, err := l.app.Ingest(t.Context(), []ingest.Source{{Path: t.TempDir()}}, ingest.Options{Collection: retrieve.Collection{Name: "docs"}}); err != nil {
			t.Fatal(err)
		}
		for _, a := range asks {
			got := l.api("POST", a.path, a.body)
			var doc struct {
				Degraded []struct{ Kind, Step, Message string }
				Error    struct{ Reason, Message string }
			}
			got.into(t, &doc)
			if strictly {
				if got.status != 503 || doc.Error.Reason != "degraded" || len(doc.Degraded) == 0 || doc.Degraded[len(doc.Degraded)-1].Message == "" {
					t.Errorf("strict: %s: %d %s", a.body, got.status, got.body)
				}
				continue
			}
			found := false
			for _, d := range doc.Degraded {
				found = found || d.Kind == a.kind && d.Message != ""
			}
			if got.status != 200 || !found || !strings.Contains(strings.Join(got.header.Values(degraded.Header), "\n"), a.header) {
				t.Errorf("%s: %d, header %q, %s", a.body, got.status, got.header.Values(degraded.Header), got.body)
			}
			if log := l.log.String(); !strings.Contains(log, `level=WARN msg="`+a.log+`"`) || !strings.Contains(log, "tenant_class=gold") {
				t.Errorf("%s: the log has no %q: %s", a.body, a.log, log)
			}
		}
		if got := l.api("POST", "/v1/builds", `{"query": "q"}`); got.status != 200 || strings.Contains(string(got.body), `"degraded"`) {
			t.Errorf("nothing is missing: %d %s", got.status, got.body)
		}
	}
}
