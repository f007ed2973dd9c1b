package agentstore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/store"
)

func Example() {
	ctx := context.Background()
	run := agentstore.Run{Store: store.NewMemory(), Tenant: "default", ID: "run-1"}
	p, err := run.OpenFrames(ctx, frames.Actor{Kind: frames.Human, ID: "ann"}, frames.Limits{MaxFrames: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, summary := range []string{"first", "second", "third"} {
		if _, err := p.Push(ctx, frames.Frame{Kind: frames.StepSummary, Summary: summary}); err != nil {
			fmt.Println(err)
			return
		}
	}
	again, err := run.Frames(ctx, frames.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range again.Window().Frames {
		fmt.Println(f.ID, f.Summary)
	}
	// Output:
	// 1 second
	// 2 third
}

// stores are the two forms of a store.
func stores(t *testing.T) map[string]store.Store {
	t.Helper()
	file, err := agentstore.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), "normal")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return map[string]store.Store{"memory": store.NewMemory(), "sqlite": file}
}

func record(id uint64) frames.Record {
	return frames.Record{Frame: frames.Frame{
		ID: id, Kind: frames.StepSummary, Summary: fmt.Sprint("frame ", id), CreatedAt: time.Unix(int64(id), 0).UTC(),
	}}
}

func ids(records []frames.Record) (out []uint64) {
	for _, r := range records {
		out = append(out, r.ID)
	}
	return out
}

func TestFrameLog(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			l := agentstore.NewFrameLog(s, "default", "r")
			for _, batch := range [][]uint64{{0}, {1, 2}, nil, {5, 7}, {8}} { // 3, 4 and 6 were evicted
				var recs []frames.Record
				for _, id := range batch {
					recs = append(recs, record(id))
				}
				if err := l.Append(ctx, recs); err != nil {
					t.Fatal(err)
				}
			}
			for _, tt := range []struct {
				from  uint64
				limit int
				want  []uint64
			}{
				{0, 0, []uint64{0, 1, 2, 5, 7, 8}}, {1, 2, []uint64{1, 2}}, {3, 2, []uint64{5, 7}},
				{6, 0, []uint64{7, 8}}, {8, 1, []uint64{8}}, {9, 0, nil}, {1 << 63, 0, nil},
			} {
				got, err := l.Read(ctx, tt.from, tt.limit)
				if err != nil || !reflect.DeepEqual(ids(got), tt.want) {
					t.Errorf("Read(%d, %d): %v, %v, want %v", tt.from, tt.limit, ids(got), err, tt.want)
				}
			}
			for _, bad := range [][]frames.Record{{record(8)}, {record(3)}, {record(9), record(9)}, {record(10), record(9)}} {
				if err := l.Append(ctx, bad); !errors.Is(err, frames.ErrOrder) {
					t.Errorf("append of %v: %v, want ErrOrder", ids(bad), err)
				}
			}
			if err := l.Append(ctx, []frames.Record{record(store.MaxSeq)}); !errors.Is(err, pipeline.ErrInvalid) {
				t.Errorf("frame beyond the store: %v", err)
			}
			if _, err := l.Read(ctx, 0, -1); !errors.Is(err, pipeline.ErrInvalid) {
				t.Errorf("negative limit: %v", err)
			}
		})
	}
}

// Frames are found by their numbers also where the store counts on after a log
// was cleared.
func TestFrameLogAfterClear(t *testing.T) {
	s := store.NewMemory()
	l := agentstore.NewFrameLog(s, "default", "r")
	if err := l.Append(t.Context(), []frames.Record{record(0), record(1)}); err != nil {
		t.Fatal(err)
	}
	key := store.Key{Tenant: "default", Kind: agentstore.KindFrame, Stream: "r"}
	if _, err := s.Clear(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(t.Context(), []frames.Record{record(0), record(1), record(2)}); err != nil {
		t.Fatal(err)
	}
	got, err := l.Read(t.Context(), 1, 1)
	if err != nil || !reflect.DeepEqual(ids(got), []uint64{1}) {
		t.Errorf("got %v, %v", ids(got), err)
	}
}

// Two processes that push to one run: the second one is told, and nothing is lost.
func TestTwoPushers(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			open := func() *frames.Pipeline {
				run := agentstore.Run{Store: s, Tenant: "default", ID: "r"}
				p, err := run.OpenFrames(ctx, frames.Actor{Kind: frames.Agent, ID: "a"}, frames.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			first, second := open(), open()
			if first.ID() != second.ID() {
				t.Errorf("two pipelines for one run: %s, %s", first.ID(), second.ID())
			}
			if _, err := first.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: "one"}); err != nil {
				t.Fatal(err)
			}
			if _, err := second.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: "two"}); !errors.Is(err, frames.ErrOrder) {
				t.Errorf("push after another process: %v, want ErrOrder", err)
			}
			if _, err := open().Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: "two"}); err != nil {
				t.Fatal(err)
			}
			if got := open().Window().IDs(); !reflect.DeepEqual(got, []uint64{0, 1}) {
				t.Errorf("frames %v", got)
			}
		})
	}
}

func TestLimitsAndSummaryLast(t *testing.T) {
	ctx := t.Context()
	run := agentstore.Run{Store: store.NewMemory(), Tenant: "default", ID: "r"}
	if p, err := run.Frames(ctx, frames.Limits{}); p != nil || err != nil {
		t.Errorf("a run without frames: %v, %v", p, err)
	}
	p, err := run.OpenFrames(ctx, frames.Actor{Kind: frames.Agent, ID: "a"}, frames.Limits{MaxFrames: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Push(ctx, frames.Frame{Kind: frames.Checkpoint, Summary: "saved"}); err != nil {
		t.Fatal(err)
	}
	p.SetGlobalSummary("all of it")
	p.SetLimits(frames.Limits{MaxFrames: 2, MaxTokens: 100})
	if err := run.SaveLimits(ctx, p); err != nil {
		t.Fatal(err)
	}
	again, err := run.Frames(ctx, frames.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := again.Limits(), (frames.Limits{MaxFrames: 2, MaxTokens: 100}); got != want || again.GlobalSummary() != "all of it" || again.Len() != 1 {
		t.Errorf("limits %+v, summary %q, %d frames", got, again.GlobalSummary(), again.Len())
	}
	if again.ID() != p.ID() {
		t.Errorf("another pipeline: %s, want %s", again.ID(), p.ID())
	}
}

func TestState(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			load := func() (*agentstore.Run, *agent.State) {
				run := &agentstore.Run{Store: s, Tenant: "default", ID: "r"}
				state, err := run.Load(ctx)
				if err != nil {
					t.Fatal(err)
				}
				return run, state
			}
			run, state := load()
			if state.RunID != "r" || state.Messages != nil {
				t.Errorf("a new run: %+v", state)
			}
			late, _ := load()
			for i := range 4 {
				state.Observations = append(state.Observations, fmt.Sprint("seen ", i))
				if err := run.Save(ctx, state); err != nil {
					t.Fatal(err)
				}
				if err := late.Save(ctx, state); !errors.Is(err, agentstore.ErrContinued) {
					t.Errorf("save %d of a state that is no longer the newest: %v", i, err)
				}
			}
			if _, got := load(); !reflect.DeepEqual(got, state) {
				t.Errorf("got %+v, want %+v", got, state)
			}
			recs, err := s.Read(ctx, store.Key{Tenant: "default", Kind: agentstore.KindState, Stream: "r"}, 0, 0)
			if err != nil || len(recs) > 2 {
				t.Errorf("%d versions are kept, want 2 (%v)", len(recs), err)
			}
		})
	}
}

// What is not what was written is an error that names the run.
func TestDamaged(t *testing.T) {
	ctx := t.Context()
	s := store.NewMemory()
	for _, kind := range []string{agentstore.KindState, agentstore.KindRun} {
		key := store.Key{Tenant: "default", Kind: kind, Stream: "r"}
		if err := s.Put(ctx, key, store.Record{ID: "pipeline", Data: []byte(`{"nonsense": 1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	run := agentstore.Run{Store: s, Tenant: "default", ID: "r"}
	if _, err := run.Load(ctx); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("state: %v", err)
	}
	if _, err := run.Frames(ctx, frames.Limits{}); err == nil {
		t.Error("memory: {frames: no error}")
	}
	key := store.Key{Tenant: "default", Kind: agentstore.KindFrame, Stream: "q"}
	if err := s.Put(ctx, key, store.Record{ID: "x", Data: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	l := agentstore.NewFrameLog(s, "default", "q")
	if _, err := l.Read(ctx, 0, 0); err == nil {
		t.Error("log: no error")
	}
	if err := l.Append(ctx, []frames.Record{record(0)}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("append: %v", err)
	}
}

func TestDefaultPath(t *testing.T) {
	for _, name := range []string{"XDG_DATA_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, t.TempDir())
	}
	s, err := agentstore.Open(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
