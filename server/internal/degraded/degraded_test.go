package degraded

import (
	"bytes"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Each kind has a message, and names cannot end a value of the header.
func TestNames(t *testing.T) {
	h := http.Header{}
	var list []core.Degradation
	for k, text := range texts {
		if strings.TrimSpace(text) == "" {
			t.Errorf("%s has no message", k)
		}
		list = append(list, core.Degradation{Kind: k, Step: "a;b\r\nc"})
	}
	Name(h, append(list[:1:1], core.Degradation{Kind: core.KindMissing, Reason: "empty"}))
	if want := []string{"step=a%3Bb%0D%0Ac", "kind=missing;reason=empty"}; !slices.Equal(h.Values(Header), want) {
		t.Errorf("%q, want %q", h.Values(Header), want)
	}
	if Name(h, make([]core.Degradation, 1000)); len(h.Values(Header)) > named+2 {
		t.Errorf("%d values", len(h.Values(Header)))
	}
}

// Ten equal failures are one line, and a line with their number when the service answers again, though nothing
// else fails.
func TestAStormIsCounted(t *testing.T) {
	var l Log
	var log bytes.Buffer
	to, now := slog.New(slog.NewTextHandler(&log, nil)), time.Now()
	for range 10 {
		l.warn(t.Context(), to, []core.Degradation{{Kind: core.KindSkipped, Step: "near", Plugin: "dedupe", Reason: "guest_error"}}, now)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Fatalf("%d lines, want 1: %s", n, log.String())
	}
	for range 3 {
		now = now.Add(time.Minute)
		l.warn(t.Context(), to, nil, now)
	}
	if _, last, _ := strings.Cut(log.String(), "\n"); strings.Count(last, "\n") != 1 ||
		!strings.Contains(last, `msg="step skipped" step=near plugin=dedupe reason=guest_error unsaid=9`) {
		t.Errorf("after a minute the log has %q", last)
	}
}
