package frames

import (
	"context"
	"fmt"
	"testing"
	"time"
)

func grown(b *testing.B, n int, limits Limits) *Pipeline {
	b.Helper()
	p := newPipeline(b, Config{Limits: limits})
	for i := range n {
		kind := ToolCall
		if i%10_000 == 0 {
			kind = Checkpoint
		}
		pushWeighing(b, p, kind, 20)
	}
	return p
}

// BenchmarkPush answers what a push costs on average while a log grows to 100,000
// frames.
func BenchmarkPush(b *testing.B) {
	const frames = 100_000
	for _, limits := range []Limits{{}, {MaxFrames: 50}, {MaxTokens: 1000}} {
		b.Run(fmt.Sprintf("frames=%d,tokens=%d", limits.MaxFrames, limits.MaxTokens), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				grown(b, frames, limits)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/frames, "ns/push")
		})
	}
}

// BenchmarkParallelPush answers what a push costs when many writers wait for a log
// that takes 100 µs for each append, however many records it has.
func BenchmarkParallelPush(b *testing.B) {
	p := newPipeline(b, Config{Log: new(slowLog), Limits: Limits{MaxFrames: 50}})
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := p.Push(context.Background(), Frame{Kind: ToolCall, Summary: "s"}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

type slowLog struct{ MemoryLog }

func (l *slowLog) Append(ctx context.Context, records []Record) error {
	time.Sleep(100 * time.Microsecond)
	return l.MemoryLog.Append(ctx, records)
}

// BenchmarkView answers what 50 frames of 100,000 cost, as the window itself and as a
// view of an unlimited one.
func BenchmarkView(b *testing.B) {
	for name, c := range map[string]struct{ window, view Limits }{
		"window":       {window: Limits{MaxFrames: 50}},
		"newest":       {view: Limits{MaxFrames: 50}},
		"newest-token": {view: Limits{MaxTokens: 1000}},
	} {
		b.Run(name, func(b *testing.B) {
			p := grown(b, 100_000, c.window)
			if n := len(p.View(c.view).Frames); n != 50 {
				b.Fatalf("%d frames", n)
			}
			b.ReportAllocs()
			for b.Loop() {
				p.View(c.view)
			}
		})
	}
}

// BenchmarkRecall answers what a frame costs that left the window long ago.
func BenchmarkRecall(b *testing.B) {
	p := grown(b, 100_000, Limits{MaxFrames: 50})
	b.ReportAllocs()
	id := uint64(0)
	for b.Loop() {
		if _, err := p.Recall(b.Context(), id); err != nil {
			b.Fatal(err)
		}
		id = (id + 7919) % 90_000
	}
}

// BenchmarkRestore answers how long a window of 50 takes to be worked out from a log
// of 100,000 frames.
func BenchmarkRestore(b *testing.B) {
	p := grown(b, 100_000, Limits{MaxFrames: 50})
	header := Document{Header: p.Header()}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Restore(b.Context(), header, Config{Log: p.log}); err != nil {
			b.Fatal(err)
		}
	}
}
