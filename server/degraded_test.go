package server

import (
	"strings"
	"testing"
	"time"
)

// A window without the answer of a step is never given in silence: its header names the step, and the
// log says why, once for many builds.
func TestDegradedBuildsAreLoud(t *testing.T) {
	t.Parallel()
	l := start(t, "tokenizer: words\nsteps: [{name: redact, plugin: absent, must: false}]\n", Options{})
	for range 3 {
		got := l.api("POST", "/v1/builds", `{"query": "q"}`, "X-Request-Id", "the-request")
		if values := got.header.Values(degradedHeader); got.status != 200 || len(values) != 1 || !strings.HasPrefix(values[0], "step=redact;reason=") {
			t.Errorf("status %d, %s: %q", got.status, degradedHeader, values)
		}
	}
	if got := l.api("POST", "/v1/builds", `{"query": "q", "steps": []}`); got.status != 200 || got.header.Get(degradedHeader) != "" {
		t.Errorf("nothing is missing: status %d, %s: %q", got.status, degradedHeader, got.header.Get(degradedHeader))
	}
	if got := l.api("POST", "/v1/builds", `{"query": "q", "steps": [{"name": "other", "plugin": "absent", "must": false}]}`, "Accept", "text/event-stream"); got.status != 200 || !strings.Contains(string(got.body), `"skipped_steps":["other"]`) {
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
