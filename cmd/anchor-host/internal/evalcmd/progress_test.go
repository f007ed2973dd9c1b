package evalcmd

import (
	"bytes"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
)

// Where there is no terminal a line says now and then how far it is.
func TestEvalProgress(t *testing.T) {
	var b bytes.Buffer
	p := newEvalProgress(cli.New(t.Context(), nil, nil, &b), "a\nname")
	at := time.Unix(0, 0)
	p.now, p.next = func() time.Time { return at }, at.Add(progressEvery)
	p.step(1, 4)
	at = at.Add(progressEvery)
	p.step(2, 4)
	p.step(3, 4)
	at = at.Add(progressEvery)
	p.step(4, 4)
	p.stop()
	if got, want := b.String(), "anchor-host: a name: 2 of 4 queries …\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
