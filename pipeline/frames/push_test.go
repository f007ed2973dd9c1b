package frames

import (
	"context"
	"errors"
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
	for p.NextFrameID() < 9 { // until all have their ids
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

func TestFailedAppendsUseUpTheirIDs(t *testing.T) {
	full := errors.New("disk full")
	log := newGatedLog()
	p := newPipeline(t, Config{Log: log})
	for i, fails := range []error{nil, full, nil} {
		var pushed sync.WaitGroup
		pushed.Go(func() {
			_, err := p.Push(t.Context(), Frame{Kind: ToolCall})
			if !errors.Is(err, fails) {
				t.Errorf("push %d: %v, want %v", i, err, fails)
			}
			if fails != nil && err.Error() != "frame 1: append: disk full" {
				t.Errorf("error %v", err)
			}
		})
		<-log.entered
		log.proceed <- fails
		pushed.Wait()
	}
	wantIDs(t, p.Window().IDs(), 0, 2)
	if _, err := p.Recall(t.Context(), 1); !errors.Is(err, ErrNoFrame) {
		t.Errorf("frame 1: %v", err)
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
	if _, err := b.Push(t.Context(), Frame{Kind: ToolCall}); !errors.Is(err, ErrOrder) ||
		err.Error() != "frame 0: append: log: frame 0 after 0: frame ids out of order (has another pipeline written to the log?)" {
		t.Errorf("error %v", err)
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
