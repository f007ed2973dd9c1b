package agentstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/store"
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

	// loaded is the record of the loaded state. It is the zero value if there is none.
	loaded store.Record
}

func (r *Run) key(kind string) store.Key {
	return store.Key{Tenant: r.Tenant, Kind: kind, Stream: r.ID}
}

// Load returns the state of the run. If there is none, it returns the state of a new run.
func (r *Run) Load(ctx context.Context) (*agent.State, error) {
	state := &agent.State{}
	last, err := r.Store.Last(ctx, r.key(KindState), 1)
	if err != nil {
		return nil, fmt.Errorf("run %q: load state: %w", r.ID, err)
	}
	r.loaded = store.Record{}
	if len(last) > 0 {
		if err := unmarshal(KindState, last[0].Data, state); err != nil {
			return nil, fmt.Errorf("run %q: stored state: %w", r.ID, err)
		}
		r.loaded = store.Record{ID: last[0].ID, Seq: last[0].Seq}
	}
	state.RunID = r.ID
	return state, nil
}

// Save replaces the loaded state with state. If the loaded state is no longer the newest, the
// error is [ErrContinued].
func (r *Run) Save(ctx context.Context, state *agent.State) error {
	data, err := state.AppendJSON(nil)
	if err != nil {
		return fmt.Errorf("run %q: encode state: %w", r.ID, err)
	}
	if len(data) > store.MaxData {
		return fmt.Errorf("run %q: save state: %w: %.1f MiB, at most %d (begin another run, or shorten its messages with compaction)",
			r.ID, store.ErrInvalid, float64(len(data))/(1<<20), store.MaxData>>20)
	}
	if deep(data) {
		return fmt.Errorf("run %q: save state: %w: nested deeper than %d levels", r.ID, store.ErrInvalid, maxDepth)
	}
	key := r.key(KindState)
	change := store.Change{Key: key, Put: []store.Record{{ID: rand.Text(), Data: data}}, IfNewest: &r.loaded.Seq}
	if r.loaded.ID != "" {
		change.Delete = []string{r.loaded.ID}
	}
	err = r.Store.Apply(ctx, change)
	if errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("run %q: save state: %w (assemble again)", r.ID, ErrContinued)
	}
	if err != nil {
		return fmt.Errorf("run %q: save state: %w", r.ID, err)
	}
	r.settle(ctx, key, change.Put[0].ID)
	return nil
}

// maxDepth bounds the nesting of a state, so that it can be read again inside of other documents:
// readers of JSON stop at 10,000 levels.
const maxDepth = 9990

// deep reports whether a valid document is nested deeper than maxDepth.
func deep(doc []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}

// settle records the saved state as the one that the next Save replaces. If another process has
// replaced it in the meantime, or it cannot be read, the next Save fails: an error here would make the caller save
// once more what is saved.
func (r *Run) settle(ctx context.Context, key store.Key, id string) {
	r.loaded = store.Record{ID: id, Seq: -1}
	if saved, err := r.Store.Get(ctx, key, id); err == nil {
		r.loaded.Seq = saved.Seq
	}
}

// RunKinds returns the kinds of the records of a run, that of its document first.
func RunKinds() []string {
	return []string{KindRun, KindFrame, KindState, KindIntent, KindPlan, KindSnapshot, KindCut}
}

// deleteTries is how often a deletion begins anew while others write to the run.
const deleteTries = 100

// Delete deletes the whole run with its state, frames, intents, plans, snapshots and cut texts. It returns
// how many records it deleted. All of a run with at most [store.MaxBatch] records goes at once, so
// that no other process finds a part of it. Of a larger one, the oldest records go first.
func (r *Run) Delete(ctx context.Context) (int, error) {
	total := 0
	for try := 1; ; try++ {
		n, more, err := r.deleteSome(ctx)
		total += n
		var damaged *store.CorruptError
		switch {
		case errors.As(err, &damaged):
			n, err = r.clear(ctx)
			total += n
		case err == nil && more, errors.Is(err, store.ErrConflict) && try < deleteTries:
			continue
		}
		if err != nil {
			return total, fmt.Errorf("run %q: delete: %w", r.ID, store.Partly(total > 0, err))
		}
		r.loaded = store.Record{}
		return total, nil
	}
}

// deleteSome deletes all records of the run if nobody adds any meanwhile, or the oldest ones if
// there are too many for one change. It reports whether there are more.
func (r *Run) deleteSome(ctx context.Context) (n int, more bool, err error) {
	var changes []store.Change
	for _, kind := range RunKinds() {
		change := store.Change{Key: r.key(kind), IfNewest: new(int64)}
		records, err := r.Store.Read(ctx, change.Key, 0, store.MaxBatch)
		if err != nil {
			return 0, false, err
		}
		for i := range records {
			change.Delete = append(change.Delete, records[i].ID)
			*change.IfNewest = records[i].Seq
		}
		if len(records) == store.MaxBatch {
			n, err := r.Store.Delete(ctx, change.Key, change.Delete...)
			return n, true, err
		}
		n += len(records)
		changes = append(changes, change)
	}
	if n > store.MaxBatch {
		most := slices.MaxFunc(changes, func(a, b store.Change) int { return cmp.Compare(len(a.Delete), len(b.Delete)) })
		n, err := r.Store.Delete(ctx, most.Key, most.Delete[:len(most.Delete)/2]...)
		return n, true, err
	}
	if n == 0 {
		return 0, false, nil
	}
	if err := r.Store.Apply(ctx, changes...); err != nil {
		return 0, false, err
	}
	return n, false, nil
}

// clear deletes the records of a run kind by kind, also those that are damaged.
func (r *Run) clear(ctx context.Context) (int, error) {
	total := 0
	// The document goes first, because without it the run has no frames.
	for _, kind := range RunKinds() {
		n, err := r.Store.Clear(ctx, r.key(kind))
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

// pipelineID is the ID of the document of a run.
const pipelineID = "pipeline"

// Frames returns the frames of the run, or nil if it has none. Limits that are not zero replace
// the stored limits of the run.
func (r *Run) Frames(ctx context.Context, limits frames.Limits) (*frames.Pipeline, error) {
	rec, err := r.Store.Get(ctx, r.key(KindRun), pipelineID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("run %q: load frames: %w", r.ID, err)
	}
	var doc frames.Document
	if err := unmarshal(KindRun, rec.Data, &doc); err != nil {
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

// openings is the maximum number of attempts to create a run while others delete it.
const openings = 10

// OpenFrames is Frames for a caller that pushes: it creates a run that does not exist. The error
// is store.ErrConflict if others keep deleting the run.
func (r *Run) OpenFrames(ctx context.Context, creator frames.Actor, limits frames.Limits) (*frames.Pipeline, error) {
	for range openings {
		p, err := r.Frames(ctx, limits)
		if p != nil || err != nil {
			return p, err
		}
		if err := r.begin(ctx, creator, limits); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("run %q: store frames: %w (others delete the run while it is created: try again)", r.ID, store.ErrConflict)
}

// begin stores the document of a run, unless another process has done so.
func (r *Run) begin(ctx context.Context, creator frames.Actor, limits frames.Limits) error {
	p, err := frames.New(ctx, creator, frames.Config{Limits: limits})
	if err != nil {
		return fmt.Errorf("run %q: %w", r.ID, err)
	}
	data, err := json.Marshal(p.Document())
	if err != nil {
		return fmt.Errorf("run %q: encode frames: %w", r.ID, err)
	}
	_, err = r.Store.Append(ctx, r.key(KindRun), store.Record{ID: pipelineID, Data: data})
	if err != nil && !errors.Is(err, store.ErrExists) {
		return fmt.Errorf("run %q: store frames: %w", r.ID, err)
	}
	return nil
}

// SaveLimits stores the limits and the global summary of the frames.
func (r *Run) SaveLimits(ctx context.Context, p *frames.Pipeline) error {
	doc := p.Document()
	// The frames are in the log, which is replayed when the run is opened.
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
