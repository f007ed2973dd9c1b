package frames

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
)

// gatedLog is a log whose appends wait for the test.
type gatedLog struct {
	MemoryLog
	entered chan int // the number of records of an append that has begun
	proceed chan error
}

func newGatedLog() *gatedLog {
	return &gatedLog{entered: make(chan int), proceed: make(chan error)}
}

func (l *gatedLog) Append(ctx context.Context, records []Record) error {
	l.entered <- len(records)
	if err := <-l.proceed; err != nil {
		return err
	}
	return l.MemoryLog.Append(ctx, records)
}

func TestWaitingPushesAreAppendedTogether(t *testing.T) {
	log := newGatedLog()
	p := newPipeline(t, Config{Log: log})
	ctx, cancel := context.WithCancel(t.Context())
	var pushes sync.WaitGroup
	pushes.Go(func() {
		if _, err := p.Push(ctx, Frame{Kind: ToolCall, Summary: "first"}); err != nil {
			t.Error(err)
		}
	})
	if n := <-log.entered; n != 1 {
		t.Fatalf("first append of %d records", n)
	}
	cancel() // too late to take the push back
	for range 8 {
		pushes.Go(func() {
			if _, err := p.Push(t.Context(), Frame{Kind: ToolCall, Summary: "s"}); err != nil {
				t.Error(err)
			}
		})
	}
	for waiting := 0; waiting < 8; runtime.Gosched() {
		p.mu.RLock()
		if p.pending != nil {
			waiting = len(p.pending.records)
		}
		p.mu.RUnlock()
	}
	if p.Len() != 0 {
		t.Error("a frame is visible before it is in the log")
	}
	log.proceed <- nil
	if n := <-log.entered; n != 8 {
		t.Errorf("second append of %d records, want 8", n)
	}
	log.proceed <- nil
	pushes.Wait()
	wantIDs(t, p.Window().IDs(), 0, 1, 2, 3, 4, 5, 6, 7, 8)
}

var errFull = errors.New("disk full")

// doubtfulLog fails an append, after it has written or before.
type doubtfulLog struct {
	MemoryLog
	fail, written bool
}

func (l *doubtfulLog) Append(ctx context.Context, records []Record) error {
	if !l.fail || l.written {
		if err := l.MemoryLog.Append(ctx, records); err != nil {
			return err
		}
	}
	if l.fail {
		return errFull
	}
	return nil
}

func TestFailedAppends(t *testing.T) {
	for written, want := range map[bool][]uint64{false: {0, 1}, true: {0, 1, 2, 3}} {
		log := new(doubtfulLog)
		p := newPipeline(t, Config{Log: log})
		push(t, p, ToolCall, "a")
		log.fail, log.written = true, written
		for range 2 { // the second one settles what became of the first
			if _, err := p.Push(t.Context(), Frame{Kind: ToolCall}); !errors.Is(err, errFull) || err.Error() != "frame: append: disk full" {
				t.Errorf("error %v", err)
			}
		}
		log.fail = false
		id := push(t, p, ToolCall, "b")
		wantIDs(t, p.Window().IDs(), want...)
		if id != want[len(want)-1] {
			t.Errorf("written %v: id %d, want the last of %v", written, id, want)
		}
		wantIDs(t, readIDs(t, log, 0, 0), want...)
	}
}

type panickingLog struct{ MemoryLog }

func (*panickingLog) Append(context.Context, []Record) error { panic("broken") }

func TestPanickingLogIsAnError(t *testing.T) {
	p := newPipeline(t, Config{Log: new(panickingLog)})
	for range 2 { // the second finds nothing locked
		if _, err := p.Push(t.Context(), Frame{Kind: ToolCall}); !errors.Is(err, pipeline.ErrPanic) {
			t.Errorf("error %v", err)
		}
	}
}

func TestTwoPipelinesOnOneLog(t *testing.T) {
	log := new(MemoryLog)
	a := newPipeline(t, Config{Log: log})
	b := newPipeline(t, Config{Log: log})
	push(t, a, ToolCall, "a")
	_, err := b.Push(t.Context(), Frame{Kind: ToolCall})
	if !errors.Is(err, ErrOrder) ||
		err.Error() != "frame: append: log: frame 0 after 0: frame ids out of order (has another pipeline written to the log?)" {
		t.Errorf("error %v", err)
	}
	if id := push(t, b, ToolCall, "b"); id != 1 {
		t.Errorf("id %d, want 1: after the error it has read what the other wrote", id)
	}
}

func TestConcurrentUse(t *testing.T) {
	const writers, each = 16, 200
	log := new(MemoryLog)
	p := newPipeline(t, Config{Log: log, Limits: Limits{MaxFrames: 20}})
	empty := Document{Header: p.Header()}
	push(t, p, IntentAnalysis, "ia")
	given := make([][]uint64, writers)
	var all, writing sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		writing.Go(func() {
			for range each {
				id, err := p.Push(t.Context(), Frame{Kind: ToolCall, Summary: "s", TokenEstimate: Tokens(1)})
				if err != nil {
					t.Error(err)
					return
				}
				given[w] = append(given[w], id)
			}
		})
	}
	for range 4 {
		all.Go(func() { readUntil(t, p, done) })
	}
	writing.Wait()
	close(done)
	all.Wait()
	ids := slices.Sorted(slices.Values(slices.Concat(given...)))
	for i, id := range ids {
		if id != uint64(i)+1 {
			t.Fatalf("id %d at place %d", id, i)
		}
	}
	replayed, err := Restore(t.Context(), empty, Config{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := replayed.Window().IDs(), p.Window().IDs(); !slices.Equal(got, want) || log.Len() != writers*each+1 {
		t.Errorf("replay %v of %d records, window %v", got, log.Len(), want)
	}
}

// readUntil looks at a pipeline that others change.
func readUntil(t *testing.T, p *Pipeline, done chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
		}
		w := p.Window()
		if len(w.Frames) > 20 || w.Frames[0].Kind != IntentAnalysis || !slices.IsSorted(w.IDs()) {
			t.Errorf("window %v", w.IDs())
			return
		}
		if _, err := p.Recall(t.Context(), w.Frames[len(w.Frames)-1].ID); err != nil {
			t.Error(err)
			return
		}
		p.SetGlobalSummary("s")
		p.Document()
		p.TotalTokenEstimate()
	}
}
