package agentstore_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/pipeline/providers"
	"github.com/anchor-host/anchor-host/store"
)

const (
	claimWriters = 64
	claimTurns   = 1_000_000
	claimFrames  = 100_000
)

// BenchmarkClaims puts what the memory of an agent costs beside what it may cost. It
// fixes how much it does, so run it with -benchtime 1x: two minutes and 2 GB on a
// laptop, a tenth of both with -short. Every append is a commit of its own for the
// one who waits for it, synced to the disk; load1 is the load average of the machine.
func BenchmarkClaims(b *testing.B) {
	claims := []struct {
		what, where string
		n, wheres   int
		of          func(*testing.B, int) func(context.Context, int) error
	}{
		{"turns", "conversations", claimTurns, claimWriters, turnsOf},
		{"turns", "conversations", claimTurns / 10, 1, turnsOf},
		{"turns", "windows", claimTurns / 10, claimWriters, windowsOf},
		{"turns", "windows", claimTurns / 10, 1, windowsOf},
		{"frames", "runs", claimFrames, claimWriters, func(b *testing.B, n int) func(context.Context, int) error { return pushesOf(runsOf(b, n)) }},
	}
	for _, c := range claims {
		n := scaled(c.n)
		b.Run(fmt.Sprintf("%s=%d/%s=%d", c.what, n, c.where, c.wheres), func(b *testing.B) { claimAppends(b, n, c.of(b, c.wheres)) })
	}
	run, n := runsOf(b, 1), scaled(claimFrames)
	b.Run(fmt.Sprintf("frames=%d/runs=1", n), func(b *testing.B) { claimAppends(b, n, pushesOf(run)) })
	b.Run("view=50", func(b *testing.B) { claimView(b, run[0]) })
	b.Run("assemble=200", claimAssembling)
}

func scaled(n int) int {
	if testing.Short() {
		return n / 100
	}
	return n
}

// report states the time per operation, what it may be, and how busy the machine is.
func report(b *testing.B, each, target time.Duration) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // the time of all of them says nothing
	b.ReportMetric(float64(each.Nanoseconds())/1000, "µs/each")
	b.ReportMetric(float64(target.Nanoseconds())/1000, "µs/target")
	var load float64
	if data, err := os.ReadFile("/proc/loadavg"); err == nil { // Linux only
		if _, err := fmt.Sscan(string(data), &load); err == nil {
			b.ReportMetric(load, "load1")
		}
	}
}

// claimAppends has the writers do n appends together.
func claimAppends(b *testing.B, n int, add func(ctx context.Context, writer int) error) {
	var left atomic.Int64
	left.Store(int64(n))
	began := time.Now()
	var wg sync.WaitGroup
	for w := range claimWriters {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := add(b.Context(), w); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	report(b, time.Since(began)/time.Duration(n), 50*time.Microsecond)
}

func claimStore(b *testing.B) store.Store {
	b.Helper()
	s, err := agentstore.Open(b.Context(), filepath.Join(b.TempDir(), "store.db"), "full")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// said is what a turn or a frame says: 60 words.
var said = strings.Repeat("The window holds what the budget leaves room for. ", 6)

func turnsOf(b *testing.B, conversations int) func(context.Context, int) error {
	s := claimStore(b)
	logs := make([]*conversation.Log, conversations)
	for i := range logs {
		logs[i] = conversation.NewLog(s, store.DefaultTenant, fmt.Sprint("conversation-", i))
	}
	return func(ctx context.Context, w int) error {
		_, err := logs[w%conversations].AppendTurn(ctx, pipeline.Turn{Role: pipeline.RoleUser, Content: said, TokenCount: 60, CreatedAt: time.Now()})
		return err
	}
}

func windowsOf(b *testing.B, conversations int) func(context.Context, int) error {
	s := claimStore(b)
	windows := make([]*conversation.SlidingWindow, conversations)
	for i := range windows {
		var err error
		windows[i], err = conversation.NewSlidingWindow(conversation.SlidingWindowConfig{Log: conversation.NewLog(s, store.DefaultTenant, fmt.Sprint("conversation-", i))})
		if err != nil {
			b.Fatal(err)
		}
	}
	return func(ctx context.Context, w int) error {
		return windows[w%conversations].Add(ctx, pipeline.RoleUser, said)
	}
}

func runsOf(b *testing.B, n int) []*frames.Pipeline {
	s := claimStore(b)
	runs := make([]*frames.Pipeline, n)
	for i := range runs {
		run := agentstore.Run{Store: s, Tenant: store.DefaultTenant, ID: fmt.Sprint("run-", i)}
		var err error
		if runs[i], err = run.OpenFrames(b.Context(), frames.Actor{Kind: frames.Human, ID: "ann"}, frames.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
	return runs
}

func pushesOf(runs []*frames.Pipeline) func(context.Context, int) error {
	return func(ctx context.Context, w int) error {
		_, err := runs[w%len(runs)].Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: said})
		return err
	}
}

// claimView looks at the newest 50 frames of all that the run has.
func claimView(b *testing.B, p *frames.Pipeline) {
	const views = 1000
	began := time.Now()
	for range views {
		if n := len(p.View(frames.Limits{MaxFrames: 50}).Frames); n != 50 {
			b.Fatalf("%d frames", n)
		}
	}
	report(b, time.Since(began)/views, 100*time.Microsecond)
}

// claimAssembling assembles a chat whose messages were counted before, with room for
// half of it.
func claimAssembling(b *testing.B) {
	counter, err := agent.NewCounter(agent.CounterConfig{})
	if err != nil {
		b.Fatal(err)
	}
	chain, err := providers.New(providers.Config{
		Counter: counter, Enforce: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Compaction: providers.CompactionConfig{TriggerTokens: 1 << 20},
	})
	if err != nil {
		b.Fatal(err)
	}
	chat := []pipeline.Message{message.New(pipeline.RoleSystem, "You answer from the documents.")}
	for i := 1; i < 200; i++ {
		role := []pipeline.Role{pipeline.RoleAssistant, pipeline.RoleUser}[i%2]
		chat = append(chat, message.New(role, fmt.Sprint(i, " ", said)))
	}
	state := agent.State{Messages: chat, Observations: []string{"The user reads about windows."}}
	const times = 200
	var began time.Time
	for i := range times + 1 {
		if i == 1 { // the first one counts
			began = time.Now()
		}
		s := state.Clone()
		a, err := chain.Assemble(b.Context(), &s, s.Messages, agent.Budget{MaxTokens: 6000})
		if n := len(a.Messages); err != nil || a.Diagnostics.TokensOver > 0 || n < 50 || n > 150 {
			b.Fatalf("%d messages, %+v, %v", n, a.Diagnostics, err)
		}
	}
	report(b, time.Since(began)/times, time.Millisecond)
}
