package agentstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/store"
)

// ErrContinued marks a run that another process has continued since its state was
// loaded. Nothing was saved.
var ErrContinued = errors.New("the run was continued elsewhere")

// Run is one agent run in a store.
type Run struct {
	Store  store.Store
	Tenant string
	// ID names the run.
	ID string

	// version is that of the state that was loaded.
	version int64
}

func (r *Run) key(kind string) store.Key {
	return store.Key{Tenant: r.Tenant, Kind: kind, Stream: r.ID}
}

// Load returns the state of the run: that of a new run if there is none.
func (r *Run) Load(ctx context.Context) (*pipeline.AgentState, error) {
	state := &pipeline.AgentState{}
	last, err := r.Store.Last(ctx, r.key(KindState), 1)
	if err != nil {
		return nil, fmt.Errorf("run %q: load state: %w", r.ID, err)
	}
	r.version = 0
	if len(last) > 0 {
		if err := json.Unmarshal(last[0].Data, state); err != nil {
			return nil, fmt.Errorf("run %q: stored state: %w", r.ID, err)
		}
		if r.version, err = strconv.ParseInt(last[0].ID, 10, 64); err != nil {
			return nil, fmt.Errorf("run %q: version %q of the state: %w", r.ID, last[0].ID, store.ErrCorrupt)
		}
	}
	state.RunID = r.ID
	return state, nil
}

// Save stores the state in place of the one that was loaded. If that is no longer
// the newest, the error is [ErrContinued].
func (r *Run) Save(ctx context.Context, state *pipeline.AgentState) error {
	data, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("run %q: encode state: %w", r.ID, err)
	}
	key := r.key(KindState)
	stored, err := r.Store.Read(ctx, key, 0, 0)
	if err != nil {
		return fmt.Errorf("run %q: save state: %w", r.ID, err)
	}
	newest := version(0)
	if n := len(stored); n > 0 {
		newest = stored[n-1].ID
	}
	if newest == version(r.version) {
		// Of two that loaded the same version, one finds the next one taken.
		_, err = r.Store.Append(ctx, key, store.Record{ID: version(r.version + 1), Data: data})
	}
	if newest != version(r.version) || errors.Is(err, store.ErrExists) {
		return fmt.Errorf("run %q: save state: %w (assemble again)", r.ID, ErrContinued)
	}
	if err != nil {
		return fmt.Errorf("run %q: save state: %w", r.ID, err)
	}
	r.version++
	r.prune(ctx, key, stored)
	return nil
}

// prune deletes old versions of the state, except the one before the newest,
// whose number a late process must still find taken. An error is left to the next
// save, which prunes again.
func (r *Run) prune(ctx context.Context, key store.Key, stored []store.Record) {
	var old []string
	for _, rec := range stored[:max(0, len(stored)-1)] {
		old = append(old, rec.ID)
	}
	if len(old) > 0 {
		_, _ = r.Store.Delete(ctx, key, old...)
	}
}

func version(n int64) string { return strconv.FormatInt(n, 10) }

// pipelineID is the ID of the document of a run.
const pipelineID = "pipeline"

// Frames returns the frames of the run, nil if it has none. Limits that are not
// zero take the place of those that the run was pushed with.
func (r *Run) Frames(ctx context.Context, limits frames.Limits) (*frames.Pipeline, error) {
	rec, err := r.Store.Get(ctx, r.key(KindRun), pipelineID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("run %q: load frames: %w", r.ID, err)
	}
	var doc frames.Document
	if err := json.Unmarshal(rec.Data, &doc); err != nil {
		return nil, fmt.Errorf("run %q: stored frames: %w", r.ID, err)
	}
	p, err := frames.Restore(ctx, doc, frames.Config{Log: NewFrameLog(r.Store, r.Tenant, r.ID)})
	if err != nil {
		return nil, fmt.Errorf("run %q: %w", r.ID, err)
	}
	now := p.Limits()
	p.SetLimits(frames.Limits{
		MaxFrames: cmp.Or(limits.MaxFrames, now.MaxFrames), MaxTokens: cmp.Or(limits.MaxTokens, now.MaxTokens),
	})
	return p, nil
}

// OpenFrames is Frames for one who pushes: a run without frames begins here.
func (r *Run) OpenFrames(ctx context.Context, creator frames.Actor, limits frames.Limits) (*frames.Pipeline, error) {
	p, err := r.Frames(ctx, limits)
	if p != nil || err != nil {
		return p, err
	}
	if p, err = frames.New(ctx, creator, frames.Config{Limits: limits}); err != nil {
		return nil, fmt.Errorf("run %q: %w", r.ID, err)
	}
	data, err := json.Marshal(p.Document())
	if err != nil {
		return nil, fmt.Errorf("run %q: encode frames: %w", r.ID, err)
	}
	_, err = r.Store.Append(ctx, r.key(KindRun), store.Record{ID: pipelineID, Data: data})
	if err != nil && !errors.Is(err, store.ErrExists) {
		return nil, fmt.Errorf("run %q: store frames: %w", r.ID, err)
	}
	return r.Frames(ctx, limits)
}

// SaveLimits stores the limits and the global summary of the frames.
func (r *Run) SaveLimits(ctx context.Context, p *frames.Pipeline) error {
	doc := p.Document()
	// The frames are in the log, which the next one to open the run replays.
	doc.Frames, doc.NextFrameID = nil, 0
	data, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("run %q: encode frames: %w", r.ID, err)
	}
	if err := r.Store.Put(ctx, r.key(KindRun), store.Record{ID: pipelineID, Data: data}); err != nil {
		return fmt.Errorf("run %q: store frames: %w", r.ID, err)
	}
	return nil
}
