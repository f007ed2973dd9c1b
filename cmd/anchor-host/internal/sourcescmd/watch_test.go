package sourcescmd

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// An error is said once until it changes, and the pause after it grows up to a bound, until all is
// well again.
func TestWatchGoesOn(t *testing.T) {
	var said bytes.Buffer
	fail := errors.New("no server")
	w := &watch{app: cli.New(t.Context(), nil, nil, &said), name: "docs", every: 2 * time.Second, pagesIn: time.Hour, files: []ingest.Source{{Path: "d"}}}
	w.ingest = func([]ingest.Source) (ingest.Report, error) { return ingest.Report{Unchanged: 1}, fail }
	look := func(want time.Duration, line string) {
		t.Helper()
		said.Reset()
		rest, err := w.look()
		if err != nil || rest != want || (line == "") != (said.Len() == 0) || !strings.Contains(said.String(), line) {
			t.Fatalf("rest %v, want %v, error %v, said %q, want %q", rest, want, err, &said, line)
		}
	}
	look(2*time.Second, "no server; --watch tries again")
	look(4*time.Second, "")
	look(8*time.Second, "")
	fail = errors.New("disk full")
	look(16*time.Second, "disk full")
	for range 5 {
		_, _ = w.look()
	}
	look(longestRest, "")
	fail = nil
	look(2*time.Second, "watching")
	look(2*time.Second, "")
	fail = errors.New("disk full")
	look(2*time.Second, "disk full")
	for _, end := range []error{retrieve.ErrInvalid, retrieve.ErrModel, retrieve.ErrExists, context.Canceled} {
		fail = end
		if _, err := w.look(); !errors.Is(err, end) {
			t.Errorf("%v did not end it: %v", end, err)
		}
	}
}

// Pages are asked for at the beginning, again if that failed, and then rarely.
func TestWatchAsksForPagesRarely(t *testing.T) {
	var got []int
	var fail error
	w := &watch{app: cli.New(t.Context(), nil, nil, &bytes.Buffer{}), every: time.Second, pagesIn: time.Hour}
	w.files, w.pages = []ingest.Source{{Path: "d"}}, []ingest.Source{{Path: "http://h/a"}, {Path: "https://h/b"}}
	w.ingest = func(s []ingest.Source) (ingest.Report, error) {
		got = append(got, len(s))
		return ingest.Report{}, fail
	}
	look := func() time.Duration {
		rest, err := w.look()
		if err != nil {
			t.Fatal(err)
		}
		return rest
	}
	fail = errors.New("no server")
	look()
	fail = nil
	look()
	look()
	w.asked = w.asked.Add(-time.Hour)
	look()
	w.files = nil
	if rest := look(); len(got) != 4 || got[0] != 3 || got[1] != 3 || got[2] != 1 || got[3] != 3 || rest < 59*time.Minute {
		t.Errorf("sources %v, rest %v", got, rest)
	}
}
