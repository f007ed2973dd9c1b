package agentstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/store"
)

// A state that was loaded long ago never takes the place of a newer one, however
// many were saved, or deleted, since.
func TestStaleSave(t *testing.T) {
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
			if err := run.Save(ctx, state); err != nil {
				t.Fatal(err)
			}
			stale, old := load()
			for i := range 5 {
				one, state := load()
				state.Reflection = fmt.Sprint(i)
				if err := one.Save(ctx, state); err != nil {
					t.Fatal(err)
				}
				if err := stale.Save(ctx, old); !errors.Is(err, agentstore.ErrContinued) {
					t.Errorf("stale save after %d: %v", i+1, err)
				}
			}
			if _, got := load(); got.Reflection != "4" {
				t.Errorf("the state was rolled back: %+v", got)
			}
			if _, err := (&agentstore.Run{Store: s, Tenant: "default", ID: "r"}).Delete(ctx); err != nil {
				t.Fatal(err)
			}
			if err := stale.Save(ctx, old); !errors.Is(err, agentstore.ErrContinued) {
				t.Errorf("stale save of a deleted run: %v", err)
			}
		})
	}
}

func TestDeleteRun(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			run := &agentstore.Run{Store: s, Tenant: "default", ID: "r"}
			p, err := run.OpenFrames(ctx, frames.Actor{Kind: frames.Agent, ID: "a"}, frames.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: "one"}); err != nil {
				t.Fatal(err)
			}
			if err := run.Save(ctx, &agent.State{}); err != nil {
				t.Fatal(err)
			}
			if n, err := run.Delete(ctx); n != 3 || err != nil {
				t.Errorf("deleted %d, %v, want 3", n, err)
			}
			if keys, err := s.Keys(ctx, "default", ""); len(keys) > 0 || err != nil {
				t.Errorf("left: %v, %v", keys, err)
			}
			if err := run.Save(ctx, &agent.State{}); err != nil {
				t.Errorf("a run that begins anew: %v", err)
			}
		})
	}
}

func TestStateTooLarge(t *testing.T) {
	run := &agentstore.Run{Store: store.NewMemory(), Tenant: "default", ID: "r"}
	err := run.Save(t.Context(), &agent.State{Reflection: strings.Repeat("x", store.MaxData)})
	if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "16.0 MiB, at most 16 (") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

// forgetful is a store from which another process deletes the document of a run as soon as
// it is there, so many times.
type forgetful struct {
	store.Store
	times int
}

func (f *forgetful) Append(ctx context.Context, key store.Key, recs ...store.Record) (int64, error) {
	n, err := f.Store.Append(ctx, key, recs...)
	if key.Kind == agentstore.KindRun && f.times > 0 {
		f.times--
		if _, err := f.Clear(ctx, key); err != nil {
			return n, err
		}
	}
	return n, err
}

// A run that is deleted while it begins begins again, or says that it cannot.
func TestOpenFramesWhileTheRunIsDeleted(t *testing.T) {
	for times, want := range map[int]error{1: nil, 5: nil, 1000: store.ErrConflict} {
		run := agentstore.Run{Store: &forgetful{store.NewMemory(), times}, Tenant: "default", ID: "r"}
		p, err := run.OpenFrames(t.Context(), frames.Actor{Kind: frames.Agent, ID: "a"}, frames.Limits{})
		if !errors.Is(err, want) || (p == nil) != (want != nil) {
			t.Errorf("deleted %d times: %v, %v, want %v", times, p, err, want)
		}
	}
}
