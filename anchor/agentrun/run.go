// Package agentrun is what an agent run of the store can do: push frames, and work on intents, plans
// and snapshots.
package agentrun

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/failures"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/store"
)

// Run is an agent run of a tenant in the store. It has the state of an assembly, frames that
// record what the agent did, an intent, plans, and snapshots of its window. It is safe for
// concurrent use.
type Run struct {
	run       agentstore.Run
	tokenizer func() (pipeline.Tokenizer, error)
	locks     *Locks
}

// New returns a run of a tenant in a store. tokenizer makes what counts the tokens of frames; it is only called
// for a count. locks are those of all runs of the process. Both may be nil for a run that nothing is
// pushed to.
func New(s store.Store, tenant, id string, tokenizer func() (pipeline.Tokenizer, error), locks *Locks) *Run {
	return &Run{agentstore.Run{Store: s, Tenant: tenant, ID: id}, tokenizer, locks}
}

// PushOptions are the options of [Run.Push].
type PushOptions struct {
	// By is recorded as the creator of the run by its first push. Empty: "anchor-host".
	By string
	// Step is the number, from 1, of the plan step that wrote the frame. 0: the only step that is
	// progressing, if there is exactly one.
	Step int
	// Count counts the tokens of the frame. Otherwise its TokenEstimate is used, or a quarter of
	// its characters.
	Count bool
	// Limits returns the new limits of the window for the current ones. nil: the limits do not
	// change.
	Limits func(frames.Limits) frames.Limits
	// GlobalSummary is the new summary of the whole run. Empty: the summary does not change.
	GlobalSummary string
}

// Pushed is the result of a push.
type Pushed struct {
	// ID is the number of the frame.
	ID uint64
	// Frames is the number of frames in the window, and Tokens the sum of their estimated tokens.
	Frames int
	Tokens uint64
	// Warnings are changes that failed after the frame was stored: the plan does not name the
	// frame, or the limits and the summary are unchanged. To push again would store the frame twice.
	Warnings []string
}

const (
	// pushes is how often a push is tried while other processes push to the same run.
	pushes = 100
	// maxPushPause is the longest pause between two tries. Pauses are random, so that two
	// processes do not collide again and again.
	maxPushPause = 20 * time.Millisecond
)

// Push adds a frame to the run. Old frames that it displaces from the window stay in the log.
// Pushes to one run through one App happen one after another. The error is frames.ErrOrder
// if other processes push to the run again and again in the meantime.
func (r *Run) Push(ctx context.Context, f frames.Frame, o PushOptions) (Pushed, error) {
	if o.By == "" {
		o.By = "anchor-host"
	}
	if o.Limits == nil {
		o.Limits = func(l frames.Limits) frames.Limits { return l }
	}
	if o.Count {
		t, err := r.tokenizer()
		if err != nil {
			return Pushed{}, err
		}
		if err := f.CountTokens(ctx, t); err != nil {
			return Pushed{}, err
		}
	}
	unlock, err := r.locks.Lock(ctx, &r.run)
	if err != nil {
		return Pushed{}, fmt.Errorf("run %q: %w", r.run.ID, err)
	}
	defer unlock()
	if err := r.checkStep(ctx, o.Step); err != nil {
		return Pushed{}, err
	}
	for try := 1; ; try++ {
		pushed, err := r.push(ctx, f, &o)
		if err == nil {
			if err := r.wrote(ctx, o.Step, pushed.ID); err != nil {
				pushed.Warnings = append(pushed.Warnings, fmt.Sprintf("frame %d is stored, but the plan does not name it: %s", pushed.ID, observe.Text(ctx, err)))
			}
			return pushed, nil
		}
		if !errors.Is(err, frames.ErrOrder) || try == pushes {
			return pushed, err
		}
		select {
		case <-time.After(rand.N(min(time.Duration(try)*time.Millisecond, maxPushPause))):
		case <-ctx.Done():
			return pushed, fmt.Errorf("run %q: %w", r.run.ID, ctx.Err())
		}
	}
}

func (r *Run) push(ctx context.Context, f frames.Frame, o *PushOptions) (Pushed, error) {
	run := r.run // a copy, because loading changes it
	p, err := run.OpenFrames(ctx, frames.Actor{Kind: frames.Agent, ID: o.By}, frames.Limits{})
	if err != nil {
		return Pushed{}, err
	}
	before := p.Limits()
	p.SetLimits(o.Limits(before))
	id, err := p.Push(ctx, f)
	if err != nil {
		return Pushed{}, fmt.Errorf("run %q: %w", run.ID, err)
	}
	if o.GlobalSummary != "" {
		p.SetGlobalSummary(o.GlobalSummary)
	}
	pushed := Pushed{ID: id, Frames: p.Len(), Tokens: p.TotalTokenEstimate()}
	if o.GlobalSummary != "" || p.Limits() != before {
		if err := run.SaveLimits(ctx, p); err != nil {
			pushed.Warnings = append(pushed.Warnings, fmt.Sprintf("frame %d is stored, but the limits and the summary of the run are unchanged: %s", id, observe.Text(ctx, err)))
		}
	}
	return pushed, nil
}

// Frames returns at most limit frames of the run from a number on, oldest first, including frames
// that have left the window. A limit of 0 is no limit.
func (r *Run) Frames(ctx context.Context, from uint64, limit int) ([]frames.Frame, error) {
	records, err := agentstore.NewFrameLog(r.run.Store, r.run.Tenant, r.run.ID).Read(ctx, from, limit)
	if err != nil {
		return nil, fmt.Errorf("run %q: %w", r.run.ID, err)
	}
	list := make([]frames.Frame, len(records))
	for i := range records {
		list[i] = records[i].Frame
	}
	return list, nil
}

// Window returns the frames in the window of the run, with its limits and its summary. It returns
// nil if the run has no frames. Changes to the result are not stored.
func (r *Run) Window(ctx context.Context) (*frames.Pipeline, error) {
	run := r.run
	return run.Frames(ctx, frames.Limits{})
}

// State returns the state after the last assembly of the run. Without an assembly it returns the
// state of a new run.
func (r *Run) State(ctx context.Context) (*agent.State, error) {
	run := r.run
	return run.Load(ctx)
}

// Forget deletes the run with all its records, and what plugins failed at in it. It returns how many records there were.
func (r *Run) Forget(ctx context.Context) (int, error) {
	unlock, err := r.locks.Lock(ctx, &r.run)
	if err != nil {
		return 0, fmt.Errorf("run %q: %w", r.run.ID, err)
	}
	defer unlock()
	run := r.run
	n, err := run.Delete(ctx)
	if err != nil {
		return n, err
	}
	err = agentstore.Disown(ctx, run.Store, run.Tenant, agentstore.ARun, run.ID)
	if err == nil {
		_, err = failures.Forget(ctx, run.Store, failures.Owner{Tenant: run.Tenant, Run: run.ID})
	}
	return n, store.Partly(n > 0, err)
}
