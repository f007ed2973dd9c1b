package host_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"

	"github.com/anchor-host/anchor-host/tokens"
)

// mostOfAnswer is what a build may take at its peak because of what a guest answers.
const mostOfAnswer = 100 << 20

// TestAnswersUnfoldLittle builds with guests whose answers would be hundreds of times as
// large when they are decoded: the steps are skipped, for a reason, and the process stays
// small.
func TestAnswersUnfoldLittle(t *testing.T) {
	h := newHost(t, host.Config{})
	for _, tt := range []struct {
		name   string
		op     abi.Operation
		reason abi.Reason
	}{
		{"unfolds-items", abi.OpRetrieve, abi.ReasonOutputTooLarge},
		{"unfolds-items", abi.OpFilter, abi.ReasonDenied},
		{"unfolds-items", abi.OpMemory, abi.ReasonOutputTooLarge},
		{"unfolds-keys", abi.OpRetrieve, abi.ReasonOutputTooLarge},
		{"unfolds-keys", abi.OpFilter, abi.ReasonDenied},
	} {
		t.Run(tt.name+"/"+string(tt.op), func(t *testing.T) {
			p := load(t, h, tt.name, host.PluginConfig{})
			step, err := newStep(p, tt.op, host.OperationOptions{Step: "bomb"})
			if err != nil {
				t.Fatal(err)
			}
			var got error
			peak, took := peakHeap(func() { _, got = step.Run(t.Context(), &abi.Query{Text: "q"}, twoRows()) })
			t.Logf("peak of the heap %.1f MiB, %v", float64(peak)/(1<<20), took)
			if peak > mostOfAnswer {
				t.Errorf("the heap was at %d MiB (want at most %d)", peak>>20, mostOfAnswer>>20)
			}
			checkReason(t, got, tt.reason)
		})
	}
}

// peakHeap is the most that the heap held while f ran, and how long that took.
func peakHeap(f func()) (peak uint64, took time.Duration) {
	runtime.GC()
	var most atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapAlloc))
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	began := time.Now()
	f()
	took = time.Since(began)
	close(stop)
	<-stopped
	return most.Load(), took
}

// What an answer takes in the host counts for the plugin and the host, as long as it is
// being applied.
func TestAnswersAreAccountedFor(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "foreign-step", host.PluginConfig{Limits: host.Limits{Memory: 2 << 20}})
	called, err := p.Function("upper", host.FunctionOptions{})
	step := &step{plugin: p, o: called}
	if err != nil {
		t.Fatal(err)
	}
	_, err = step.Run(t.Context(), &abi.Query{Text: strings.Repeat("words and more ", 60_000)}, nil)
	perr := checkReason(t, err, abi.ReasonMemory)
	if perr != nil && !strings.Contains(perr.Error(), "needs more than 2MiB together with what its answer takes") {
		t.Errorf("error %v", perr)
	}
	if out, err := step.Run(t.Context(), &abi.Query{Text: "small"}, nil); err != nil || len(out) != 1 {
		t.Errorf("the next call: %v, %v", out, err)
	}
}

// slowTokenizer counts until its context ends.
type slowTokenizer struct{ host.Tokenizer }

func (s slowTokenizer) Count(ctx context.Context, texts ...string) ([]int, error) {
	for _, text := range texts {
		if strings.HasPrefix(text, "an item") {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	return s.Tokenizer.Count(ctx, texts...)
}

// Counting the tokens of what a guest adds takes the call's time.
func TestCountingTakesTheCallsTime(t *testing.T) {
	h := newHost(t, host.Config{Tokenizer: slowTokenizer{tokens.Words{}}})
	p := load(t, h, "add-item", host.PluginConfig{Limits: host.Limits{Timeout: 300 * time.Millisecond}})
	step, err := newStep(p, abi.OpRetrieve, host.OperationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = step.Run(t.Context(), &abi.Query{Text: "q"}, nil)
	checkReason(t, err, abi.ReasonTimeout)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not done within 300ms") {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > badLimit {
		t.Errorf("took %v", took)
	}
}
