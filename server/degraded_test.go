package server

import (
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/ledger"
)

// A window without the answer of a step is never given in silence: its header names the step, and the
// log says why, once for many builds.
func TestDegradedBuildsAreLoud(t *testing.T) {
	t.Parallel()
	l := start(t, "tokenizer: words\nsteps: [{name: redact, plugin: absent, on_error: skip}]\n", Options{})
	for range 3 {
		got := l.api("POST", "/v1/builds", `{"query": "q"}`, "X-Request-Id", "the-request")
		if values := got.header.Values(degradedHeader); got.status != 200 || len(values) != 1 || !strings.HasPrefix(values[0], "step=redact;reason=") {
			t.Errorf("status %d, %s: %q", got.status, degradedHeader, values)
		}
	}
	if got := l.api("POST", "/v1/builds", `{"query": "q", "steps": []}`); got.status != 200 || got.header.Get(degradedHeader) != "" {
		t.Errorf("nothing is missing: status %d, %s: %q", got.status, degradedHeader, got.header.Get(degradedHeader))
	}
	if got := l.api("POST", "/v1/builds", `{"query": "q", "steps": [{"name": "other", "plugin": "absent", "on_error": "skip"}]}`, "Accept", "text/event-stream"); got.status != 200 || !strings.Contains(string(got.body), `"skipped_steps":["other"]`) {
		t.Errorf("a stream: status %d, %s", got.status, got.body)
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
	l := start(t, "tokenizer: words\n", Options{})
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

// Each kind is said again after a while, with how often it came meanwhile. Names out of requests take
// no room for ever.
func TestDegradationsAreSaidNowAndThen(t *testing.T) {
	var d degradations
	now, kind := time.Now(), degradation{step: "s", reason: "timeout"}
	for i, want := range []struct {
		after  time.Duration
		unsaid int
		due    bool
	}{{0, 0, true}, {time.Second, 0, false}, {2 * time.Second, 0, false}, {degradedEvery, 2, true}, {degradedEvery + time.Second, 0, false}} {
		if unsaid, due := d.due(kind, now.Add(want.after)); unsaid != want.unsaid || due != want.due {
			t.Errorf("%d: %d unsaid, due %v; want %d, %v", i, unsaid, due, want.unsaid, want.due)
		}
	}
	for i := range 3 * maxDegraded {
		d.due(degradation{step: string(rune(i))}, now)
	}
	if n := len(d.kinds); n > maxDegraded {
		t.Errorf("%d kinds are known, want at most %d", n, maxDegraded)
	}
}
