package frames

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Config describes a pipeline. The zero value works.
type Config struct {
	// Limits bound the window of a new pipeline. A restored pipeline has the limits of its
	// document.
	Limits Limits
	// Log holds the frames. nil means a log in memory.
	Log Log
	// Now dates frames. nil means time.Now.
	Now func() time.Time
}

// Pipeline is an append-only log of frames with a bounded window over it. Frames leave the
// window, never the log. It is safe for concurrent use. Pushes that wait for a slow log are
// appended together.
type Pipeline struct {
	log Log
	now func() time.Time

	writing  sync.Mutex // held while the log is written; taken before mu
	doubtful bool       // whether a failed append may have written; under writing

	mu      sync.RWMutex
	header  Header
	limits  Limits
	summary string
	next    uint64
	view    view
	pending *batch
}

// batch holds the pushes that one append makes durable. The push that opens the batch
// writes it; the others wait.
type batch struct {
	records []Record // without ids until the batch is written
	written sync.WaitGroup
	err     error
}

// New returns an empty pipeline of the given creator. The log must be empty.
func New(ctx context.Context, creator Actor, cfg Config) (*Pipeline, error) {
	now := cfg.Now
	if now == nil {
		now = time.Now
	}
	header, err := NewHeader(TypePipeline, creator, now())
	if err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	p, err := Restore(ctx, Document{Header: header, Limits: cfg.Limits}, cfg)
	if err != nil {
		return nil, err
	}
	if p.next != 0 {
		return nil, fmt.Errorf("pipeline: log has frames: %w (restore its document)", ErrOrder)
	}
	return p, nil
}

// restorePage is the number of records read at a time.
const restorePage = 1024

// Restore returns the pipeline of a document. Frames in the log whose ids are at least the
// document's next id are pushed again, in memory only. So a document without frames and
// with next id 0 restores the window from the log alone. If the log is empty, Restore first
// copies the frames of the document into it.
func Restore(ctx context.Context, d Document, cfg Config) (*Pipeline, error) {
	d.Header, d.Frames = cloneHeader(d.Header), slices.Clone(d.Frames)
	if err := d.clean(); err != nil {
		return nil, err
	}
	p := &Pipeline{log: cfg.Log, now: cfg.Now, header: d.Header, limits: d.Limits, summary: d.GlobalSummary, next: d.NextFrameID}
	if p.log == nil {
		p.log = new(MemoryLog)
	}
	if p.now == nil {
		p.now = time.Now
	}
	if err := p.fillLog(ctx, d.Frames); err != nil {
		return nil, fmt.Errorf("pipeline: restore: %w", err)
	}
	for i := range d.Frames {
		p.view.push(&d.Frames[i], Limits{})
	}
	if err := p.replay(ctx); err != nil {
		return nil, fmt.Errorf("pipeline: restore: %w", err)
	}
	return p, nil
}

// fillLog copies frames into an empty log.
func (p *Pipeline) fillLog(ctx context.Context, frames []Frame) error {
	if len(frames) == 0 {
		return nil
	}
	if first, err := p.log.Read(ctx, 0, 1); err != nil || len(first) > 0 {
		return err
	}
	records := make([]Record, len(frames))
	for i := range frames {
		records[i].Frame = frames[i]
	}
	return p.log.Append(ctx, records)
}

// ID returns the id of the pipeline.
func (p *Pipeline) ID() UUID { return p.header.ObjectID }

// Header returns a copy of the header.
func (p *Pipeline) Header() Header {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return cloneHeader(p.header)
}

// Limits returns the limits in force for the next push.
func (p *Pipeline) Limits() Limits {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.limits
}

// SetLimits changes the limits. Nothing is evicted before the next push, which may
// then evict several frames.
func (p *Pipeline) SetLimits(l Limits) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limits, p.header.Checksum = l, ""
}

// GlobalSummary returns the summary that SetGlobalSummary has set. It is empty if there is
// none.
func (p *Pipeline) GlobalSummary() string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.summary
}

// SetGlobalSummary sets the summary of the whole work. It is never computed.
func (p *Pipeline) SetGlobalSummary(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.summary, p.header.Checksum = text, ""
}

// NextFrameID returns the id of the next push.
func (p *Pipeline) NextFrameID() uint64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.next
}

// Len returns the number of frames in the window.
func (p *Pipeline) Len() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.view.len()
}

// Frame returns a frame of the window. For evicted frames see [Pipeline.Recall].
func (p *Pipeline) Frame(id uint64) (Frame, bool) {
	p.mu.RLock()
	f := p.view.byID[id]
	p.mu.RUnlock()
	if f == nil {
		return Frame{}, false
	}
	return f.clone(), true
}

// Recall returns frames by their ids, evicted ones included, in the order of the ids. If no
// frame has an id, the error is [ErrNoFrame].
func (p *Pipeline) Recall(ctx context.Context, ids ...uint64) ([]Frame, error) {
	out := make([]Frame, 0, len(ids))
	for _, id := range ids {
		f, ok := p.Frame(id)
		if !ok {
			found, err := p.log.Read(ctx, id, 1)
			if err != nil {
				return nil, fmt.Errorf("pipeline: recall: %w", err)
			}
			if len(found) != 1 || found[0].ID != id {
				return nil, fmt.Errorf("pipeline: recall frame %d: %w", id, ErrNoFrame)
			}
			f = found[0].Frame
		}
		out = append(out, f)
	}
	return out, nil
}

// Window returns all frames that are not evicted.
func (p *Pipeline) Window() Window { return p.View(Limits{}) }

// View returns the part of the window that fits into tighter limits: the protected frames
// and the newest others. It evicts nothing. If a frame does not fit together with the
// protected ones, it is left out; older frames may be in the view all the same.
func (p *Pipeline) View(l Limits) Window {
	p.mu.RLock()
	frames := p.view.newest(l)
	w := Window{Pipeline: p.header.ObjectID}
	if n := len(frames); n > 0 {
		w.Positions.Start = uint32(p.view.position(frames[0].ID))
		w.Positions.End = uint32(p.view.position(frames[n-1].ID)) + 1
	}
	p.mu.RUnlock()
	w.Frames = make([]Frame, len(frames))
	for i, f := range frames {
		w.Frames[i] = f.clone()
	}
	return w
}

// TotalTokenEstimate returns the sum of the estimates of the frames in the window. Frames
// without an estimate do not count.
func (p *Pipeline) TotalTokenEstimate() uint64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var sum uint64
	for _, list := range [][]*Frame{p.view.pinned, p.view.rolling[p.view.head:]} {
		for _, f := range list {
			sum = addEstimate(sum, f)
		}
	}
	return sum
}

// Document returns the stored form.
func (p *Pipeline) Document() Document {
	p.mu.RLock()
	defer p.mu.RUnlock()
	d := Document{Header: cloneHeader(p.header), NextFrameID: p.next, Limits: p.limits, GlobalSummary: p.summary}
	for _, f := range p.view.newest(Limits{}) {
		d.Frames = append(d.Frames, f.clone())
	}
	return d
}

// MarshalJSON writes the stored form. To read it, decode a [Document] and pass that to
// [Restore].
func (p *Pipeline) MarshalJSON() ([]byte, error) { return json.Marshal(p.Document()) }
