package cli

import (
	"io"
	"testing"
	"time"
)

// lines is a writer that hands over what is written.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

func TestProgress(t *testing.T) {
	written := make(lines, 8)
	p := NewProgress(New(t.Context(), nil, io.Discard, written))
	p.delay = time.Millisecond
	p.Compiling("docs", false, 0)
	if got, want := <-written, "anchor-host: compiling plugin \"docs\" (the next start will be faster) …\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.Compiling("docs", true, time.Second)
	if got, want := <-written, "anchor-host: starting the plugins …\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.Start("preparing the messages")
	if got, want := <-written, "anchor-host: preparing the messages …\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.Compiling("docs", false, 0)
	<-written
	p.Compiling("docs", true, time.Second) // what was started goes on
	if got, want := <-written, "anchor-host: preparing the messages …\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.Stop()
	p.show("starting the plugins") // a timer that fires late
	p.Off = true
	p.Start("something silent")
	p.show("something silent")
	select {
	case line := <-written:
		t.Errorf("after the end: %q", line)
	default:
	}
}
