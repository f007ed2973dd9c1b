package degraded

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Each kind is said again after a while, with how often it came meanwhile. Names out of requests take
// no room for ever.
func TestDegradationsAreSaidNowAndThen(t *testing.T) {
	var l Log
	now, of := time.Now(), kind{step: "s", reason: "timeout"}
	for i, want := range []struct {
		after  time.Duration
		unsaid int
		due    bool
	}{{0, 0, true}, {time.Second, 0, false}, {2 * time.Second, 0, false}, {every, 2, true}, {every + time.Second, 0, false}} {
		if unsaid, due := l.due(of, now.Add(want.after)); unsaid != want.unsaid || due != want.due {
			t.Errorf("%d: %d unsaid, due %v; want %d, %v", i, unsaid, due, want.unsaid, want.due)
		}
	}
	for i := range 3 * most {
		l.due(kind{step: string(rune(i))}, now)
	}
	if n := len(l.kinds); n > most {
		t.Errorf("%d kinds are known, want at most %d", n, most)
	}
}

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
